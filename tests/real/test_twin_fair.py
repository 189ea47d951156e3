"""Fair sharing and departments on a real Kueue: `ml50` with other quotas, weights and departments.

Training has 12 nodes. Each of four teams owns 2 of them, nobody 4. Work is jobs of a node each, of which every team
starts as many as there are nodes.
"""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from reference import ROOT, render

if TYPE_CHECKING:
    from twin.fixtures import Twin
    from twin.team import Member

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
ALL = 12
STAYS = 5.0
"""Seconds in which more would have changed: of what changes before, each job takes one or two."""
CHANGES = {
    "  scheduling:\n": """  scheduling:
    fairSharing: true
    departments: {research: {weight: 3}, product: {}}
""",
    "    - name: vision\n": "    - name: vision\n      department: research\n      weight: 3\n",
    "    - name: language\n": "    - name: language\n      department: research\n",
    "    - name: recommender\n": "    - name: recommender\n      department: product\n      weight: 0\n",
    "    - name: serving\n": "    - name: serving\n      department: product\n",
    "gpu-training: {gpus: 40, borrow: 16}": "gpu-training: {gpus: 16}",
    "gpu-training: {gpus: 40, borrow: 32}": "gpu-training: {gpus: 16, borrow: 48}",
    "gpu-training: {gpus: 8}": "gpu-training: {gpus: 16}",
    "gpu-inference: {gpus: 24, lend: 8}": "gpu-inference: {gpus: 24, lend: 8}\n        gpu-training: {gpus: 16}",
}
PATIENCE = 240.0
"""Seconds for ten jobs that stop and start, one after the other."""
BY_ORDER: dict[str, Any] = {"fairSharing": None}
"""Kueue without fair sharing: who came first keeps what is borrowed."""


def write(repository: Path) -> None:
    """Write the cluster's file and what gen makes of it."""
    text = (ROOT / "clusters/ml50/cluster.yaml").read_text()
    for old, new in CHANGES.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new, 1)
    render(repository, "ml50", text)


@pytest.fixture(scope="module")
def shared() -> Iterator["Twin"]:
    from twin.fixtures import twin_of

    with tempfile.TemporaryDirectory(prefix="fair-") as folder:
        repository, work = Path(folder) / "repository", Path(folder) / "work"
        work.mkdir()
        write(repository)
        with twin_of(repository, "ml50", work) as made:
            yield made


@pytest.fixture
def fair(shared: "Twin") -> Iterator["Twin"]:
    yield shared
    shared.clean()


@pytest.fixture
def team(fair: "Twin") -> Callable[[str], "Member"]:
    return fair.member


@pytest.fixture
def by_order(shared: "Twin") -> Iterator[None]:
    with shared.kueue.changed(BY_ORDER):
        yield


def wants_all(member: "Member", priority: str = "") -> None:
    """Start as many jobs as there are training nodes."""
    from twin.team import GPU

    keys = (GPU, "gen.internal/training")  # and not inference: what is lent there is another matter
    tolerations = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in keys]
    for number in range(ALL):
        member.start(f"job-{number}", priority=priority, tolerations=tolerations)


def has(twin: "Twin", **wanted: int) -> None:
    """Wait until teams run on so many nodes, and see that it stays so."""
    from twin.team import eventually

    def now() -> dict[str, int]:
        return {name: twin.member(name).running() for name in wanted}

    def as_wanted() -> bool:
        return now() == wanted

    try:
        eventually(f"{wanted}", as_wanted, PATIENCE)
    except pytest.fail.Exception:
        pytest.fail(f"{wanted} was wanted, and it is {now()}")
    time.sleep(STAYS)
    assert now() == wanted


def why_stopped(member: "Member") -> set[str]:
    """Return the reasons for which jobs of a team had to stop."""
    told = [member.conditions(f"job-{number}").get("Preempted") for number in range(ALL)]
    return {one[1] for one in told if one and one[0] == "True"}


def test_what_is_borrowed_is_divided_by_weight(fair: "Twin", team: Callable[[str], "Member"]) -> None:
    """Of the 8 nodes that others own or nobody: 6 and 2, for weights of 3 and 1."""
    wants_all(team("language"))
    has(fair, language=2 + 6)  # what it may borrow at the most; 4 stay idle
    wants_all(team("vision"))
    has(fair, vision=2 + 6, language=2 + 2)
    # None for what vision owns: so much was idle.
    assert why_stopped(team("language")) == {"InCohortFairSharing"}


def test_the_more_urgent_ones_of_who_has_more_stop_too(fair: "Twin", team: Callable[[str], "Member"]) -> None:
    wants_all(team("vision"), "urgent")
    has(fair, vision=ALL)
    wants_all(team("language"), "low")
    has(fair, vision=2 + 6, language=2 + 2)
    assert why_stopped(team("vision")) == {"InCohortReclamation", "InCohortFairSharing"}


@pytest.mark.usefixtures("by_order")
def test_without_fair_sharing_who_came_first_keeps_it(fair: "Twin", team: Callable[[str], "Member"]) -> None:
    """The control of the tests above: language gets what it owns."""
    wants_all(team("vision"))
    has(fair, vision=ALL)
    wants_all(team("language"))
    has(fair, vision=10, language=2)
    assert why_stopped(team("vision")) == {"InCohortReclamation"}


def test_weight_0_keeps_its_own_only(fair: "Twin", team: Callable[[str], "Member"]) -> None:
    wants_all(team("recommender"))
    has(fair, recommender=ALL)
    wants_all(team("serving"))
    has(fair, recommender=2, serving=10)


def test_a_department_has_what_its_teams_leave_and_its_share(fair: "Twin", team: Callable[[str], "Member"]) -> None:
    """Language has the 4 of its department, and of the 4 that are nobody's 3, for weights of 3 and 1."""
    wants_all(team("serving"))
    has(fair, serving=ALL)
    wants_all(team("language"))
    has(fair, serving=4 + 1, language=4 + 3)


@pytest.mark.usefixtures("by_order")
def test_a_department_borrows_from_itself_first(fair: "Twin", team: Callable[[str], "Member"]) -> None:
    """Also without fair sharing: what vision leaves is for language, not for another department."""
    wants_all(team("serving"))
    has(fair, serving=ALL)
    wants_all(team("language"))
    has(fair, serving=8, language=4)


@pytest.mark.usefixtures("by_order")
def test_without_departments_each_team_has_its_own_only(fair: "Twin", team: Callable[[str], "Member"]) -> None:
    """The control of the test above."""
    with one_cohort(fair):
        wants_all(team("serving"))
        has(fair, serving=ALL)
        wants_all(team("language"))
        has(fair, serving=10, language=2)
        fair.clean()


@contextlib.contextmanager
def one_cohort(twin: "Twin") -> Iterator[None]:
    """Put all queues into the cohort above the departments as long as the block."""
    queues = {one["metadata"]["name"]: one["spec"] for one in twin.api.items(QUEUES)}
    for name, spec in queues.items():
        put_queue(twin, name, spec | {"cohortName": "teams"})
    time.sleep(1)  # Kueue notices a moment later
    try:
        yield
    finally:
        for name, spec in queues.items():
            put_queue(twin, name, spec)
        time.sleep(1)


def put_queue(twin: "Twin", name: str, spec: dict[str, Any]) -> None:
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name}}
    twin.api.apply(head | {"spec": spec})
