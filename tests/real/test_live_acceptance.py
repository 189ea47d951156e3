"""A pool accepted by the operation as rendered, with real pods for its steps (livesite.py). Its nodes are KWOK's. The
queue, the scheduler of gangs and the MPI operator are played, and what the jobs' pods say.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from acceptanceoutputs import links, nccl
from auditing import Right, betrayed, stored, unused, written
from beside import Beside
from kubeletplayed import LOGS, kubelet
from livesite import Site
from nodesteps import NODES, Steps
from reference import load

from generator.components.acceptance import acceptance
from generator.components.acceptance.names import JOBS, NAMESPACE, RECORDS
from generator.components.queues import queues

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
ACCOUNT = f"{NAMESPACE}:acceptance"
POOL = ("gpu-01", "gpu-02", "gpu-03")
PODS = f"/api/v1/namespaces/{JOBS}/pods"
MPI = f"/apis/kubeflow.org/v2beta1/namespaces/{JOBS}/mpijobs"
LAUNCHER = "training.kubeflow.org/job-role"


class Queue(Beside):
    """Who lets jobs of acceptance run: each pod on a node of its own, where it says what it must, and ends well."""

    def __init__(self, steps: Steps) -> None:
        super().__init__(steps)
        self.says: dict[str, list[str]] = {"nccl": [nccl(91.0, nodes=3)], "pairs": ["", links(0), links(1)]}
        """What pods say, by the test."""
        self.seen: set[str] = set()

    def once(self) -> None:
        """Let be what is newly there."""
        for job in self.items(MPI):
            if job["metadata"]["uid"] not in self.seen:
                self.seen.add(job["metadata"]["uid"])
                self.launch(job)
        for pod in self.items(PODS):
            if not pod["spec"].get("nodeName"):
                self.place(pod)
            elif pod["status"].get("phase") == "Running":
                done = {"metadata": {"annotations": {"twin.test/complete": "1"}}}
                self.api.request("PATCH", f"{PODS}/{pod['metadata']['name']}", done, patch="merge-patch+json")
            elif pod["metadata"]["labels"].get(LAUNCHER) and pod["status"].get("phase") == "Succeeded":
                self.end(pod["metadata"]["labels"]["training.kubeflow.org/job-name"])

    def items(self, path: str) -> list[Object]:
        return list(self.api.request("GET", path)[1]["items"])

    def launch(self, job: Object) -> None:
        """Let the MPI operator make the launcher, which alone says something."""
        name = job["metadata"]["name"]
        template = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
        labels = {"training.kubeflow.org/job-name": name, LAUNCHER: "launcher"}
        owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": name, "uid": job["metadata"]["uid"]}
        metadata = {"name": f"{name}-launcher", "namespace": JOBS, "ownerReferences": [owner]}
        own = {**metadata, "labels": template["metadata"]["labels"] | labels}
        spec = template["spec"] | {"restartPolicy": "Never"}
        made = self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": spec}, dry=False)
        assert made == (201, ""), made

    def end(self, name: str) -> None:
        """Let the MPI operator tell that a job has ended."""
        when = "2026-11-23T12:05:00Z"
        told = {"type": "Succeeded", "status": "True", "reason": "Played", "lastTransitionTime": when}
        self.api.request(
            "PATCH",
            f"{MPI}/{name}/status",
            {"status": {"conditions": [{**told, "lastUpdateTime": when}]}},
            patch="merge-patch+json",
        )

    def place(self, pod: Object) -> None:
        """Let a pod have its node, and know what it is to say there."""
        metadata = pod["metadata"]
        number = int(metadata.get("annotations", {}).get("batch.kubernetes.io/job-completion-index", "0"))
        test = metadata["labels"].get("batch.kubernetes.io/job-name", "nccl").rpartition("-")[2]
        LOGS[metadata["name"]] = self.says[test][number]
        target = {"apiVersion": "v1", "kind": "Node", "name": POOL[number]}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": metadata["name"]}, "target": target}
        assert self.api.request("POST", f"{PODS}/{metadata['name']}/binding", binding)[0] == 201


@pytest.fixture(scope="module")
def queue(site: Site) -> Iterator[Queue]:
    """The operation, its pool, and who lets its jobs run."""
    cluster = load("ml50")
    made = acceptance(cluster)
    site.api.install("mpi-operator/v0.8.2/crds")
    site.api.wait("MPIJobs are served", lambda: site.api.request("GET", MPI)[0] == 200)
    for space in made.namespaces:
        site.api.namespace(space.name, space.labels)
    for one in (*queues(cluster).objects, *made.base, *made.objects):
        if one["kind"] != "Certificate":
            site.api.apply(one)
    site.bring(made)
    with kubelet(site.api.address.certificate) as port:
        for name in POOL:
            site.steps.join(name)
            ends = {"kubeletEndpoint": {"Port": port}}
            reached = {"addresses": [{"type": "Hostname", "address": "127.0.0.1"}], "daemonEndpoints": ends}
            site.steps.status(f"{NODES}/{name}", reached)
        with Queue(site.steps) as found:
            yield found
    for name in POOL:
        site.steps.leave(name)


def begun(site: Site, tests: str) -> str:
    return site.begin("acceptance", "", "-p", "pool=gpu-training", "-p", f"tests={tests}", "-p", "nodes=3")


def records(site: Site, run: str) -> set[str]:
    """Return of which tests of a run there is a record."""
    at = f"/api/v1/namespaces/{NAMESPACE}/configmaps?labelSelector={RECORDS.replace('/', '%2F')}%3Drecord"
    names = [one["metadata"]["name"] for one in site.api.items(at)]
    return {name.rpartition("-")[2] for name in names if name.startswith(f"{run}-")}


def test_a_good_pool_is_accepted_and_no_job_is_left(site: Site, queue: Queue) -> None:
    assert not queue.wrong
    run = begun(site, "nccl,pairs")
    said = site.good(run)
    assert "scratch is not tried: nobody asked for it" in said
    assert "pool gpu-training is accepted, 3 nodes" in said
    assert "acceptance of gpu-training: Succeeded" in said
    assert records(site, run) == {"nccl", "pairs"}
    for path in (MPI, f"/apis/batch/v1/namespaces/{JOBS}/jobs", f"/api/v1/namespaces/{JOBS}/services"):
        site.until("it has gone", lambda path=path: site.api.items(path) == [])  # type: ignore[misc]


def test_all_tests_are_made_though_one_fails_and_the_verdict_names_them(site: Site, queue: Queue) -> None:
    """The address is not tried, for the control plane is not there."""
    queue.says["pairs"] = ["", links(0), links(1, 190.0)]
    run = begun(site, "pairs,vip")
    assert site.ended(run) == "Failed"
    said = site.said(run)
    assert "pairs: gpu-02 - gpu-03 mlx5_0 host: 190 Gbit/s, less than 380" in said
    assert "not Ready: one less could stop the control plane" in said
    assert "FAILED: pool gpu-training is not accepted: pairs: gpu-02 - gpu-03 mlx5_0 host: 190 Gbit/s" in said
    assert "vip: it has no result" in said
    assert "acceptance of gpu-training: Failed" in said
    assert records(site, run) == {"pairs"}


def test_no_right_is_unused_and_none_is_missing(site: Site, queue: Queue) -> None:
    """After all others. What Argo's executor asks is among it; who watches nodes while the address moves is in
    test_acceptance_steps.py.
    """
    assert not queue.wrong
    assert unused(site.api, site.folder, ACCOUNT) == {Right(ACCOUNT, "watch", "", "nodes", "")}


def test_no_token_is_told(site: Site, queue: Queue) -> None:
    """After all others."""
    assert not queue.wrong
    assert betrayed([*stored(site.api), *written(site.folder)], ()) == []
