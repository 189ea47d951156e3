"""Jobs of frameworks on the queues of `ml50`: what `gen workload new` writes, and what operators make of their kinds,
each as it is rendered, beside Kueue and Volcano.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from loopback import serving
from reference import ROOT

from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twin.fixtures import Twin
    from twin.frameworks import Framed

    Start = Callable[..., Framed]

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

TRAINING = "gpu-training"
NEVER = 5.0
"""Seconds in which what must not happen would have happened: see the controls."""
MOST = 7
"""Nodes that vision may have at once: five of its own, and two that nobody owns."""
OPERATED = ("JobSet", "MPIJob", "TrainJob", "TFJob", "RayJob")
INDEXED = ("pytorch", "tensorflow", "jax")
"""What gen writes without an operator: Indexed Jobs."""
KINDS = (*OPERATED, *INDEXED)
PLURALS = (
    "jobset.x-k8s.io/v1alpha2 jobsets",
    "kubeflow.org/v2beta1 mpijobs",
    "trainer.kubeflow.org/v1alpha1 trainjobs",
    "kubeflow.org/v1 tfjobs",
    "ray.io/v1 rayjobs",
)


@pytest.fixture(scope="module")
def operated() -> "Iterator[Twin]":
    """The twin of `ml50` with its operators."""
    from twin.fixtures import twin_of
    from twin.frameworks import dashboard
    from twin.operators import OPERATORS

    with (
        serving(dashboard) as address,
        tempfile.TemporaryDirectory(prefix="twin-") as folder,
        twin_of(ROOT, "ml50", Path(folder), OPERATORS, RAY_DASHBOARD=address.removeprefix("http://")) as made,
    ):
        yield made


@pytest.fixture
def here(operated: "Twin") -> "Iterator[Twin]":
    """The twin with nothing running on it, and cleaned afterwards."""
    yield operated
    operated.clean(*PLURALS)


@pytest.fixture
def start(here: "Twin", ml50: Cluster) -> "Start":
    """Give a member of a team, of vision where none is named, who runs jobs of a kind."""
    from twin.frameworks import FRAMEWORKS, Framed

    return lambda kind, team="vision": Framed(here.member(team), ml50, FRAMEWORKS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_is_stopped_whole_comes_back_and_ends(here: "Twin", start: "Start", kind: str) -> None:
    from twin.team import eventually

    fill(here)
    vision = start(kind)
    vision.begin("low", MOST)
    vision.whole("low", MOST)
    assert vision.has("low", "Admitted")
    assert len(vision.nodes("low") & set(here.pool(TRAINING))) == MOST

    urgent = here.member("vision")
    urgent.start("urgent", MOST, priority="urgent")
    urgent.runs("urgent", MOST)
    vision.gone("low")
    assert vision.has("low", "Preempted", "InClusterQueue")

    urgent.complete("urgent")
    vision.whole("low", MOST)
    vision.end("low")
    eventually("Kueue knows that it is done", lambda: vision.has("low", "Finished"))
    urgent.prepare("next", pods=MOST)


def fill(twin: "Twin") -> None:
    """Give all GPUs away but those that vision may have."""
    twin.member("language").prepare("train", pods=5)
    twin.member("serving").prepare("serve", pods=3)


@pytest.mark.parametrize("kinds", [OPERATED, INDEXED], ids=["operated", "indexed"])
def test_gangs_start_whole_or_not_at_all(here: "Twin", start: "Start", kinds: tuple[str, ...]) -> None:
    """Volcano's part: Kueue looks at sums only, for nodes may go after it has looked."""
    from twin.kueue import BY_SUMS
    from twin.team import eventually, most

    with here.kueue.changed(BY_SUMS):
        here.leave(TRAINING, 1)
        # No team may have as many nodes as five of them take.
        begun = {kind.lower(): start(kind, "language" if kind in ("JobSet", "TFJob") else "vision") for kind in kinds}
        for name, someone in begun.items():
            someone.begin(name, 2)
        everyone = [here.member("vision"), here.member("language")]
        eventually("all have pods", lambda: all(someone.pods(name) for name, someone in begun.items()))
        assert most(lambda: sum(team.bound() for team in everyone), NEVER) == 0
        here.cordon()
        for name, someone in begun.items():
            someone.whole(name, 2)


def test_what_a_team_can_never_have_makes_no_pods(here: "Twin", ml50: Cluster) -> None:
    from twin.frameworks import FRAMEWORKS, Framed, lent
    from twin.team import eventually, most

    everyone, before = here.member("vision"), lent(ml50, "vision", MOST + 1)
    for kind in KINDS:
        Framed(everyone, before, FRAMEWORKS[kind]).begin(kind.lower(), MOST + 1)
    # Since 0.18 Kueue does not look at a job of the same shape as one that it has just refused: those are told nothing.
    alike = set(INDEXED)
    looked = [kind.lower() for kind in KINDS if kind not in alike]

    def refused(name: str) -> bool:
        return everyone.conditions(name).get("QuotaReserved", ("", "", ""))[0] == "False"

    eventually("Kueue has refused each shape", lambda: all(map(refused, looked)) and any(map(refused, alike)))
    eventually("all are in the queue", lambda: all(everyone.workload(kind.lower()) for kind in KINDS))
    assert most(lambda: len(everyone.pods()), NEVER) == 0
    for kind in KINDS:
        assert not everyone.has(kind.lower(), "Admitted"), everyone.told(kind.lower())
