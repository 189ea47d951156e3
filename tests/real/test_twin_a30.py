"""What the team of `a30-bench` may rely on: one queue whose order holds, two nodes with one GPU each."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from twin.fixtures import Twin
    from twin.team import Member

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

NEVER = 5.0


@pytest.fixture(scope="module")
def bench() -> Iterator["Twin"]:
    from twin.fixtures import reference

    with reference("a30-bench") as made:
        yield made


@pytest.fixture
def mlperf(bench: "Twin") -> Iterator["Member"]:
    yield bench.member("mlperf")
    bench.clean()


def test_a_run_on_both_nodes_starts_whole(bench: "Twin", mlperf: "Member") -> None:
    mlperf.prepare("both", pods=2, gpus=1)
    assert mlperf.nodes("both") == set(bench.pool("bench"))


def test_a_big_run_is_never_passed_by_a_small_one(mlperf: "Member") -> None:
    from twin.team import most

    mlperf.prepare("first", gpus=1)
    mlperf.start("big", 2, gpus=1)
    time.sleep(1.1)  # times of creation are whole seconds
    mlperf.start("small", 1, gpus=1)
    assert most(lambda: len(mlperf.pods("small")), NEVER) == 0
    mlperf.complete("first")
    mlperf.runs("big", 2)
    mlperf.complete("big")
    mlperf.runs("small", 1)


def test_quotas_are_what_nodes_have(bench: "Twin") -> None:
    queue = bench.api.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/mlperf")
    owned = [one for one in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"] if "gpu" in one["name"]]
    nodes = bench.api.items("/api/v1/nodes?labelSelector=gen.internal/pool%3Dbench")
    assert [one["nominalQuota"] for one in owned] == ["2"]
    assert [node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes] == ["1", "1"]
