"""What operations on nodes refuse, one reason after the other: real scripts with the rights that are rendered, against
a real API server and its controllers; the nodes are KWOK's. What test_twin_nodes.py and test_twin_replacement.py meet
on their way is not tried again here; what disks are refused is in test_twin_disks_refused.py.
"""

import contextlib
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from burnins import BurnIns
from nodesite import control_plane
from nodesteps import NODES, OPERATIONS, Steps, cordoned, etcd, expects, silent
from playedgangs import running as gangs_running
from reference import load
from test_twin_replacement import ATTACHMENTS, NOWHERE, OUT_OF_SERVICE, attach, down, record

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.node_operations.names import NAMESPACE
from generator.components.rook_ceph import NAMESPACE as ROOK

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

GPUS, CPUS = ("gpu-11", "gpu-12", "gpu-13", "gpu-14"), ("cpu-25", "cpu-26", "cpu-27", "cpu-28")
NEW = "gpu-15"
EMPTYING = ("removal", "replacement")
"""Operations that empty a node."""
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def steps() -> Iterator[Steps]:
    with (
        tempfile.TemporaryDirectory(prefix="refusals-", ignore_cleanup_errors=True) as name,
        control_plane(load("ml50"), Path(name), *GPUS, *CPUS, "cp-1", "cp-2", "cp-3", "nas-2") as made,
    ):
        yield made


def stopped(steps: Steps, operation: str, node: str, **told: str) -> str:
    """Begin an operation that must be refused by its first step, and change nothing; what it said."""
    said = steps.refused(operation, "preflight", node, **told)
    assert not cordoned(steps, node)
    assert steps.api.get(record(f"{OPERATIONS[operation]}-{node}")) is None
    return said


def begins(steps: Steps, operation: str, node: str, **told: str) -> None:
    """Begin an operation that nothing hinders any more, and forget it."""
    steps.good(operation, "preflight", node, **told)
    steps.api.request("DELETE", record(f"{OPERATIONS[operation]}-{node}"))


def test_a_node_that_the_file_has_not_or_that_has_not_joined_is_refused(steps: Steps) -> None:
    missing = "the cluster file that was synced last has no node gpu-99, among 50"
    assert f"{missing}: take gpu-99 out of the file only after this" in steps.refused("removal", "preflight", "gpu-99")
    assert f"{missing}: a node that is not in the file" in steps.refused("replacement", "preflight", "gpu-99")
    said = steps.refused("osd_replacement", "preflight", "gpu-99", OSD="4")
    assert f"{missing}: an OSD is on a node of the file" in said
    said = steps.refused("drive_replacement", "preflight", "gpu-99", DRIVE="0")
    assert f"{missing}: a drive of MinIO is on a node of the file" in said
    assert "there is no Node gpu-09" in steps.refused("removal", "preflight", "gpu-09")
    assert "there is no Node gpu-09: nothing is to be replaced" in steps.refused("replacement", "preflight", "gpu-09")
    assert "there is no Node nas-1" in steps.refused("drive_replacement", "preflight", "nas-1", DRIVE="0")
    assert steps.api.get(record("node-replacement-gpu-09")) is None


@pytest.mark.parametrize("operation", EMPTYING)
def test_a_member_of_etcd_stays_without_which_there_is_no_majority(steps: Steps, operation: str) -> None:
    members = [etcd(steps, one, ready=one != "cp-2") for one in ("cp-1", "cp-2", "cp-3")]
    said = stopped(steps, operation, "cp-3")
    assert "without cp-3 only 1 of 3 members of etcd are there (cp-1), and 2 must agree: mend the others, or" in said
    # The one that is away may go: the others agree without it.
    begins(steps, operation, "cp-2")
    for one in members[1:]:
        steps.api.request("DELETE", f"{one}?gracePeriodSeconds=0")
        steps.api.wait("it has gone", lambda one=one: steps.api.get(one) is None)  # type: ignore[misc]
    alone = "without cp-1 only 0 of 1 members of etcd are there (), and 1 must agree: join another control-plane node"
    assert alone in stopped(steps, operation, "cp-1")
    steps.api.request("DELETE", f"{members[0]}?gracePeriodSeconds=0")


@pytest.mark.parametrize("operation", EMPTYING)
def test_pods_that_nobody_makes_again_keep_their_node(steps: Steps, operation: str) -> None:
    spec = {"nodeName": "cpu-26", "containers": [{"name": "main", "image": "registry.example.org/any:1"}]}
    for name in ("bare-1", "bare-2"):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
        assert steps.api.create(pod, dry=False)[0] == 201
    said = stopped(steps, operation, "cpu-26")
    assert "nobody makes default/bare-1, default/bare-2 again: end or delete them first" in said
    for name in ("bare-1", "bare-2"):
        steps.api.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
        steps.api.wait("it has gone", lambda name=name: steps.api.get(f"{PODS}/{name}") is None)  # type: ignore[misc]
    begins(steps, operation, "cpu-26")


@pytest.mark.parametrize("operation", EMPTYING)
def test_where_kueue_serves_another_version_nothing_is_emptied(steps: Steps, operation: str) -> None:
    with changed(steps, "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta9"):
        said = stopped(steps, operation, "gpu-12")
    assert "Kueue does not serve kueue.x-k8s.io/v1beta9, and gangs would be evicted pod by pod" in said
    begins(steps, operation, "gpu-12")


@contextlib.contextmanager
def changed(steps: Steps, words: str, by: str, script: str = "api.py") -> Iterator[None]:
    """Let a script say something else, until the block ends."""
    file = steps.folder / script
    text = file.read_text()
    assert words in text
    file.write_text(text.replace(words, by))
    yield
    file.write_text(text)


@pytest.fixture
def monitored(steps: Steps) -> Iterator[str]:
    """A node with a monitor of Ceph."""
    steps.deployment(ROOK, "rook-ceph-mon-a", "cpu-25", app="rook-ceph-mon")
    yield "cpu-25"
    steps.undeploy(ROOK, "rook-ceph-mon-a")
    steps.ceph("HEALTH_OK")
    for name in CPUS:
        steps.patch(f"{NODES}/{name}", {"spec": {"unschedulable": None}})


@pytest.mark.parametrize("operation", EMPTYING)
def test_a_monitor_stays_while_ceph_is_not_whole_or_where_it_has_no_other_place(
    steps: Steps, monitored: str, operation: str
) -> None:
    steps.ceph("HEALTH_WARN", MON_DOWN="1/3 mons down, quorum a,b")
    said = stopped(steps, operation, monitored)
    assert f"{monitored} runs a monitor of Ceph, which is not whole: MON_DOWN: 1/3 mons down, quorum a,b. Wait" in said
    steps.ceph("HEALTH_OK")
    begins(steps, operation, monitored)
    for name in CPUS[1:]:
        steps.patch(f"{NODES}/{name}", {"spec": {"unschedulable": True}})
    said = stopped(steps, operation, monitored)
    assert f"{monitored} runs a monitor of Ceph, and there is no other node that it could go to" in said


@pytest.fixture
def dead(steps: Steps) -> Iterator[str]:
    """A node whose machine lost its power, and from whose address nothing is heard."""
    node = "gpu-11"
    said = steps.api.get(record("nodes-gpu-training"))["data"][node]
    expects(steps, "gpu-training", node, address=NOWHERE)
    down(steps, node)
    with silent(NOWHERE, 10250):
        yield node
    steps.patch(record("nodes-gpu-training"), {"data": {node: said}})
    steps.api.request("DELETE", record(f"node-replacement-{node}"))
    steps.leave(node)
    steps.join(node)


def test_a_machine_that_only_holds_a_volume_is_waited_for_as_well(steps: Steps, dead: str) -> None:
    attach(steps, dead)
    assert f"{dead} is not Ready, and its pods would never end" in stopped(steps, "replacement", dead)
    steps.api.request("DELETE", f"{ATTACHMENTS}/held")
    begins(steps, "replacement", dead)


def test_whatever_answers_at_its_address_speaks_against_a_machine_s_being_off(steps: Steps, dead: str) -> None:
    off = {"OFF": "yes", "SILENT_SECONDS": "0"}
    with socket.create_server((NOWHERE, 0)) as server:
        port = str(server.getsockname()[1])
        answers = f"something answers at {NOWHERE}, port {port}: {dead} is not off, and may still write"
        assert answers in stopped(steps, "replacement", dead, ANSWER_PORT=port, **off)
        # Nobody is asked there, and kubelet's port is silent.
        for step in ("preflight", "cordon"):
            steps.good("replacement", step, dead, ANSWER_PORT="", **off)
        # Somebody may have switched it on since.
        assert answers in steps.refused("replacement", "fence", dead, ANSWER_PORT=port, **off)
    steps.refused("replacement", "fence", dead, ANSWER_PORT="", OFF="yes", SILENT_SECONDS="3600")
    assert OUT_OF_SERVICE not in [one["key"] for one in steps.node(dead)["spec"].get("taints") or ()]
    steps.good("replacement", "fence", dead, ANSWER_PORT="", **off)


@pytest.mark.parametrize("operation", EMPTYING)
def test_a_gang_whose_pods_do_not_end_is_told_and_queued_again(steps: Steps, operation: str) -> None:
    node, other = "gpu-13", "gpu-14"
    with gangs_running(steps, node, other) as found:
        pods = [pod["metadata"]["name"] for one in found for pod in one.pods()]
        for name in pods:
            steps.patch(f"{PODS}/{name}", {"metadata": {"annotations": {"twin.test/stuck": "1"}}})
        for step in ("preflight", "cordon"):
            steps.good(operation, step, node)
        said = steps.refused(operation, "gangs", node, DRAIN_SECONDS="2")
        assert "stopped, and not gone after 2 s: default/train-" in said
        assert steps.killed(operation, "report", node, STATUS="Failed") == len(found)
        for one in found:
            workload = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/{one.name}"
            assert steps.api.get(workload)["spec"]["active"], "its queue may begin it again"
    steps.api.request("DELETE", record(f"{OPERATIONS[operation]}-{node}"))
    steps.free(node)


@pytest.fixture
def new(steps: Steps) -> Iterator[str]:
    """A machine that has joined and was not accepted; the nodes of its pool are whole."""
    for name in (*GPUS[2:], NEW):
        if name == NEW:
            steps.join(name)
        steps.register(name, RBD_DRIVER, CEPHFS_DRIVER)
    for number in range(2):
        steps.disk(NEW, number)
    yield NEW
    steps.api.request("DELETE", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs?propagationPolicy=Background")
    steps.leave(NEW)


def test_a_machine_is_not_let_in_before_it_is_ready_and_was_tried(steps: Steps, new: str) -> None:
    steps.good("expansion", "join", new)
    assert "there is no pod other with a container main" in steps.refused("expansion", "burn-in", new, POD="other")
    with left_over(steps, new), changed(steps, "looks(120)", "looks(2)", "jobs.py"):
        said = steps.refused("expansion", "burn-in", new)
        assert f"burn-in-{new} does not go: `kubectl --namespace node-operations describe job burn-in-{new}`" in said
    down(steps, new)
    for operation in ("expansion", "replacement"):
        said = steps.refused(operation, "ready", new, READY_SECONDS="1")
        assert f"after 1 s {new} lacks: Ready: the network or kubelet is not. `gen status` tells more" in said
        steps.patch(f"{NODES}/{new}", {"metadata": {"labels": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}}})
        assert "GPUs called NVIDIA-A100-SXM4-80GB, not H100" in steps.refused(operation, "ready", new)
        steps.patch(f"{NODES}/{new}", {"metadata": {"labels": {"nvidia.com/gpu.product": None}}})


@contextlib.contextmanager
def left_over(steps: Steps, node: str) -> Iterator[None]:
    """Let a burn-in of a former run have ended and be held there, until the block ends."""
    job = {"name": f"burn-in-{node}", "namespace": NAMESPACE, "finalizers": ["twin.test/hold"]}
    container = {"name": "main", "image": "registry.example.org/any:1", "env": [{"name": "EXPECTED", "value": "{}"}]}
    spec = {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    steps.api.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": job, "spec": spec})
    path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/burn-in-{node}"
    failed = {"reason": "BackoffLimitExceeded", "message": "", "status": "True"}
    now = "2026-11-01T00:00:00Z"
    ends = [{**failed, "type": one, "lastTransitionTime": now} for one in ("FailureTarget", "Failed")]
    steps.status(path, {"startTime": now, "conditions": ends})
    yield
    steps.patch(path, {"metadata": {"finalizers": None}})
    steps.api.wait("it has gone", lambda: steps.api.get(path) is None)


def test_a_neighbour_that_lacks_something_or_is_promised_to_a_job_is_refused(steps: Steps, new: str) -> None:
    steps.good("expansion", "join", new)
    other = f"{NODES}/gpu-13"
    taints = steps.node("gpu-13")["spec"]["taints"]

    def refused() -> str:
        return steps.refused("expansion", "burn-in", new, NEIGHBOUR="gpu-13")

    with BurnIns(steps):
        steps.register("gpu-13", RBD_DRIVER)
        lacks = f"{CEPHFS_DRIVER}: its pod on the node has not registered"
        assert f"gpu-13 cannot be {new}'s neighbour now: it lacks {lacks}" in refused()
        steps.register("gpu-13", RBD_DRIVER, CEPHFS_DRIVER)
        steps.patch(other, {"spec": {"taints": [*taints, {"key": "example.org/sick", "effect": "NoSchedule"}]}})
        assert "it has the taint example.org/sick" in refused()
        steps.patch(other, {"spec": {"taints": taints}})
        with promised(steps, "gpu-13"):
            assert "its queue has let a job in there" in refused()


@contextlib.contextmanager
def promised(steps: Steps, node: str) -> Iterator[None]:
    """Let Kueue have let in a job for a node, which has no pod yet, until the block ends."""
    whole = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"}
    container = {"name": "main", "image": "registry.example.org/any:1"}
    sets = [{"name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}]
    steps.api.apply({**whole, "metadata": {"name": "next", "namespace": "default"}, "spec": {"podSets": sets}})
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/next"
    pods = [{"podCounts": {"universal": 1}, "domainCount": 1, "valuesPerLevel": [{"universal": node}]}]
    assigned = {
        "name": "main",
        "count": 1,
        "topologyAssignment": {"levels": ["kubernetes.io/hostname"], "slices": pods},
    }
    admitted = {"type": "Admitted", "status": "True", "reason": "Played", "message": ""}
    steps.status(path, {
        "admission": {"clusterQueue": "any", "podSetAssignments": [assigned]},
        "conditions": [{**admitted, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    })  # fmt: skip
    yield
    steps.api.request("DELETE", path)
