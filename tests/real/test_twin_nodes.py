"""Operations on nodes, step by step: real scripts with the rights that are rendered, against a real API server,
scheduler, Kueue and Volcano; the nodes are KWOK's.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cephplayed import IMAGE, Ceph, Osd, answering
from nodesite import audited, told_tokens, unused
from nodesteps import NODES, Steps, cordoned, etcd, expects, notes, silent
from playedgangs import KINDS
from playedgangs import running as gangs_running
from reference import ROOT, load
from test_twin_replacement import osds, record

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.node_operations.names import EXPANSION, NAMESPACE, REMOVAL
from generator.components.rook_ceph import NAMESPACE as ROOK

if TYPE_CHECKING:
    import subprocess

    from twin.nodes import Object

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

GPU, RDMA = "nvidia.com/gpu", "rdma/hca_shared_devices_a"
NEW = "gpu-15"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
JOB = f"{JOBS}/burn-in-{NEW}"
POOL = ("nvidia.com/gpu", "gen.internal/inference")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write down what the steps ask of the API server."""
    with audited(tmp_path_factory.mktemp("audit")) as file:
        yield file


@pytest.fixture(scope="module")
def steps(log: Path) -> Iterator[Steps]:
    from twin.fixtures import twin_of

    assert log.is_dir()
    cluster = load("ml50")
    with (
        tempfile.TemporaryDirectory(prefix="nodes-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        (folder / "scripts").mkdir()
        twin = stack.enter_context(twin_of(ROOT, "ml50", folder, definitions=KINDS))
        made = Steps(twin, folder / "scripts")
        made.install(cluster)
        made.ceph("HEALTH_OK")
        for one in ("gpu-13", "gpu-14"):
            made.register(one, RBD_DRIVER, CEPHFS_DRIVER)
        yield made


@pytest.fixture
def new(steps: Steps) -> Iterator[str]:
    """A machine that has not joined yet; what stands when it ends is a node like the others."""
    steps.leave(NEW)
    yield NEW
    for one in left(steps):
        steps.api.request("DELETE", f"{JOBS}/{one}?propagationPolicy=Background")
    steps.api.wait("the jobs have gone", lambda: left(steps) == [])
    if steps.api.get(f"{NODES}/{NEW}"):
        steps.leave(NEW)
    steps.join(NEW)


def left(steps: Steps) -> list[str]:
    """Return the Jobs of burn-ins that are there."""
    return [one["metadata"]["name"] for one in steps.api.items(JOBS)]


def ended(process: "subprocess.Popen[str]") -> str:
    said, _ = process.communicate(timeout=240)
    assert process.returncode == 0, said
    return str(said)


def finish(steps: Steps, mark: str, *of: str) -> list[str]:
    """Let the pods of burn-ins end, which need no node that is real: of all Jobs in turn, or of these; the nodes that
    they were on.
    """
    seen = []
    for job in of or ("", "nccl-1-", "nccl-2-"):
        pods = running(steps, f"burn-in-{job}{NEW}", 2 if job == "nccl-2-" else 1)
        limits = [pod["spec"]["containers"][0]["resources"]["limits"] for pod in pods]
        assert {(one[GPU], one[RDMA]) for one in limits} == {("8", "1")}
        seen += [pod["spec"]["nodeName"] for pod in pods]
        assert NEW in seen[-len(pods) :]
        for pod in pods:
            at = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}"
            steps.patch(at, {"metadata": {"annotations": {mark: "1"}}})
    return seen


def running(steps: Steps, job: str, count: int) -> list[dict[str, Any]]:
    """Return the pods of a Job when all of them run."""
    at = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=batch.kubernetes.io/job-name%3D{job}"
    found: list[dict[str, Any]] = []

    def all_run() -> bool:
        found[:] = [one for one in steps.api.items(at) if one["status"].get("phase") == "Running"]
        return len(found) == count

    steps.api.wait(f"{job} runs", all_run)
    return found


def test_a_new_node_is_taken_in(steps: Steps, new: str) -> None:
    said = steps.good("expansion", "preflight", new)
    assert f"{new} has not joined yet" in said
    assert "to be plugged in: mlx5_0 into ib-leaf-" in said
    joining = steps.begin("expansion", "join", new)
    steps.join(
        new,
        without=[GPU, RDMA, "topology.rook.io/rack"],
        taints=[{"key": GPU, "value": "present", "effect": "NoSchedule"}],
    )
    assert f"{new} takes no pods now" in ended(joining)
    assert cordoned(steps, new)
    said = steps.good("expansion", "marks", new)
    assert "topology.rook.io/rack" in said
    assert "gen.internal/inference" in said
    assert steps.node(new)["metadata"]["labels"]["topology.rook.io/rack"] == "r3"
    taints = {*POOL, "node.kubernetes.io/unschedulable"}  # the last one by Kubernetes, a moment after the cordon
    steps.api.wait("it has its taints", lambda: taints <= {one["key"] for one in steps.node(new)["spec"]["taints"]})
    assert "has its labels, taints" in steps.good("expansion", "marks", new)
    lacking = steps.refused("expansion", "ready", new, READY_SECONDS="1")
    assert f"{GPU}: 0 of 8" in lacking
    assert f"{RBD_DRIVER}: its pod" in lacking
    steps.status(f"{NODES}/{new}", {"capacity": {GPU: "8", RDMA: "63"}, "allocatable": {GPU: "8", RDMA: "63"}})
    steps.register(new, RBD_DRIVER, CEPHFS_DRIVER)
    steps.good("expansion", "ready", new)
    for number in range(2):
        steps.disk(new, number)
    trying = steps.begin("expansion", "burn-in", new)
    assert finish(steps, "twin.test/complete")[:2] == [new, new]
    assert f"the neighbour of {new} is gpu-13, which nobody uses" in ended(trying)
    assert left(steps) == [], "their pods would hold the scratch disks"
    assert "takes pods of pool gpu-inference" in steps.good("expansion", "accept", new)
    assert not cordoned(steps, new)
    assert "Ceph gets no disks of" in steps.good("expansion", "storage", new)
    report = steps.good("expansion", "report", new)
    assert "was accepted at" in report
    assert "of no team" not in report
    for step in ("preflight", "join", "marks", "ready", "burn-in", "accept", "storage"):
        steps.good("expansion", step, new)
    assert not cordoned(steps, new), "a second run cordons nothing that was accepted"


def test_what_no_team_owns_of_a_pool_is_told_with_the_command_that_gives_it(steps: Steps, new: str) -> None:
    steps.join(new)
    steps.patch(f"{NODES}/{new}", {"metadata": {"annotations": {"gen.internal/accepted": "2026-11-20T00:00:00Z"}}})
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/nodes-gpu-inference"
    said = steps.api.get(path)["data"]["_pool"]
    steps.patch(path, {"data": {"_pool": said.replace('"unowned": {}', f'"unowned": {{"{GPU}": 8}}')}})
    report = steps.good("expansion", "report", new)
    steps.patch(path, {"data": {"_pool": said}})
    assert f"of no team in pool gpu-inference: 8 {GPU}" in report
    assert "`gen pool quota gpu-inference TEAM=8 --cluster ml50`, `gen render --cluster ml50`, `gen commit`" in report


def test_what_hinders_a_node_is_told_before_it_joins(steps: Steps, new: str) -> None:
    assert "no node gpu-99, among 50: `gen node add gpu-99" in steps.refused("expansion", "preflight", "gpu-99")
    steps.join(new, address="10.10.0.200")
    assert "joined with 10.10.0.200, and the file says 10.10.0.115" in steps.refused("expansion", "preflight", new)
    steps.leave(new)
    other = steps.node("gpu-14")["status"]["addresses"]
    taken = [{**other[0], "address": "10.10.0.115"}, *other[1:]]
    steps.status(f"{NODES}/gpu-14", {"addresses": taken})
    assert "10.10.0.115 is the address of gpu-14 already" in steps.refused("expansion", "preflight", new)
    steps.status(f"{NODES}/gpu-14", {"addresses": other})
    steps.join(new)
    assert "has joined and takes pods already" in steps.refused("expansion", "preflight", new)
    assert not cordoned(steps, new)


def test_a_machine_that_is_less_than_the_file_says_is_told(steps: Steps, new: str) -> None:
    steps.join(new)
    steps.good("expansion", "join", new)
    steps.status(f"{NODES}/{new}", {"capacity": {"cpu": "64", "memory": "990Gi"}})
    said = steps.refused("expansion", "preflight", new)
    assert f"{new} is not the machine of the file: 64 of 128 hardware threads. Mend it" in said
    steps.status(f"{NODES}/{new}", {"capacity": {"cpu": "128", "memory": "960Gi"}})
    steps.patch(f"{NODES}/{new}", {"metadata": {"labels": {f"{GPU}.product": "NVIDIA-A100-SXM4-80GB"}}})
    said = steps.refused("expansion", "ready", new)
    assert "960 of 1024 GiB of memory; GPUs called NVIDIA-A100-SXM4-80GB, not H100" in said


def test_only_a_node_that_is_whole_and_free_is_a_neighbour(steps: Steps, new: str) -> None:
    others = ("gpu-13", "gpu-14")
    steps.join(new)
    steps.good("expansion", "join", new)
    steps.twin.cordon("gpu-13")
    held = {GPU: "1"}
    job = {"metadata": {"name": "held", "namespace": "default"}, "spec": {"nodeName": "gpu-14", "containers": [
        {"name": "main", "image": "registry.example.org/any:1", "resources": {"limits": held}},
    ]}}  # fmt: skip
    assert steps.api.create({"apiVersion": "v1", "kind": "Pod", **job}, dry=False)[0] == 201
    for number in range(2):
        steps.disk(new, number)
    whys = ("it is cordoned", "held uses its devices")
    for other, why in zip((*others, "cpu-27"), (*whys, "it is no other node of pool gpu-inference"), strict=True):
        trying = steps.begin("expansion", "burn-in", new, NEIGHBOUR=other)
        if other == others[0]:
            finish(steps, "twin.test/complete", "", "nccl-1-")
        said, _ = trying.communicate(timeout=240)
        assert (trying.returncode, f"{other} cannot be {new}'s neighbour now: {why}" in said) == (2, True), said
    said = steps.good("expansion", "burn-in", new)
    assert "a neighbour is not tried: no other node of pool gpu-inference is whole and free" in said
    steps.api.request("DELETE", "/api/v1/namespaces/default/pods/held?gracePeriodSeconds=0")
    steps.twin.cordon()


@pytest.fixture
def here(steps: Steps, new: str) -> Iterator[str]:
    """The new machine, of which the file says that it has this machine's own address."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/nodes-gpu-inference"
    said = steps.api.get(path)["data"][new]
    steps.patch(path, {"data": {new: said.replace("10.10.0.115", "127.0.0.1")}})
    yield new
    steps.patch(path, {"data": {new: said}})


def test_a_machine_that_answers_nothing_is_told(steps: Steps, here: str) -> None:
    steps.good("expansion", "preflight", here, ANSWER_PORT="9")
    with silent() as port:
        said = steps.refused("expansion", "preflight", here, ANSWER_PORT=port)
    assert "nothing answers at 127.0.0.1: timed out" in said


def test_a_node_that_does_not_join_is_told(steps: Steps, new: str) -> None:
    said = steps.refused("expansion", "join", new, JOIN_SECONDS="1")
    assert 'join it by clusters/ml50/bootstrap/README.md, "All other nodes"' in said
    assert "it has not joined: nothing was changed" in steps.good("expansion", "report", new, STATUS="Failed")


def test_a_node_whose_devices_are_sick_stays_out_until_it_is_mended(steps: Steps, new: str) -> None:
    steps.join(new)
    steps.good("expansion", "join", new)
    for number in range(2):
        steps.disk(new, number)
    trying = steps.begin("expansion", "burn-in", new)
    finish(steps, "twin.test/fail", "")
    said, _ = trying.communicate(timeout=240)
    assert (trying.returncode, "did not pass" in said) == (2, True), said
    report = steps.good("expansion", "report", new, STATUS="Failed")
    assert "is cordoned: no job starts there. After mending: `gen workflow retry node-expansion-x7k2p`" in report
    first = steps.api.get(JOB)["metadata"]["uid"]
    again = steps.begin("expansion", "burn-in", new)
    steps.api.wait(
        "another job", lambda: (steps.api.get(JOB) or {"metadata": {"uid": first}})["metadata"]["uid"] != first
    )
    for number in range(2):
        steps.disk(new, number)
    finish(steps, "twin.test/complete")
    ended(again)
    steps.good("expansion", "accept", new)


def test_a_step_that_was_killed_is_gone_on_with(steps: Steps, new: str) -> None:
    steps.join(new)
    steps.good("expansion", "join", new)
    for number in range(2):
        steps.disk(new, number)
    killed = steps.begin("expansion", "burn-in", new)
    steps.api.wait("the job is there", lambda: steps.api.get(JOB) is not None)
    killed.kill()
    killed.communicate()
    again = steps.begin("expansion", "burn-in", new)
    finish(steps, "twin.test/complete")
    assert f"burn-in-{new} begins" not in ended(again), "the devices are tried once"
    assert "were tried at" in steps.good("expansion", "burn-in", new)


def test_what_another_run_found_is_found_again(steps: Steps, new: str) -> None:
    """Somebody may have changed a part of the machine since: a Job that ended well counts in its own run alone."""
    steps.join(new)
    steps.good("expansion", "join", new)
    for number in range(2):
        steps.disk(new, number)
    killed = steps.begin("expansion", "burn-in", new)
    running(steps, f"burn-in-{new}", 1)
    killed.kill()
    killed.communicate()
    finish(steps, "twin.test/complete", "")
    steps.api.wait("it was good", lambda: steps.api.get(JOB)["status"].get("succeeded"))
    first = steps.api.get(JOB)["metadata"]["uid"]
    again = steps.begin("expansion", "burn-in", new, RUN_UID="another")
    steps.api.wait(
        "another one", lambda: (steps.api.get(JOB) or {"metadata": {"uid": first}})["metadata"]["uid"] != first
    )
    for number in range(2):
        steps.disk(new, number)
    finish(steps, "twin.test/complete")
    ended(again)


def taken_in(steps: Steps, new: str, do: Callable[[str], object]) -> "Object":
    """Take a machine in; what its Node then bears, but for times."""
    do("preflight")
    steps.join(new, without=["topology.rook.io/rack"])
    steps.register(new, RBD_DRIVER, CEPHFS_DRIVER)
    for number in range(2):
        steps.disk(new, number)
    for step in ("join", "marks", "ready"):
        do(step)
    with ThreadPoolExecutor(1) as pool:
        trying = pool.submit(do, "burn-in")
        finish(steps, "twin.test/complete")
        trying.result()
    for step in ("accept", "storage"):
        do(step)
    gone = {"node.kubernetes.io/unschedulable"}  # Kubernetes takes it away a moment after the cordon
    steps.api.wait("pods go there", lambda: not gone & {one["key"] for one in steps.node(new)["spec"]["taints"]})
    node = steps.node(new)
    times = ("gen.internal/accepted", "gen.internal/burned-in")
    said = {key: "" if key in times else value for key, value in notes(steps, new).items()}
    return {"annotations": said, "labels": node["metadata"]["labels"], "spec": node["spec"]}


def test_an_expansion_that_is_killed_after_each_change_ends_as_one_that_is_not(steps: Steps, new: str) -> None:
    killed = dict[str, int]()
    often = taken_in(steps, new, lambda step: killed.update({step: steps.killed("expansion", step, new)}))
    # Three Jobs made, the result written, the Jobs removed.
    changes = {"join": 1, "marks": 1, "burn-in": 7, "accept": 1}
    assert killed == {"preflight": 0, "ready": 0, "storage": 0, **changes}
    assert left(steps) == [], "their pods would hold the scratch disks"
    assert not cordoned(steps, new)
    steps.leave(new)
    assert often == taken_in(steps, new, lambda step: steps.good("expansion", step, new))


def test_who_cordoned_a_node_lets_pods_in_again(steps: Steps, new: str) -> None:
    steps.join(new)
    steps.patch(f"{NODES}/{new}", {"spec": {"unschedulable": True}})
    steps.good("expansion", "preflight", new)
    assert "was cordoned by somebody else" in steps.good("expansion", "join", new)
    assert f"`kubectl uncordon {new}`" in steps.good("expansion", "accept", new)
    assert cordoned(steps, new)


def test_ceph_gets_a_host_only_when_it_is_whole_and_until_it_is_again(steps: Steps) -> None:
    host = "cpu-28"
    late = {"PG_NOT_SCRUBBED": "9 pgs not scrubbed in time", "RECENT_CRASH": "1 daemons have recently crashed"}
    steps.ceph("HEALTH_WARN", **late, PG_DEGRADED="Degraded data redundancy: 7 pgs undersized")
    said = steps.refused("expansion", "accept", host, STORAGE_SECONDS="1")
    assert "before it gets another host: PG_DEGRADED: Degraded data redundancy: 7 pgs undersized. `gen status`" in said
    # What stands for days, and hinders nothing.
    steps.ceph("HEALTH_WARN", **late)
    steps.good("expansion", "accept", host)
    steps.ceph("HEALTH_OK")
    for number in range(11):
        labels = {"ceph-osd-id": str(number)}
        steps.deployment(ROOK, f"rook-ceph-osd-{number}", host, app="rook-ceph-osd", labels=labels)
    osds = f"/apis/apps/v1/namespaces/{ROOK}/deployments?labelSelector=app%3Drook-ceph-osd"
    steps.api.wait("they run", lambda: all(one["status"].get("readyReplicas") for one in steps.api.items(osds)))
    said = steps.refused("expansion", "storage", host, STORAGE_SECONDS="1")
    assert "11 of 12 OSDs run on cpu-28" in said
    assert "rook-ceph-osd-prepare-cpu-28" in said
    steps.deployment(ROOK, "rook-ceph-osd-11", host, app="rook-ceph-osd", labels={"ceph-osd-id": "11"})
    assert "12 OSDs run on cpu-28" in steps.good("expansion", "storage", host)
    metadata = {"name": "rook-ceph-default", "namespace": ROOK}
    steps.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    steps.deployment(ROOK, "rook-ceph-operator", app="rook-ceph-operator", image=IMAGE)
    with answering(steps, Ceph({number: Osd("aaa", host) for number in range(12)}, size=5)):
        refused = steps.refused("removal", "preflight", host)
    assert "cpu-28 holds 12 OSDs (rook-ceph-osd-0, rook-ceph-osd-1, rook-ceph-osd-10, ...): take them out by" in refused
    assert "see to this before you take any out: pool nvme needs 5 of type host for its 5 copies or chunks" in refused
    steps.undeploy(ROOK, "rook-ceph-operator")
    steps.undeploy(ROOK, *(f"rook-ceph-osd-{number}" for number in range(12)))


@pytest.fixture
def disks(steps: Steps) -> Iterator[str]:
    """A node with two OSDs, and Rook's operator."""
    node, metadata = "cpu-26", {"name": "rook-ceph-default", "namespace": ROOK}
    said = steps.api.get(record("nodes-cpu"))["data"][node]
    expects(steps, "cpu", node, osds=2)
    steps.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    steps.deployment(ROOK, "rook-ceph-operator", app="rook-ceph-operator", image=IMAGE)
    osds(steps, node, 3, 7)
    yield node
    steps.undeploy(ROOK, "rook-ceph-operator", *(f"rook-ceph-osd-{number}" for number in (3, 7, 9)))
    steps.patch(record("nodes-cpu"), {"data": {node: said}})
    steps.free(node)


def test_disks_of_ceph_leave_with_their_node_though_killed_after_each_change(steps: Steps, disks: str) -> None:
    here = {3: Osd("aaa", disks, groups=24), 7: Osd("bbb", disks, groups=9), 8: Osd("ccc", "cpu-28", groups=30)}
    out = {"OSDS": "out"}
    with answering(steps, Ceph(here, stuck=True, size=6)) as ceph:
        short = "pool nvme needs 6 of type host for its 6 copies or chunks, and 5 with OSDs that run would be left"
        assert short in steps.refused("removal", "preflight", disks, **out)
        ceph.size = 3
        steps.ceph("HEALTH_WARN", OSD_NEARFULL="2 nearfull osd(s)")
        said = steps.refused("removal", "preflight", disks, **out)
        steps.ceph("HEALTH_OK")
        assert f"no room for what the OSDs of {disks} hold: OSD_NEARFULL: 2 nearfull osd(s)" in said
        assert "take them out by -p osds=out" in steps.refused("removal", "preflight", disks)
        assert "no OSD is taken out" in steps.good("removal", "osds", disks)
        assert "and take its OSDs out of Ceph" in steps.good("removal", "preflight", disks, **out)
        said = steps.refused("removal", "osds", disks, OSD_SECONDS="1", **out)
        assert "after 1 s OSD 3 holds data; OSD 7 holds data: nothing was destroyed" in said
        report = steps.good("removal", "report", disks, STATUS="Failed", **out)
        assert "`ceph osd in 3 7` and `kubectl --namespace node-operations delete configmap node-removal-" in report
        ceph.stuck = False
        ceph.osds[9] = Osd("ddd", disks, groups=5)
        osds(steps, disks, 9)  # Rook makes none on a node that is cordoned
        for step in ("cordon", "gangs"):
            steps.good("removal", step, disks, **out)
        assert steps.killed("removal", "osds", disks, **out) == 5, "what came since; three daemons; the note"
        assert set(ceph.osds) == {8}
        assert "no OSD of Ceph is on" in steps.good("removal", "osds", disks, **out)
        assert not [one for one in ceph.asked if one.startswith(("out 8", "purge osd.8"))]
    assert steps.api.get(record(f"node-removal-{disks}")) is None
    for step in ("evict", "monitors"):
        steps.good("removal", step, disks, **out)
    assert f"`ceph osd crush rm {disks}`" in steps.good("removal", "report", disks, **out)


@pytest.fixture
def gang(steps: Steps) -> Iterator[list[str]]:
    """A gang of two nodes, which has a third one to go to."""
    names = steps.twin.leave("gpu-training", 3)
    steps.twin.member("vision").prepare("train", pods=2)
    yield names
    steps.twin.clean()
    for name in names:
        steps.free(name)


def test_a_gang_leaves_a_node_whole_and_runs_elsewhere(steps: Steps, gang: list[str]) -> None:
    vision = steps.twin.member("vision")
    node = min(vision.nodes("train"))
    former = {pod["metadata"]["uid"] for pod in vision.pods("train")}
    assert "would stop and queue again: Job train of vision" in steps.good("removal", "preflight", node)
    assert vision.running("train") == 2
    steps.good("removal", "cordon", node)
    said = steps.good("removal", "gangs", node)
    assert "stopping Job train of vision" in said
    assert "is in its queue again" in said
    vision.runs("train", 2)
    assert not former & {pod["metadata"]["uid"] for pod in vision.pods("train")}, "a pod of the former gang was left"
    assert vision.nodes("train") == {*gang} - {node}
    assert not steps.api.get("/apis/batch/v1/namespaces/vision/jobs/train")["status"].get("failed")
    assert f"{node} is empty" in steps.good("removal", "evict", node)
    steps.good("removal", "monitors", node)
    report = steps.good("removal", "report", node)
    assert f"`kubectl delete node {node}`, `gen node remove {node}`" in report
    assert cordoned(steps, node)


def test_gangs_are_found_by_what_operators_make_of_jobs(steps: Steps) -> None:
    with gangs_running(steps, "gpu-11", "gpu-12") as found:
        assert {name for one in found for name in one.runs_on()} == {"gpu-11", "gpu-12"}
        said = steps.good("removal", "preflight", "gpu-11")
        for one in found:
            assert f"would stop and queue again: {one.kind} {one.name} of default, all its pods on all nodes" in said


def test_a_gang_may_end_by_itself_first(steps: Steps, gang: list[str]) -> None:
    assert gang
    vision = steps.twin.member("vision")
    node = min(vision.nodes("train"))
    steps.good("removal", "cordon", node)
    waiting = steps.begin("removal", "gangs", node, GANG_SECONDS="120")
    assert "waiting for the end of Job train" in waiting.line()
    vision.complete("train")
    assert "stopping" not in ended(waiting)


def test_a_run_that_was_killed_leaves_no_gang_stopped(steps: Steps, gang: list[str]) -> None:
    """Killed between stopping a gang and queueing it again: a pod that does not end keeps it there."""
    assert gang
    vision = steps.twin.member("vision")
    pod = vision.pods("train")[0]
    at = f"/api/v1/namespaces/vision/pods/{pod['metadata']['name']}"
    node = pod["spec"]["nodeName"]
    steps.good("removal", "cordon", node)
    steps.patch(at, {"metadata": {"finalizers": [*pod["metadata"].get("finalizers", []), "twin.test/hold"]}})
    stopping = steps.begin("removal", "gangs", node)
    steps.api.wait("it is stopped", lambda: vision.workload("train")["spec"].get("active") is False)  # type: ignore[index]
    stopping.kill()
    stopping.communicate()
    report = steps.good("removal", "report", node, STATUS="Failed")
    assert "is in its queue again" in report
    assert "go on with `gen workflow retry node-removal-x7k2p`" in report
    assert vision.workload("train")["spec"]["active"] is True  # type: ignore[index]
    with contextlib.suppress(AssertionError):
        steps.patch(at, {"metadata": {"finalizers": None}})
    steps.good("removal", "gangs", node)
    vision.runs("train", 2)
    assert node not in vision.nodes("train")


def test_a_removal_that_is_killed_after_each_change_goes_on(steps: Steps, gang: list[str]) -> None:
    vision = steps.twin.member("vision")
    node = min(vision.nodes("train"))
    tried = {"gen.internal/accepted": "2026-11-20T00:00:00Z"}
    steps.patch(f"{NODES}/{node}", {"metadata": {"annotations": tried}})
    steps.deployment("default", "service", node, tolerates=(GPU, "gen.internal/training"))
    service = "/api/v1/namespaces/default/pods?labelSelector=one%3Dservice"
    steps.api.wait("it runs", lambda: [one["status"].get("phase") for one in steps.api.items(service)] == ["Running"])
    killed = {
        step: steps.killed("removal", step, node)
        for step in ("preflight", "cordon", "gangs", "osds", "evict", "monitors")
    }
    assert killed == {"preflight": 0, "cordon": 1, "gangs": 2, "osds": 0, "evict": 1, "monitors": 0}
    vision.runs("train", 2)
    assert vision.nodes("train") == {*gang} - {node}
    assert "gen.internal/accepted" not in notes(steps, node)
    assert cordoned(steps, node)
    steps.undeploy("default", "service")


def test_what_a_budget_keeps_is_told_and_left(steps: Steps) -> None:
    node = "cpu-27"
    steps.deployment("default", "kept", node)
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"one": "kept"}}}
    metadata = {"name": "keep-it", "namespace": "default"}
    steps.api.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget})
    at = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/keep-it"
    pods = "/api/v1/namespaces/default/pods?labelSelector=one%3Dkept"
    steps.api.wait("it runs", lambda: [one["status"].get("phase") for one in steps.api.items(pods)] == ["Running"])
    steps.api.wait("the budget has counted", lambda: steps.api.get(at).get("status", {}).get("currentHealthy") == 1)
    steps.good("removal", "cordon", node)
    said = steps.refused("removal", "evict", node, DRAIN_SECONDS="2")
    assert "default/kept-" in said
    assert "disruption budget keep-it needs 1 healthy pods and has 1 currently" in said
    assert len(steps.api.items(pods)) == 1
    report = steps.good("removal", "report", node, STATUS="Failed")
    assert "is cordoned by this operation" in report
    assert f"`kubectl uncordon {node}`" in report
    steps.api.request("DELETE", at)
    steps.good("removal", "evict", node)
    steps.undeploy("default", "kept")
    steps.patch(f"{NODES}/{node}", {"spec": {"unschedulable": None}})


def test_a_control_plane_node_goes_only_while_the_others_are_a_majority(steps: Steps) -> None:
    places = [etcd(steps, one, ready=True) for one in ("cp-1", "cp-2", "cp-3")]
    assert "would evict" in steps.good("removal", "preflight", "cp-3")
    etcd(steps, "cp-2", ready=False)
    said = steps.refused("removal", "preflight", "cp-3")
    assert "without cp-3 only 1 of 3 members of etcd are there (cp-1), and 2 must agree" in said
    assert not cordoned(steps, "cp-3")
    for one in places:
        steps.api.request("DELETE", f"{one}?gracePeriodSeconds=0")


def test_what_cannot_go_is_refused_and_nothing_is_changed(steps: Steps) -> None:
    assert "`gen node replace nas-2 NEW`" in steps.refused("removal", "preflight", "nas-2")
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "namespace": "default"}}
    spec = {"nodeName": "cpu-26", "containers": [{"name": "main", "image": "registry.example.org/any:1"}]}
    assert steps.api.create({**bare, "spec": spec}, dry=False)[0] == 201
    assert "nobody makes default/bare again" in steps.refused("removal", "preflight", "cpu-26")
    steps.api.request("DELETE", "/api/v1/namespaces/default/pods/bare?gracePeriodSeconds=0")
    assert not cordoned(steps, "nas-2")
    assert not cordoned(steps, "cpu-26")


def test_a_node_that_a_person_cordoned_is_another_machine_when_it_comes_back(steps: Steps) -> None:
    node = "gpu-10"
    tried = {"gen.internal/accepted": "2026-11-20T00:00:00Z", "gen.internal/burned-in": "2026-11-20T00:00:00Z"}
    steps.patch(f"{NODES}/{node}", {"metadata": {"annotations": tried}, "spec": {"unschedulable": True}})
    assert "was cordoned by somebody else" in steps.good("removal", "cordon", node)
    assert not tried.keys() & notes(steps, node).keys()
    steps.twin.cordon()


def test_where_kueue_serves_another_version_nothing_is_emptied(steps: Steps) -> None:
    # What the steps ask of Kueue is asked of a version that the real API server does not serve.
    script = steps.folder / "api.py"
    text = script.read_text()
    script.write_text(text.replace("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta9"))
    said = steps.refused("removal", "preflight", "gpu-10")
    script.write_text(text)
    assert "Kueue does not serve kueue.x-k8s.io/v1beta9, and gangs would be evicted pod by pod" in said


def test_the_last_place_of_a_monitor_does_not_go(steps: Steps) -> None:
    node = "cpu-25"
    steps.deployment(ROOK, "rook-ceph-mon-a", node, app="rook-ceph-mon")
    steps.ceph("HEALTH_ERR")
    assert "runs a monitor of Ceph, which is not whole: HEALTH_ERR" in steps.refused("removal", "preflight", node)
    steps.ceph("HEALTH_OK")
    steps.good("removal", "preflight", node)
    others = [name for name in steps.twin.pool("cpu") if name != node]
    steps.twin.cordon(*others)
    assert "there is no other node that it could go to" in steps.refused("removal", "preflight", node)
    steps.twin.cordon()
    assert "rook-ceph-mon-a is still pinned to cpu-25" in steps.refused(
        "removal", "monitors", node, STORAGE_SECONDS="1"
    )
    steps.undeploy(ROOK, "rook-ceph-mon-a")
    assert "no monitor of Ceph is on cpu-25" in steps.good("removal", "monitors", node)


def test_no_right_is_unused_and_none_is_missing(steps: Steps, log: Path) -> None:
    """After all others."""
    assert unused(steps, log, EXPANSION, REMOVAL) == set()


def test_no_token_is_told(steps: Steps, log: Path) -> None:
    """After all others."""
    assert told_tokens(steps, log) == []


def test_a_step_may_not_touch_what_is_not_in_the_file(steps: Steps) -> None:
    steps.api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "stranger"}})
    for name in ("node-expansion", "node-removal"):
        who = (f"system:serviceaccount:{NAMESPACE}:{name}", ("system:serviceaccounts", "system:authenticated"))
        ask = partial(steps.api.request, by=who)
        assert ask("PATCH", f"{NODES}/stranger", {"spec": {"unschedulable": True}}, patch="merge-patch+json")[0] == 403
        assert ask("PATCH", f"{NODES}/gpu-01", {"metadata": {}}, patch="merge-patch+json")[0] == 200
        assert ask("DELETE", f"{NODES}/gpu-01")[0] == 403
        assert ask("GET", "/api/v1/secrets")[0] == 403
    steps.leave("stranger")
