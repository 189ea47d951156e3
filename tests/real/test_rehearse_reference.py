"""`gen rehearse` on reference clusters: a change as an engineer makes it, on a twin of each as its file says."""

import json
import re
from typing import Any

import pytest
from reference import ROOT
from rehearsing import Rendered, happened, refuse_without_programs

pytestmark = pytest.mark.twin

Object = dict[str, Any]
STUDENTS = "    - {name: students, quotas: {bench: {gpus: 0, borrow: 2}}, members: [{group: students}]}\n\n"
EDITS = {
    "gpu-serving": (
        ("a100: {gpus: 16, borrow: 16}", "a100: {gpus: 24, borrow: 8}"),
        ("a100: {gpus: 16, borrow: 8}", "a100: {gpus: 8, borrow: 8}"),
        ("  components: {}", "  components: {kueue: {version: v0.19.2}}"),
    ),
    "a30-bench": (
        ("  # Each run has all GPUs", STUDENTS + "  # Each run has all GPUs"),
        ("  gitops:", "  components: {volcano: {version: v1.15.1}}\n\n  gitops:"),
    ),
}
"""What is written instead of what, by cluster: eight GPUs go from `robotics` to `speech`, a new team borrows what the
benchmarks leave, and a program comes to its next minor version.
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    """The reference clusters as they stand, committed, and changed since."""
    refuse_without_programs()
    texts = {name: (ROOT / f"clusters/{name}/cluster.yaml").read_text() for name in EDITS}
    repository = Rendered(tmp_path_factory.mktemp("reference"), texts)
    repository.commit()
    for name, edits in EDITS.items():
        for old, new in edits:
            assert texts[name].count(old) == 1, old
            texts[name] = texts[name].replace(old, new)
        repository.file_of(name).write_text(texts[name])
    return repository


def rehearsed(repository: Rendered, cluster: str, code: int) -> Object:
    """Return what is told of a cluster, on whose twin all of both sides came to stand."""
    done = repository.gen("rehearse", "HEAD", "--cluster", cluster, "--output", "json")
    assert done.returncode == code, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["clusters"]
    assert not [one for side in ("before", "waves") for wave in found[side] for one in wave["hung"]]
    assert found["disagreements"] == []
    return dict(found)


def test_gpus_that_move_between_teams_of_gpu_serving_stop_what_was_borrowed(changed: Rendered) -> None:
    found = rehearsed(changed, "gpu-serving", 1)
    assert found["nodes"] == 21
    stopped, replaced = happened(found, "job stopped"), happened(found, "pods replaced")
    assert list(stopped) == ["robotics/own-a100"]
    # Kueue names the cohort above both as well, once it knows of it.
    assert re.search(r"preemptor path: \S*/department-research/speech;", stopped["robotics/own-a100"]["why"])
    assert "preempts GEN-CHG-501 (ClusterQueue speech)" in stopped["robotics/own-a100"]["foretold"]
    assert list(replaced) == ["Deployment kueue-system/kueue-controller-manager"]
    assert len(found["happened"]) == 2


def test_a_team_that_only_borrows_comes_to_a30_bench_and_stops_nobody(changed: Rendered) -> None:
    found = rehearsed(changed, "a30-bench", 0)
    assert found["nodes"] == 3
    parts = "volcano-controllers", "volcano-scheduler"
    assert list(happened(found, "pods replaced")) == [f"Deployment volcano-system/{part}" for part in parts]
    assert len(found["happened"]) == 2
