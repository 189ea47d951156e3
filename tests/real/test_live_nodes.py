"""Operations on nodes as rendered, with real pods (livesite.py): nodes taken in, emptied, replaced."""

from collections.abc import Iterator

import pytest
from auditing import asked, betrayed, executor, stored, written
from livesite import BESIDE, Site
from nodesteps import NODES, expects, silent

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.node_operations.names import NAMESPACE
from generator.components.rook_ceph import NAMESPACE as ROOK

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

ACCOUNTS = tuple(f"{NAMESPACE}:{name}" for name in ("node-expansion", "node-removal", "node-replacement"))
NEW = "gpu-15"
GPU, RDMA = "nvidia.com/gpu", "rdma/hca_shared_devices_a"
POOL = (GPU, "gen.internal/inference")
MOMENTS = ["-p", "answer-port=", "-p", "ready-seconds=900", "-p", "join-seconds=900", "-p", "burn-in-seconds=900"]
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
RACK = "topology.rook.io/rack"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


@pytest.fixture
def machine(site: Site) -> Iterator[str]:
    """A machine that has not joined; it is none of the cluster's again when the test ends."""
    yield NEW
    if site.api.get(f"{NODES}/{NEW}"):
        site.steps.leave(NEW)
    jobs = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
    site.api.request("DELETE", f"{jobs}?propagationPolicy=Background")
    site.until("its jobs have gone", lambda: site.api.items(jobs) == [])


def devices(site: Site, name: str) -> None:
    """Let the plugins and drivers of a node have come."""
    site.steps.status(f"{NODES}/{name}", {"capacity": {GPU: "8", RDMA: "63"}, "allocatable": {GPU: "8", RDMA: "63"}})
    site.steps.register(name, RBD_DRIVER, CEPHFS_DRIVER)
    for number in range(2):
        site.steps.disk(name, number)


def passes(site: Site, *jobs: str) -> None:
    """Let the Jobs of a burn-in on simulated nodes end well, one after the other: all of them, or these."""
    for job in jobs or ("", "nccl-1-", "nccl-2-"):
        at = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=batch.kubernetes.io/job-name%3Dburn-in-{job}{NEW}"
        phases = ["Running"] * (2 if job == "nccl-2-" else 1)
        site.until(f"{job} runs", lambda at=at, phases=phases: phases == [  # type: ignore[misc]
            one["status"].get("phase") for one in site.api.items(at)
        ])  # fmt: skip
        pods = site.api.items(at)
        assert NEW in [pod["spec"]["nodeName"] for pod in pods]
        for pod in pods:
            mark = {"metadata": {"annotations": {"twin.test/complete": "1"}}}
            site.steps.patch(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}", mark)


def test_a_node_joins_while_the_operation_waits_and_is_let_in(site: Site, machine: str) -> None:
    run = site.begin("node-expansion", machine, *MOMENTS)
    site.reaches(run, "join")
    site.steps.join(machine, without=[GPU, RDMA])
    devices(site, machine)
    passes(site)
    said = site.good(run)
    assert f"{machine} takes no pods now" in said
    assert f"the neighbour of {machine} is {BESIDE}, which nobody uses" in said
    assert f"{machine} takes pods of pool gpu-inference" in said
    assert f"node-expansion of {machine}: Succeeded" in said
    assert not site.steps.node(machine)["spec"].get("unschedulable")


@pytest.fixture
def disk(site: Site, machine: str) -> Iterator[str]:
    """A machine that brings Ceph a disk."""
    said = site.api.get(f"{CONFIG_MAPS}/nodes-gpu-inference")["data"][machine]
    expects(site.steps, "gpu-inference", machine, osds=1)
    yield machine
    site.steps.patch(f"{CONFIG_MAPS}/nodes-gpu-inference", {"data": {machine: said}})
    site.steps.undeploy(ROOK, "rook-ceph-osd-90")


def test_an_expansion_that_is_killed_at_each_step_goes_on(site: Site, disk: str) -> None:
    run = site.begin("node-expansion", disk, *MOMENTS)
    for step in ("join", "marks", "ready", "burn-in"):
        if step == "marks":  # which takes a moment, and may have done it already
            site.until("marks begins", lambda run=run: site.step(run, "marks"))  # type: ignore[misc]
        else:
            site.reaches(run, step)
        run = site.killed(run)
        if step == "join":
            site.reaches(run, step)
            site.steps.join(disk, without=[GPU, RDMA, RACK])
        elif step == "ready":
            devices(site, disk)
    # It waits for the Job of the run that was killed; one that had ended before would not count.
    site.reaches(run, "burn-in")
    passes(site)
    site.reaches(run, "storage")
    assert "was begun at" in site.said(run)
    run = site.killed(run)
    site.reaches(run, "storage")
    labels = {"ceph-osd-id": "90"}
    site.steps.deployment(ROOK, "rook-ceph-osd-90", disk, app="rook-ceph-osd", labels=labels, tolerates=POOL)
    assert f"1 OSDs run on {disk}" in site.good(run)
    assert site.steps.node(disk)["metadata"]["labels"][RACK] == "r3"
    assert not site.steps.node(disk)["spec"].get("unschedulable")


@pytest.fixture
def wrong(site: Site) -> Iterator[None]:
    """Machines that are not as the file says: gpu-10 to gpu-13."""
    expects(site.steps, "gpu-training", "gpu-12", address="127.0.0.1")
    taken = site.steps.node(BESIDE)["status"]["addresses"][0]["address"]
    expects(site.steps, "gpu-training", "gpu-11", address=taken)
    site.steps.join("gpu-10", address="10.10.0.200")
    site.steps.join("gpu-13")
    site.steps.status(f"{NODES}/gpu-13", {"capacity": {"cpu": "64"}})
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "namespace": "default"}}
    spec = {"nodeName": BESIDE, "containers": [{"name": "main", "image": "registry.example.org/any:1"}]}
    assert site.api.create({**bare, "spec": spec}, dry=False)[0] == 201
    yield
    site.api.request("DELETE", "/api/v1/namespaces/default/pods/bare?gracePeriodSeconds=0")
    for name in ("gpu-10", "gpu-13"):
        site.steps.leave(name)


@pytest.mark.usefixtures("wrong")
def test_what_preflight_refuses_is_reported_and_not_tried_again(site: Site) -> None:
    with silent() as port:
        runs = {
            "the cluster file that was synced last has no node gpu-99": site.begin("node-expansion", "gpu-99"),
            "nothing answers at 127.0.0.1: timed out": site.begin(
                "node-expansion", "gpu-12", "-p", f"answer-port={port}"
            ),
            "10.10.0.114 is the address of gpu-14 already": site.begin("node-expansion", "gpu-11"),
            "gpu-10 joined with 10.10.0.200, and the file says 10.10.0.110": site.begin("node-expansion", "gpu-10"),
            "gpu-13 is not the machine of the file: 64 of 128 hardware threads": site.begin("node-expansion", "gpu-13"),
            f"{BESIDE} has joined and takes pods already": site.begin("node-expansion", BESIDE),
            f"{BESIDE} is Ready: it is not off": site.begin("node-replacement", BESIDE, "-p", "off=yes"),
            "there is no Node gpu-09: nothing is to be replaced": site.begin("node-replacement", "gpu-09"),
            "there is no Node gpu-08": site.begin("node-removal", "gpu-08"),
            "nobody makes default/bare again: end or delete it first": site.begin("node-removal", BESIDE),
        }
        site.refused(runs)
    assert "node-expansion of gpu-99: Failed" in site.said(next(iter(runs.values())))
    assert not site.steps.node(BESIDE)["spec"].get("unschedulable")


@pytest.fixture
def gang(site: Site, machine: str) -> Iterator[str]:
    """A gang that has its pod on the machine, as Kueue lets it in, which is not here; and a budget beside it."""
    site.steps.join(machine)
    tolerations = [{"key": key, "operator": "Exists"} for key in POOL]
    container = {"name": "main", "image": "registry.example.org/any:1"}
    pod = {"nodeSelector": {"kubernetes.io/hostname": machine}, "tolerations": tolerations, "containers": [container]}
    template = {"metadata": {"annotations": {"kueue.x-k8s.io/workload": "train"}}}
    metadata = {"name": "train", "namespace": "default"}
    spec = {"template": {**template, "spec": {**pod, "restartPolicy": "Never"}}}
    site.api.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    uid = site.api.get(f"{JOBS}/train")["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": uid}
    sets = [{"name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}]
    whole = {"metadata": {**metadata, "ownerReferences": [owner]}, "spec": {"podSets": sets, "active": True}}
    site.api.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", **whole})
    site.until("it runs", lambda: _pods(site, "batch.kubernetes.io/job-name%3Dtrain"))
    yield machine
    site.api.request("DELETE", f"{JOBS}/train?propagationPolicy=Background")
    site.api.request("DELETE", f"{WORKLOADS}/train")


def _pods(site: Site, label: str) -> list[str]:
    """Return the nodes of the pods that run and have a label."""
    found = site.api.items(f"/api/v1/namespaces/default/pods?labelSelector={label}")
    return [one["spec"]["nodeName"] for one in found if one["status"].get("phase") == "Running"]


def _held(site: Site, machine: str) -> None:
    """Let a Deployment have its pod on the machine, and a budget that does not let it go."""
    site.steps.deployment("default", "held", machine, tolerates=POOL)
    site.until("it runs", lambda: _pods(site, "one%3Dheld"))
    metadata = {"name": "held", "namespace": "default"}
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"one": "held"}}}
    site.api.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget})


def _let_go(site: Site) -> None:
    site.api.request("DELETE", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/held")


def test_a_node_is_emptied_though_the_run_is_killed_while_its_gangs_and_its_pods_leave(site: Site, gang: str) -> None:
    def active() -> bool:
        return bool(site.api.get(f"{WORKLOADS}/train")["spec"]["active"])

    _held(site, gang)
    run = site.begin("node-removal", gang)
    site.until("the gang is stopped", lambda: not active())
    run = site.killed(run)
    assert _pods(site, "batch.kubernetes.io/job-name%3Dtrain") == [gang]
    site.steps.patch(f"{JOBS}/train", {"spec": {"suspend": True}})  # as Kueue does
    site.reaches(run, "evict")
    assert active(), "its pods are gone: its queue may begin it elsewhere"
    assert _pods(site, "one%3Dheld") == [gang]
    run = site.killed(run)
    _let_go(site)
    said = site.good(run)
    assert f"{gang} is empty" in said
    assert f"`kubectl delete node {gang}`" in said
    assert site.steps.node(gang)["spec"]["unschedulable"] is True
    assert _pods(site, "one%3Dheld") == []
    site.steps.undeploy("default", "held")


def test_a_machine_is_replaced_though_the_run_is_killed_while_its_pods_leave(site: Site, machine: str) -> None:
    site.steps.join(machine)
    devices(site, machine)
    former = site.steps.node(machine)["metadata"]["uid"]
    _held(site, machine)
    run = site.begin("node-replacement", machine, *MOMENTS)
    site.reaches(run, "evict")
    run = site.killed(run)
    assert _pods(site, "one%3Dheld") == [machine]
    _let_go(site)
    site.reaches(run, "join")
    assert site.api.get(f"{NODES}/{machine}") is None
    site.steps.join(machine)
    devices(site, machine)
    passes(site, "", "nccl-1-")
    assert f"{machine} is another machine now" in site.good(run)
    assert site.steps.node(machine)["metadata"]["uid"] != former
    assert not site.steps.node(machine)["spec"].get("unschedulable")
    site.steps.undeploy("default", "held")


def test_what_the_executor_may_is_used_and_nothing_is_missing(site: Site) -> None:
    """After all others. What the steps themselves may is held against all that they can do in test_twin_nodes.py."""
    found = list(asked(site.folder))
    assert [one for one in found if not one.allowed] == []
    for account in ACCOUNTS:
        assert [right for right in executor(account) if not any(map(right.covers, found))] == []


def test_no_token_is_told(site: Site) -> None:
    """After all others. The runs have no Secret."""
    assert betrayed([*stored(site.api), *written(site.folder)], ()) == []
