"""Gangs on a cluster where no queue runs. Kueue and the operators are played: they let a gang in, take it back whole
when somebody stops it, and begin it anew. Its objects are of real kinds, its pods are a Job's or a RayCluster's.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, Self

from beside import Beside
from nodesteps import Steps
from upgradesite import Watcher

Object = dict[str, Any]
SPACE = "default"
KINDS = ("jobset/v0.12.0/crds", "kuberay/v1.7.0/crds", "kubeflow-trainer/v2.3.0/crds")
"""Definitions of all that jobs are made of here."""
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{SPACE}/workloads"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
HOLDS = {"nvidia.com/gpu": "4"}
"""What each pod has: two gangs share a node."""
TRAIN, RAY = "TrainJob", "RayJob"
MADE: dict[str, tuple[tuple[str, str, Object], ...]] = {
    TRAIN: (
        ("trainer.kubeflow.org/v1alpha1", TRAIN, {"runtimeRef": {"name": "any"}}),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": []}),
    ),
    RAY: (
        ("ray.io/v1", RAY, {"entrypoint": "any"}),
        (
            "ray.io/v1",
            "RayCluster",
            {"headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": []}}}},
        ),
    ),
}
"""What a job of a kind is made of, each the owner of the next, the last one of its pods or of the Job that has them."""


class Gang(Beside):
    """One gang, as long as the block: of a pod on each of some nodes, or on others where these take none."""

    pause = 0.1

    def __init__(self, steps: Steps, kind: str, nodes: tuple[str, ...]) -> None:
        super().__init__(steps)
        self.kind, self.nodes = kind, nodes
        self.name = f"train-{kind.lower()}"
        self.owners: list[Object] = []
        self.begun = 0
        self.held = False

    def __enter__(self) -> Self:
        for version, kind, spec in MADE[self.kind]:
            self.own(version, kind, spec)
        if self.kind == TRAIN:
            count = len(self.nodes)
            self.own("batch/v1", "Job", {"parallelism": count, "completions": count, "template": self.template()})
        sets = [{"name": "main", "count": len(self.nodes), "template": {"spec": self.pod()}}]
        metadata = {"name": self.name, "ownerReferences": [_owner(self.owners[0])]}
        made = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {**metadata, "namespace": SPACE},
        }
        self.steps.api.apply({**made, "spec": {"podSets": sets, "active": True}})
        self.begin(self.steps.api)
        self.steps.api.wait(f"{self.name} runs", self.whole)
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        api = self.steps.api
        for path in (f"{WORKLOADS}/{self.name}", *map(_path, self.owners)):
            api.request("DELETE", f"{path}?propagationPolicy=Background")
        for one in self.pods():
            api.request("DELETE", f"{PODS}/{one['metadata']['name']}?gracePeriodSeconds=0")
        api.wait(f"{self.name} has gone", lambda: self.pods() == [])

    def own(self, version: str, kind: str, spec: Object) -> None:
        """Make an object of what the last one owns."""
        metadata: Object = {"name": self.name, "namespace": SPACE}
        if self.owners:
            metadata["ownerReferences"] = [_owner(self.owners[-1])]
        code, made = self.steps.api.request(
            "POST",
            _collection(version, kind),
            {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec},
        )
        assert code == 201, made
        self.owners.append(made)

    def template(self) -> Object:
        """Return what all its pods are made of."""
        metadata = {"labels": {"gang": self.name}, "annotations": {"kueue.x-k8s.io/workload": self.name}}
        return {"metadata": metadata, "spec": self.pod()}

    def pod(self) -> Object:
        hosts = {"key": "kubernetes.io/hostname", "operator": "In", "values": [*self.nodes]}
        near = {"weight": 100, "preference": {"matchExpressions": [hosts]}}
        apart = {"labelSelector": {"matchLabels": {"gang": self.name}}, "topologyKey": "kubernetes.io/hostname"}
        return {
            "restartPolicy": "Never",
            "tolerations": [
                {"key": key, "operator": "Exists"}
                for key in ("nvidia.com/gpu", "gen.internal/training", "gen.internal/inference")
            ],
            "affinity": {
                "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [near]},
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
            },
            "containers": [{"name": "main", "image": "registry.example.org/any:1", "resources": {"limits": HOLDS}}],
        }

    def pods(self) -> list[Object]:
        """Return its pods."""
        return self.steps.api.items(f"{PODS}?labelSelector=gang%3D{self.name}")

    def runs_on(self) -> set[str]:
        """Return the nodes on which its pods run and are to stay."""
        return {one["spec"]["nodeName"] for one in self.pods() if _runs(one)}

    def whole(self) -> bool:
        """Tell whether all its pods run."""
        return len(self.runs_on()) == len(self.nodes)

    def once(self) -> None:
        """Do what the queue and the operator do when somebody has stopped the gang, or lets it go on."""
        active = self.api.request("GET", f"{WORKLOADS}/{self.name}")[1]["spec"]["active"]
        if active and self.held:
            self.begin(self.api)
        elif not active and not self.held:
            self.take_back()
        self.held = not active

    def begin(self, api: Any) -> None:
        self.begun += 1
        self.says(api, admitted=True)
        if self.kind == TRAIN:
            self.suspend(api, suspended=False)
            return
        for number in range(len(self.nodes)):
            made = self.template()
            made["metadata"] |= {"name": f"{self.name}-{self.begun}-{number}", "namespace": SPACE}
            made["metadata"]["ownerReferences"] = [_owner(self.owners[-1])]
            assert api.create({"apiVersion": "v1", "kind": "Pod", **made}, dry=False) == (201, "")

    def take_back(self) -> None:
        self.says(self.api, admitted=False)
        if self.kind == TRAIN:
            self.suspend(self.api, suspended=True)
            return
        for one in self.api.request("GET", f"{PODS}?labelSelector=gang%3D{self.name}")[1]["items"]:
            self.api.request("DELETE", f"{PODS}/{one['metadata']['name']}")

    def suspend(self, api: Any, *, suspended: bool) -> None:
        """Let the Job that has the pods run or not."""
        change = {"spec": {"suspend": suspended}}
        code, answer = api.request("PATCH", _path(self.owners[-1]), change, patch="merge-patch+json")
        assert code == 200, answer

    def says(self, api: Any, *, admitted: bool) -> None:
        """Let the queue tell whether it has let the gang in."""
        since = f"2026-01-01T{self.begun // 60:02}:{self.begun % 60:02}:00Z"
        told = {
            "type": "Admitted",
            "status": str(admitted),
            "reason": "Played",
            "message": "",
            "lastTransitionTime": since,
        }
        path = f"{WORKLOADS}/{self.name}/status"
        code, answer = api.request("PATCH", path, {"status": {"conditions": [told]}}, patch="merge-patch+json")
        assert code == 200, answer


@contextlib.contextmanager
def running(steps: Steps, *nodes: str) -> Iterator[list[Gang]]:
    """Let gangs run until the block ends, one for each way in which operators make pods."""
    steps.api.install(*KINDS)
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Gang(steps, kind, nodes)) for kind in (TRAIN, RAY)]


@contextlib.contextmanager
def gangs(steps: Steps, *nodes: str) -> Iterator[list[Gang]]:
    """Let such gangs be moved in the block: each at least once, whole, and none is left stopped."""
    with running(steps, *nodes) as found, contextlib.ExitStack() as stack:
        watchers = [stack.enter_context(Watcher(steps, SPACE, one.name)) for one in found]
        yield found
        wrong = [(one.gang, one.mixed, one.halved) for one in watchers if one.mixed or one.halved]
        assert not wrong, wrong
        for one in found:
            steps.api.wait(f"{one.name} runs", one.whole)
        times = {one.gang: len(one.whole) for one in watchers}
        assert min(times.values()) > 1, times


def _runs(pod: Object) -> bool:
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _owner(one: Object) -> Object:
    metadata = one["metadata"]
    own = {"apiVersion": one["apiVersion"], "kind": one["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {**own, "controller": True}


def _collection(version: str, kind: str) -> str:
    return f"/apis/{version}/namespaces/{SPACE}/{kind.lower()}s"


def _path(one: Object) -> str:
    return f"{_collection(one['apiVersion'], one['kind'])}/{one['metadata']['name']}"
