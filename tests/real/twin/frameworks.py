"""Jobs of operators on a twin: what `gen workload new` writes, or what the documentation tells teams to write."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from documented import of_operators
from loopback import Asked, Reply
from msgspec import structs

from generator.live.apiserver import tries
from generator.model.cluster import Cluster
from generator.model.teams import Quota
from generator.workloads import workload
from generator.workloads.wanted import Wanted
from twin.team import GANG, PATIENCE, PRIORITY, QUEUE, Member, end_pod

Object = dict[str, Any]
TRAINING = "gpu-training"
IMAGE = "registry.example.org/train:1"
CLAIMS = ("persistentVolumeClaim", "ephemeral")
OF_JOBS = "batch.kubernetes.io/job-name"
ENDED: set[str] = set()
"""Names of jobs that a Ray head would call done."""


def dashboard(asked: Asked) -> Reply:
    """Answer as Ray's head does when KubeRay asks how a job is."""
    job_name = asked.path.rpartition("/")[2].rpartition("-")[0]
    said = {"status": "SUCCEEDED" if job_name in ENDED else "RUNNING", "start_time": 1, "end_time": 1}
    return 200, {"Content-Type": "application/json"}, json.dumps(said).encode()


def on_twin(value: Any) -> Any:
    """Return a manifest with empty folders for its claims: nothing serves volumes on a twin."""
    if isinstance(value, list):
        return [on_twin(one) for one in value]
    if not isinstance(value, dict):
        return value
    if any(claim in value for claim in CLAIMS):
        return {"name": value["name"], "emptyDir": {}}
    return {key: on_twin(one) for key, one in value.items()}


def labels(priority: str) -> Object:
    return {QUEUE: "default", PRIORITY: priority}


def written(kind: str) -> Callable[[Cluster, str, int, str], list[Object]]:
    """Return what has gen write a job."""

    def make(cluster: Cluster, name: str, nodes: int, priority: str) -> list[Object]:
        wanted = Wanted(name=name, team="vision", gpus=8 * nodes, image=IMAGE, priority=priority)
        found = workload(cluster, kind, wanted).manifests
        return [on_twin(one) for one in found if one["kind"] != "PersistentVolumeClaim"]

    return make


def documented(kind: str) -> Callable[[Cluster, str, int, str], list[Object]]:
    """Return what makes a job of a kind as the documentation has it, with as many pods."""

    def make(_cluster: Cluster, name: str, nodes: int, priority: str) -> list[Object]:
        manifest = of_operators()[kind]
        manifest["metadata"] = {"name": name, "labels": labels(priority)}
        SIZES[kind](manifest["spec"], nodes)
        return [manifest]

    return make


def job_set(spec: Object, nodes: int) -> None:
    """Give a JobSet so many nodes."""
    (workers,) = spec["replicatedJobs"]
    workers["template"]["metadata"]["annotations"][GANG] = str(nodes)
    workers["template"]["spec"] |= {"parallelism": nodes, "completions": nodes}


def train_job(spec: Object, nodes: int) -> None:
    """Give a TrainJob so many nodes."""
    spec["trainer"]["numNodes"] = nodes


def tf_job(spec: Object, nodes: int) -> None:
    """Give a TFJob so many nodes."""
    spec["tfReplicaSpecs"]["Worker"]["replicas"] = nodes


SIZES = {"JobSet": job_set, "TrainJob": train_job, "TFJob": tf_job}


class Framework(NamedTuple):
    """A kind of job: what makes one, and how many pods it has beside those with GPUs: one that starts the others, which
    alone is a Job's, and ends the whole when it ends.
    """

    make: Callable[[Cluster, str, int, str], list[Object]]
    beside: int = 0


FRAMEWORKS = {
    "JobSet": Framework(documented("JobSet")),
    "MPIJob": Framework(written("mpi"), beside=1),
    "TrainJob": Framework(documented("TrainJob")),
    "TFJob": Framework(documented("TFJob")),
    "RayJob": Framework(written("ray"), beside=1),
    "pytorch": Framework(written("pytorch")),
    "tensorflow": Framework(written("tensorflow")),
    "jax": Framework(written("jax")),
}


def lent(cluster: Cluster, team: str, nodes: int) -> Cluster:
    """Return a cluster file by which a team may have so many nodes at once: gen writes no job that can never start,
    but a job may be older than the quota.
    """

    def larger(quota: Quota) -> Quota:
        assert quota.gpus is not None
        return structs.replace(quota, borrow=8 * nodes - quota.gpus)

    teams = [
        structs.replace(one, quotas=one.quotas | {TRAINING: larger(one.quotas[TRAINING])}) if one.name == team else one
        for one in cluster.teams
    ]
    return structs.replace(cluster, teams=tuple(teams))


class Framed(Member):
    """A member of a team who runs jobs of one kind."""

    def __init__(self, member: Member, cluster: Cluster, framework: Framework) -> None:
        super().__init__(member.api, member.team)
        self.cluster, self.framework = cluster, framework

    def begin(self, name: str, nodes: int, priority: str = "low") -> None:
        """Submit a job that must be taken."""
        ENDED.discard(name)
        for manifest in self.framework.make(self.cluster, name, nodes, priority):
            answer = self.submit(manifest)
            if answer != (201, ""):
                pytest.fail(f"{self.team}/{manifest['kind']} {name}: {answer}")

    def pods(self, name: str = "") -> list[Object]:
        """Return the pods whose names begin with that of the job."""
        found = self.api.items(f"/api/v1/namespaces/{self.team}/pods")
        return [pod for pod in found if pod["metadata"]["name"].startswith(f"{name}-" if name else "")]

    def whole(self, name: str, nodes: int) -> None:
        """Wait until all pods of a job run."""
        self.runs(name, nodes + self.framework.beside)

    def gone(self, name: str) -> None:
        """Wait until a job has no pods that run or may run."""
        for _ in tries(PATIENCE):
            if not self.pods(name):
                return
        pytest.fail(f"{self.team}/{name}: there are pods still\n{self.told(name)}")

    def end(self, name: str) -> None:
        """End those pods well that end the job."""
        ENDED.add(name)
        for pod in self.pods(name):
            if not self.framework.beside or OF_JOBS in pod["metadata"]["labels"]:
                end_pod(self.api, pod)
