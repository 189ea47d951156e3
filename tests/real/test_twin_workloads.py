"""What `gen workload new` writes, on `ml50` with its queues: let in, placed as a gang, and no more than gen says."""

from typing import TYPE_CHECKING, Any

import pytest

from generator.model.cluster import Cluster
from generator.workloads import workload
from generator.workloads.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from twin.fixtures import Twin
    from twin.team import Member

    Members = Callable[[str], Member]

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

NEVER = 5.0


def manifests(cluster: Cluster, gpus: int) -> list[dict[str, Any]]:
    """Return the job with empty folders for its claims: nothing serves volumes on a twin."""
    from twin.frameworks import on_twin

    made = workload(cluster, "pytorch", Wanted(name="bert", team="vision", gpus=gpus, image="example.org/x:1"))
    return [on_twin(one) for one in made.manifests if one["kind"] != "PersistentVolumeClaim"]


def test_all_that_a_team_may_have_starts_and_one_node_more_never_does(
    twin: "Twin", member: "Members", ml50: Cluster
) -> None:
    from twin.team import eventually, most

    vision = member("vision")
    for manifest in manifests(ml50, 56):
        assert vision.submit(manifest) == (201, ""), manifest["kind"]
    eventually("all pods run", lambda: vision.running("bert") == 7)
    nodes = vision.nodes("bert")
    assert (len(nodes), nodes < set(twin.pool("gpu-training"))) == (7, True)
    vision.delete("bert")
    eventually("they are gone", lambda: not vision.pods("bert"))
    (*_, job) = manifests(ml50, 56)
    job["metadata"] |= {"name": "larger", "annotations": {"scheduling.volcano.sh/group-min-member": "8"}}
    job["spec"] |= {"parallelism": 8, "completions": 8}
    assert vision.submit(job) == (201, "")
    assert most(lambda: len(vision.pods("larger")), NEVER) == 0
