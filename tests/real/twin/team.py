"""What a team's member does, and what became of it.

What a test only prepares or waits for fails by `pytest.fail`, with what is known of it: what it proves is its `assert`.
"""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from generator.live.apiserver import tries

if TYPE_CHECKING:
    from apiserver import Identity

    from twin.plane import Plane

Object = dict[str, Any]
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
GANG = "scheduling.volcano.sh/group-min-member"
GPU = "nvidia.com/gpu"
# A job that tolerates one pool's own taint alone never runs on the other's nodes, not on what is lent of them either.
TAINTS = (GPU, "gen.internal/training", "gen.internal/inference")
TOLERATES = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in TAINTS]
PATIENCE = 60.0
"""Seconds for what takes a few on an idle machine."""


def job(
    name: str,
    pods: int = 1,
    *,
    gpus: int = 8,
    gang: bool = True,
    priority: str = "",
    **spec: Any,
) -> Object:
    """Return a training job as the documentation tells teams to write it; `spec` replaces parts of its pods."""
    limits = {"cpu": "8", "memory": "32Gi"} | ({GPU: str(gpus)} if gpus else {})
    if gpus == 8:  # who has all GPUs of a node speaks to other nodes
        limits["rdma/hca_shared_devices_a"] = "1"
    container = {"name": "main", "image": "registry.example.org/train:1", "resources": {"limits": limits}}
    template = {
        "schedulerName": "volcano",
        "restartPolicy": "Never",
        "tolerations": TOLERATES if gpus else [],
        "containers": [container],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": {QUEUE: "default"} | ({PRIORITY: priority} if priority else {}),
            "annotations": {GANG: str(pods)} if gang else {},
        },
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 0,
            "template": {"spec": template | spec},
        },
    }


class Member:
    """Somebody of a team, who acts with the rights that the cluster gives to the team's group."""

    def __init__(self, api: "Plane", team: str) -> None:
        self.api, self.team = api, team
        self.who: Identity = (f"oidc:{team}-member", (f"oidc:{team}", "system:authenticated"))

    def submit(self, manifest: Object) -> tuple[int, str]:
        """Create an object in the team's namespace and return the status and what was said."""
        manifest = manifest | {"metadata": manifest["metadata"] | {"namespace": self.team}}
        return self.api.create(manifest, by=self.who, dry=False)

    def prepare(self, *names: str, pods: int = 1, **more: Any) -> None:
        """Start jobs and wait until they run."""
        for name in names:
            self.start(name, pods, **more)
        for name in names:
            self.runs(name, pods)

    def start(self, name: str, pods: int = 1, **more: Any) -> None:
        """Submit a job that must be taken."""
        answer = self.submit(job(name, pods, **more))
        if answer != (201, ""):
            pytest.fail(f"{self.team}/{name}: {answer}")

    def queue(self, name: str) -> str:
        """Return the queue that a job names, whoever wrote it there."""
        found = self.api.get(f"/apis/batch/v1/namespaces/{self.team}/jobs/{name}")
        return str(found["metadata"].get("labels", {}).get(QUEUE, ""))

    def delete(self, name: str) -> None:
        """Take a job back."""
        path = f"/apis/batch/v1/namespaces/{self.team}/jobs/{name}?propagationPolicy=Background"
        status, answer = self.api.request("DELETE", path, by=self.who)
        assert status == 200, answer

    def pods(self, name: str = "") -> list[Object]:
        """Return the pods of a job, or of all of the team."""
        selector = f"?labelSelector=batch.kubernetes.io/job-name%3D{name}" if name else ""
        return self.api.items(f"/api/v1/namespaces/{self.team}/pods{selector}")

    def bound(self, name: str = "") -> int:
        """Return how many pods have a node."""
        return sum("nodeName" in pod["spec"] for pod in self.pods(name))

    def running(self, name: str = "") -> int:
        """Return how many pods run and are to stay."""
        return sum(
            pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
            for pod in self.pods(name)
        )

    def nodes(self, name: str = "") -> set[str]:
        """Return the nodes that pods run on."""
        return {pod["spec"]["nodeName"] for pod in self.pods(name) if "nodeName" in pod["spec"]}

    def complete(self, name: str) -> None:
        """End all pods of a job well."""
        for pod in self.pods(name):
            end_pod(self.api, pod)

    def runs(self, name: str, pods: int, patience: float = PATIENCE) -> None:
        """Wait until a job's pods all run; the test fails with what is known of it."""
        for _ in tries(patience):
            if self.running(name) == pods:
                return
        pytest.fail(f"{self.team}/{name}: {pods} pods do not run after {patience:g} s\n{self.told(name)}")

    def workloads(self) -> list[Object]:
        return self.api.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{self.team}/workloads")

    def workload(self, name: str) -> Object | None:
        """Return Kueue's object of a job, if there is one yet."""
        for one in self.workloads():
            if any(owner["name"] == name for owner in one["metadata"].get("ownerReferences", [])):
                return one
        return None

    def conditions(self, name: str) -> dict[str, tuple[str, str, str]]:
        """Return Kueue's conditions of a job by type: whether it is so, the reason and the message."""
        status = (self.workload(name) or {}).get("status", {})
        found = status.get("conditions") or []
        return {one["type"]: (one["status"], one.get("reason", ""), one.get("message", "")) for one in found}

    def has(self, name: str, condition: str, reason: str = "") -> bool:
        """Tell whether a condition holds."""
        status, why, _ = self.conditions(name).get(condition, ("", "", ""))
        return status == "True" and reason in {"", why}

    def told(self, name: str) -> str:
        """Return all that explains the state of a job."""
        lines = [f"{kind}: {' '.join(words)}" for kind, words in self.conditions(name).items()]
        for pod in self.pods(name):
            states = [f"{one['type']} {one.get('message', '')}" for one in pod["status"].get("conditions", [])]
            lines.append(f"{pod['metadata']['name']} {pod['spec'].get('nodeName')} {'; '.join(states)}"[:400])
        return "\n".join(lines)


def eventually(what: str, check: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait until something holds; the test fails with what was waited for."""
    if not any(check() for _ in tries(patience)):
        pytest.fail(f"{what}: not within {patience:g} s")


def most(value: Callable[[], int], seconds: float) -> int:
    """Return the highest value seen within some seconds."""
    return max(_seen(value, seconds))


def _seen(value: Callable[[], int], seconds: float) -> Iterator[int]:
    end = time.monotonic() + seconds
    yield value()
    while time.monotonic() < end:
        time.sleep(0.2)
        yield value()


def end_pod(api: "Plane", pod: Object) -> None:
    """Have KWOK end a pod well. It may have gone meanwhile: operators remove pods of a job that is done."""
    metadata = pod["metadata"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
    mark = {"metadata": {"annotations": {"twin.test/complete": "1"}}}
    status, answer = api.request("PATCH", path, mark, patch="merge-patch+json")
    if status not in {200, 404}:
        pytest.fail(f"{path}: {answer}")
