"""`gpu-drain`, step by step, on what an API server would answer of one sick node: which pods go, and which stay."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from generator.components.gpu_care.templates import scripts

Object = dict[str, Any]
SICK, CARE, STOPPED = "gen.internal/gpu-sick", "gen.internal/gpu-care", "gen.internal/stopped-for"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"


class Site:
    """Two nodes, of which gpu-01 is sick; pods, and Workloads of Kueue."""

    def __init__(self) -> None:
        self.notes: dict[str, dict[str, str]] = {"gpu-01": {SICK: "{}", CARE: "{}"}, "gpu-02": {}}
        self.by_hand: set[str] = set()  # nodes with the taint
        self.pods: list[Object] = []
        self.workloads: dict[str, Object] = {}
        self.asked: list[str] = []

    def runs(
        self, name: str, node: str = "gpu-01", *, gpus: int = 0, gang: str = "", owner: str = "ReplicaSet"
    ) -> None:
        """Let a pod run."""
        limits = {"nvidia.com/gpu": str(gpus)} if gpus else {"memory": "1Gi"}
        owners = [_made_by("Job", gang) if gang else _made_by(owner, "x")] if owner else []
        notes = {"kueue.x-k8s.io/workload": gang} if gang else {}
        metadata = {
            "namespace": "vision",
            "name": name,
            "uid": name,
            "annotations": notes,
            "ownerReferences": owners,
        }
        spec = {"nodeName": node, "containers": [{"name": "main", "resources": {"limits": limits}}]}
        self.pods.append({"metadata": metadata, "spec": spec, "status": {"phase": "Running"}})
        if gang:
            owned = {"namespace": "vision", "name": gang, "annotations": {}, "ownerReferences": [_made_by("Job", gang)]}
            self.workloads.setdefault(gang, {"metadata": owned, "spec": {"active": True}})

    def items(self, path: str, **query: str) -> list[Object]:
        if path == "/api/v1/nodes":
            return [*map(self.node, self.notes)]
        if path.endswith("/configmaps"):
            return [{"data": {"_pool": json.dumps({"queues": True})}}]
        if path == f"{KUEUE}/workloads":
            return [*self.workloads.values()]
        node = query.get("fieldSelector", "").partition(",")[0].removeprefix("spec.nodeName=")
        return [one for one in self.pods if not node or one["spec"]["nodeName"] == node]

    def each(self, path: str, **query: str) -> Iterator[Object]:
        yield from self.items(path, **query)

    def node(self, name: str) -> Object:
        """Return a node."""
        taints = [{"key": SICK, "effect": "NoSchedule"}] if name in self.by_hand else []
        return {"metadata": {"name": name, "annotations": self.notes[name]}, "spec": {"taints": taints}}

    def get(self, path: str) -> Any:
        name = path.rpartition("/")[2]
        if path.startswith("/api/v1/nodes/"):
            return self.node(name)
        if path.startswith("/apis/batch/v1/"):
            return {"metadata": {"uid": f"Job-{name}"}}
        return {} if path == KUEUE else self.workloads[name]

    def patch(self, path: str, change: Object) -> Any:
        return self.ask("PATCH", path, change)

    def evict(self, pod: Object) -> None:
        name = pod["metadata"]["name"]
        self.asked.append(f"evict {name}")
        self.pods = [one for one in self.pods if one["metadata"]["name"] != name]

    def ask(self, _method: str, path: str, body: Object, *_: str) -> Any:
        name = path.rpartition("/")[2]
        workload, active = self.workloads[name], body["spec"]["active"]
        self.asked.append(f"{'queue' if active else 'stop'} {name}")
        workload["spec"]["active"] = active
        workload["metadata"]["annotations"] = {
            key: value for key, value in body["metadata"]["annotations"].items() if value is not None
        }
        if not active:  # Kueue stops the job: all its pods go
            gone = [one for one in self.pods if name in one["metadata"]["annotations"].values()]
            self.pods = [one for one in self.pods if one not in gone]
        return workload


def _made_by(kind: str, name: str) -> Object:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}


class Drain:
    """The steps, on a site."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.module = import_module("gpu_drain")

    def which(self) -> list[str]:
        self.module.which(self.site)
        return list(json.loads((self.folder / "nodes").read_text()))

    def run(self) -> list[str]:
        """Run both steps on the node; what was asked."""
        self.module.stop_gangs(self.site)
        self.module.evict_rest(self.site)
        return self.site.asked

    def left(self) -> list[str]:
        return [one["metadata"]["name"] for one in self.site.pods]


@pytest.fixture
def drain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drain]:
    for name, text in scripts()["data"].items():
        (tmp_path / name).write_text(text)
        sys.modules.pop(name.removesuffix(".py"), None)
    told = {"NODE": "gpu-01", "DRAIN_ONLY": "nvidia.com/", "GANG_SECONDS": "0", "DRAIN_SECONDS": "1", "MOMENT": "0.05"}
    for name, value in {**told, "RUN": "gpu-drain-x7k2p", "TOLD": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Drain(Site(), tmp_path)
    for name in scripts()["data"]:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_only_what_holds_gpus_of_a_sick_node_goes(drain: Drain) -> None:
    drain.site.runs("plain")
    assert drain.which() == [], "nothing there holds a GPU"
    drain.site.runs("serving", gpus=1)
    drain.site.runs("exporter", gpus=1, owner="DaemonSet")
    drain.site.runs("elsewhere", "gpu-02", gpus=1)
    assert drain.which() == ["gpu-01"]
    assert drain.run() == ["evict serving"]
    assert drain.left() == ["plain", "exporter", "elsewhere"]
    assert drain.which() == []


def test_gpus_of_a_sidecar_are_held_as_well(drain: Drain) -> None:
    drain.site.runs("serving")
    drain.site.runs("plain")
    first = drain.site.pods[0]["spec"]
    first["initContainers"], first["containers"] = [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}], [{}]
    assert drain.run() == ["evict serving"]


def test_a_pod_that_only_says_to_be_of_a_gang_stops_none(drain: Drain) -> None:
    drain.site.runs("train-0", "gpu-02", gpus=8, gang="train")
    drain.site.runs("fake", gpus=1)
    drain.site.pods[1]["metadata"]["annotations"]["kueue.x-k8s.io/workload"] = "train"
    assert drain.run() == ["evict fake"]
    assert drain.left() == ["train-0"]


def test_a_gang_goes_whole_and_is_queued_again(drain: Drain) -> None:
    drain.site.runs("train-0", gpus=8, gang="train")
    drain.site.runs("train-1", "gpu-02", gpus=8, gang="train")
    drain.site.runs("other-0", "gpu-02", gpus=8, gang="other")
    assert drain.run() == ["stop train", "queue train"]
    assert drain.left() == ["other-0"]


def test_what_a_killed_run_has_stopped_is_queued_again(drain: Drain) -> None:
    drain.site.runs("train-0", gpus=8, gang="train")
    drain.site.pods.clear()
    drain.site.workloads["train"] |= {"spec": {"active": False}}
    drain.site.workloads["train"]["metadata"]["annotations"] = {STOPPED: "gpu-01"}
    assert drain.which() == ["gpu-01"]
    assert drain.run() == ["queue train"]
    assert drain.which() == []


def test_a_node_that_was_cleared_meanwhile_keeps_its_jobs(drain: Drain) -> None:
    drain.site.runs("train-0", gpus=8, gang="train")
    drain.site.runs("serving", gpus=1)
    del drain.site.notes["gpu-01"][SICK]
    drain.site.runs("first-0", "gpu-02", gpus=8, gang="first")
    drain.site.pods.pop()
    drain.site.workloads["first"]["metadata"]["annotations"] = {STOPPED: "gpu-01"}
    assert drain.which() == ["gpu-01"], "a gang that was stopped for it waits"
    assert drain.run() == ["queue first"]


def test_jobs_leave_a_node_that_somebody_tainted_by_hand(drain: Drain) -> None:
    """As `docs/operations.md` tells to, where the bound of a day was reached."""
    drain.site.notes["gpu-01"] = {"gen.internal/gpu-suspect": "{}"}
    drain.site.runs("train-0", gpus=8, gang="train")
    drain.site.runs("serving", gpus=1)
    assert drain.which() == []
    drain.site.by_hand = {"gpu-01"}
    assert drain.which() == ["gpu-01"]
    assert drain.run() == ["stop train", "queue train", "evict serving"]
    assert drain.left() == []


def test_a_gang_that_another_operation_stopped_is_left(drain: Drain) -> None:
    drain.site.runs("train-0", "gpu-02", gpus=8, gang="train")
    drain.site.pods.clear()
    drain.site.workloads["train"]["metadata"]["annotations"] = {STOPPED: "gpu-02"}
    assert drain.which() == []


def test_a_pod_that_nobody_would_make_again_is_named(drain: Drain) -> None:
    drain.site.runs("mine", gpus=1, owner="")
    with pytest.raises(sys.modules["api"].Verdict, match="nobody makes vision/mine again"):
        drain.run()
    assert drain.left() == ["mine"]
