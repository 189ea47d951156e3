"""GPUs that are split, and whole ones of another model: Kueue counts each by the name that its node offers."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from reference import ROOT, render

if TYPE_CHECKING:
    from twin.fixtures import Twin
    from twin.team import Member

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

GPU, SMALL, LARGE = "nvidia.com/gpu", "nvidia.com/mig-1g.6gb", "nvidia.com/mig-2g.12gb"
NEVER = 5.0
# What becomes of `a30-bench`: two A30 in each node, balanced, and a node with whole H100.
CHANGES = {
    "  pools:\n": """  gpus: {migStrategy: mixed}
  pools:
    whole:
      hardware: {cpu: 64, memory: 256Gi, gpu: {model: H100, count: 4, memory: 80Gi}}
      taints: [nvidia.com/gpu=present:NoSchedule]
""",
    "gpu: {model: A30, count: 1, memory: 24Gi}": (
        "gpu: {model: A30, count: 2, memory: 24Gi, mig: {profile: all-balanced}}"
    ),
    "    - {name: jw3,": "    - {name: jw4, pool: whole, address: 129.254.202.254}\n    - {name: jw3,",
    "bench: {gpus: 2}": "{bench: {instances: {1g.6gb: 8, 2g.12gb: 4}}, whole: {gpus: 4}}",
}


def write(repository: Path) -> None:
    """Write the cluster's file and what gen makes of it."""
    text = (ROOT / "clusters/a30-bench/cluster.yaml").read_text()
    # Benchmarks are of whole GPUs alone.
    text, gone = re.subn(r"^  mlperf:\n.*?(?=^  monitoring:)", "", text, flags=re.MULTILINE | re.DOTALL)
    assert gone == 1
    for old, new in CHANGES.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    render(repository, "a30-bench", text)


@pytest.fixture(scope="module")
def split() -> Iterator["Twin"]:
    from twin.fixtures import twin_of

    with tempfile.TemporaryDirectory(prefix="mig-") as folder:
        repository, work = Path(folder) / "repository", Path(folder) / "work"
        work.mkdir()
        write(repository)
        with twin_of(repository, "a30-bench", work) as made:
            yield made


@pytest.fixture
def mlperf(split: "Twin") -> Iterator["Member"]:
    yield split.member("mlperf")
    split.clean()


def asking(**devices: str) -> dict[str, Any]:
    """Return the part of a job's pods that asks for these devices."""
    from twin.team import TOLERATES

    limits = {"cpu": "1", "memory": "1Gi", **devices}
    container = {"name": "main", "image": "registry.example.org/train:1", "resources": {"limits": limits}}
    return {"gpus": 0, "containers": [container], "tolerations": TOLERATES}


def test_quotas_are_what_nodes_offer(split: "Twin") -> None:
    queue = split.api.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/mlperf")
    (group,) = queue["spec"]["resourceGroups"]
    for name in (GPU, SMALL, LARGE):
        entries = [one for flavor in group["flavors"] for one in flavor["resources"] if one["name"] == name]
        nodes = split.api.items("/api/v1/nodes")
        offered = sum(int(node["status"]["allocatable"].get(name, "0")) for node in nodes)
        assert sum(int(one["nominalQuota"]) for one in entries) == offered > 0, name


@pytest.mark.parametrize(("name", "pool", "most"), [(SMALL, "bench", 8), (LARGE, "bench", 4), (GPU, "whole", 4)])
def test_as_many_start_as_there_are_and_no_more(
    split: "Twin", mlperf: "Member", name: str, pool: str, most: int
) -> None:
    from twin.team import most as highest

    mlperf.prepare("all", pods=most, **asking(**{name: "1"}))
    assert mlperf.nodes("all") <= set(split.pool(pool))
    mlperf.start("more", 1, **asking(**{name: "1"}))
    assert highest(lambda: len(mlperf.pods("more")), NEVER) == 0
    mlperf.complete("all")
    mlperf.runs("more", 1)


def test_what_no_node_offers_is_never_let_in(mlperf: "Member") -> None:
    from twin.team import most as highest

    mlperf.start("other", 1, **asking(**{"nvidia.com/mig-1g.5gb": "1"}))
    assert highest(lambda: len(mlperf.pods("other")), NEVER) == 0
    status, _, message = mlperf.conditions("other")["QuotaReserved"]
    assert status == "False"
    assert "nvidia.com/mig-1g.5gb" in message
