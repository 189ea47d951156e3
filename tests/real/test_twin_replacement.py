"""Machines and disks changed, step by step: real scripts with the rights that are rendered, against a real API server
and its controllers; the nodes are KWOK's. Ceph is played (cephplayed.py).
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from burnins import BurnIns
from cephplayed import IMAGE, Ceph, Osd, answering
from minioplayed import Minio, minio_answering
from nodesite import audited, control_plane, told_tokens, unused
from nodesteps import NODES, Steps, cordoned, etcd, expects, silent
from playedgangs import gangs
from reference import load

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.node_operations.names import NAMESPACE, OSD_REPLACEMENT, REPLACEMENT
from generator.components.rook_ceph import NAMESPACE as ROOK

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

GPU = "nvidia.com/gpu"
TRAINING = (GPU, "gen.internal/training")
"""Taints of a pool."""
LEAVING = ("preflight", "cordon", "fence", "gangs", "osds", "evict", "monitors", "forget")
COMING = ("join", "marks", "ready", "burn-in", "accept", "storage", "report")
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
NOWHERE = "127.210.250.11"
"""An address at which nothing answers at kubelet's port, as long as a test sees to that."""
SERVERS = "/api/v1/namespaces/minio/pods"
OTHER = "docker.io/rook/ceph:v1.20.7"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"


NAMES = (
    "gpu-11",
    "gpu-12",
    "gpu-13",
    "gpu-14",
    "cp-1",
    "cp-2",
    "cp-3",
    "nas-2",
    "cpu-25",
    "cpu-26",
    "cpu-27",
    "cpu-28",
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with audited(tmp_path_factory.mktemp("audit")) as file:
        yield file


@pytest.fixture(scope="module")
def steps(log: Path) -> Iterator[Steps]:
    assert log.is_dir()
    with (
        tempfile.TemporaryDirectory(prefix="nodes-", ignore_cleanup_errors=True) as name,
        control_plane(load("ml50"), Path(name), *NAMES) as made,
    ):
        yield made


def record(name: str) -> str:
    return f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}"


def ran(steps: Steps, name: str) -> None:
    at = f"/api/v1/namespaces/default/pods?labelSelector=one%3D{name}"
    steps.api.wait(f"{name} runs", lambda: [one["status"].get("phase") for one in steps.api.items(at)] == ["Running"])


@pytest.fixture(scope="module")
def operator(steps: Steps) -> Steps:
    """Rook's operator, of which the Jobs take the image, and the account that they run as."""
    metadata = {"name": "rook-ceph-default", "namespace": ROOK}
    steps.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    steps.deployment(ROOK, "rook-ceph-operator", app="rook-ceph-operator", image=IMAGE)
    return steps


def osds(steps: Steps, node: str, *numbers: int) -> None:
    """Let Rook run OSDs on a node."""
    for number in numbers:
        labels = {"ceph-osd-id": str(number)}
        steps.deployment(ROOK, f"rook-ceph-osd-{number}", node, app="rook-ceph-osd", labels=labels, tolerates=TRAINING)
    at = f"/apis/apps/v1/namespaces/{ROOK}/deployments/rook-ceph-osd-{numbers[-1]}"
    steps.api.wait("they run", lambda: steps.api.get(at).get("status", {}).get("readyReplicas"))


def comes(steps: Steps, node: str) -> None:
    """Take the new machine in: it is there, with what the file says of it."""
    steps.join(node)
    steps.register(node, RBD_DRIVER, CEPHFS_DRIVER)
    for step in ("join", "marks", "ready", "accept"):
        steps.good("replacement", step, node)


def test_a_machine_that_runs_is_changed_though_killed_after_each_change(steps: Steps) -> None:
    node = "gpu-14"
    former = steps.node(node)["metadata"]["uid"]
    steps.deployment("default", "service", node, tolerates=(GPU, "gen.internal/inference"))
    ran(steps, "service")
    with gangs(steps, "gpu-13", node) as found:
        killed = {step: steps.killed("replacement", step, node) for step in LEAVING}
        # Each gang is stopped, and queued again.
        changes = {"preflight": 1, "cordon": 1, "gangs": 4, "evict": 1, "forget": 1}
        assert killed == dict.fromkeys(LEAVING, 0) | changes
        assert steps.api.get(f"{NODES}/{node}") is None
        for one in found:
            steps.api.wait("it runs elsewhere", one.whole)
        killed = arrives(steps, node)
        # Two Jobs made, the result written, both removed.
        changes = {"join": 1, "marks": 0, "ready": 0, "burn-in": 5, "accept": 1, "storage": 0, "report": 1}
        assert killed == changes
    assert steps.node(node)["metadata"]["uid"] != former
    assert not cordoned(steps, node)
    assert steps.api.get(record(f"node-replacement-{node}")) is None
    steps.undeploy("default", "service")


def arrives(steps: Steps, node: str) -> dict[str, int]:
    """Take the new machine in by steps that are killed after each change; how often each was."""
    steps.join(node)
    steps.register(node, RBD_DRIVER, CEPHFS_DRIVER)
    for number in range(2):
        steps.disk(node, number)
    with BurnIns(steps) as burn_ins:
        killed = {step: steps.killed("replacement", step, node) for step in COMING}
    assert burn_ins.tried == [node, node], "devices, and GPUs together"
    return killed


def test_a_run_that_is_done_again_leaves_the_new_machine_alone(steps: Steps) -> None:
    node = "gpu-13"
    for step in LEAVING:
        steps.good("replacement", step, node)
    comes(steps, node)
    steps.deployment("default", "service", node, tolerates=(GPU, "gen.internal/inference"))
    ran(steps, "service")
    assert "going on with the new one" in steps.good("replacement", "preflight", node)
    for step in LEAVING[1:]:
        assert "has gone" in steps.good("replacement", step, node)
    assert not cordoned(steps, node)
    ran(steps, "service")
    assert "the new one is not accepted" in steps.good("replacement", "report", node, STATUS="Failed")
    assert "is another machine now" in steps.good("replacement", "report", node)
    steps.undeploy("default", "service")


def test_what_cannot_be_replaced_is_refused_and_nothing_is_changed(steps: Steps) -> None:
    assert "has no node gpu-99" in steps.refused("replacement", "preflight", "gpu-99")
    assert "gpu-99 is not in the cluster file" in steps.good("replacement", "report", "gpu-99", STATUS="Failed")
    said = steps.refused("replacement", "preflight", "gpu-12", OFF="yes", SILENT_SECONDS="0", ANSWER_PORT="")
    assert "gpu-12 is Ready: it is not off, and is replaced without -p off=yes" in said
    assert "begin the run from its first step" in steps.refused("replacement", "forget", "gpu-12")
    assert steps.api.get(record("node-replacement-gpu-12")) is None
    assert "nothing was changed" in steps.good("replacement", "report", "gpu-12", STATUS="Failed")
    assert not cordoned(steps, "gpu-12")


@pytest.fixture
def minio(steps: Steps) -> Iterator[Minio]:
    with minio_answering(steps, load("ml50")) as made:
        yield made


def test_a_server_of_minio_is_replaced_while_the_others_are_there(steps: Steps, minio: Minio) -> None:
    waiting = {"nodeSelector": {"no": "where"}}
    server(steps, "minio-0", **waiting)
    server(steps, "minio-1", nodeName="nas-2")
    said = steps.refused("replacement", "preflight", "nas-2")
    assert "minio-0 of MinIO is not Ready: with another server away nothing is written" in said
    steps.api.request("DELETE", f"{SERVERS}/minio-0?gracePeriodSeconds=0")
    minio.heals = ["minio-2.minio-hl.minio.svc:9000/export-1"]
    said = steps.refused("replacement", "preflight", "nas-2")
    assert "of the drives of MinIO http://minio-2.minio-hl.minio.svc:9000/export-1 is healed: wait" in said
    minio.heals = ["minio-1.minio-hl.minio.svc:9000/export-1"]
    steps.good("replacement", "preflight", "nas-2")
    # The run is done again once the node is empty: its own server waits for it, and may, with all others there.
    steps.api.request("DELETE", f"{SERVERS}/minio-1?gracePeriodSeconds=0")
    steps.api.wait("it has gone", lambda: steps.api.get(f"{SERVERS}/minio-1") is None)
    server(steps, "minio-1", **waiting)
    assert "going on with the change of nas-2" in steps.good("replacement", "preflight", "nas-2")
    server(steps, "minio-2", **waiting)
    assert "minio-1, minio-2 of MinIO is not Ready" in steps.refused("replacement", "preflight", "nas-2")
    # The new machine: its drives are healed, which may take days.
    assert "MinIO's server is not Ready on nas-2" in steps.refused("replacement", "heal", "nas-2", STORAGE_SECONDS="1")
    steps.api.request("DELETE", f"{SERVERS}/minio-1?gracePeriodSeconds=0")
    steps.api.wait("it has gone", lambda: steps.api.get(f"{SERVERS}/minio-1") is None)
    server(steps, "minio-1", nodeName="nas-2")
    said = steps.refused("replacement", "heal", "nas-2", HEAL_SECONDS="1")
    assert "minio-1.minio-hl.minio.svc:9000/export-1 is healed. `mc admin heal` tells how it goes" in said
    minio.heals = []
    assert "none is healed any more" in steps.good("replacement", "heal", "nas-2")
    assert "gpu-12 has no drives of MinIO" in steps.good("replacement", "heal", "gpu-12")
    for name in ("minio-1", "minio-2"):
        steps.api.request("DELETE", f"{SERVERS}/{name}?gracePeriodSeconds=0")
    steps.api.request("DELETE", record("node-replacement-nas-2"))


def server(steps: Steps, name: str, **place: object) -> None:
    """Let a server of MinIO be there: Ready where it has a node, waiting for one where it has none."""
    metadata = {"name": name, "namespace": "minio", "labels": {"app.kubernetes.io/name": "minio"}}
    spec = {"containers": [{"name": "minio", "image": "registry.example.org/any:1"}], **place}
    if "nodeName" in place:
        metadata["annotations"] = {"kubernetes.io/config.mirror": "1"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    assert steps.api.create(body, dry=False)[0] == 201


@pytest.fixture
def dead(steps: Steps) -> Iterator[str]:
    """A node whose machine lost its power: kubelet is silent, pods there do not end."""
    node = "gpu-11"
    said = steps.api.get(record("nodes-gpu-training"))["data"][node]
    expects(steps, "gpu-training", node, address=NOWHERE)
    steps.deployment("default", "lost", node, tolerates=TRAINING)
    ran(steps, "lost")
    (pod,) = steps.api.items("/api/v1/namespaces/default/pods?labelSelector=one%3Dlost")
    mark = {"metadata": {"annotations": {"twin.test/stuck": "1"}}}
    steps.patch(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}", mark)
    down(steps, node)
    with silent(NOWHERE, 10250):
        yield node
    steps.undeploy("default", "lost")
    steps.patch(record("nodes-gpu-training"), {"data": {node: said}})


def down(steps: Steps, node: str) -> None:
    """Let a node's kubelet be silent."""
    steps.patch(f"{NODES}/{node}", {"metadata": {"annotations": {"twin.test/down": "1"}}})
    away = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "silent"}
    steps.status(f"{NODES}/{node}", {"conditions": [away]})


def test_a_dead_machine_is_forced_only_when_all_agree_that_it_is_off(steps: Steps, dead: str) -> None:
    said = steps.refused("replacement", "preflight", dead)
    assert f"{dead} is not Ready, and its pods would never end" in said
    said = steps.refused("replacement", "preflight", dead, OFF="yes")
    assert f"the kubelet of {dead} was heard" in said  # KWOK renews its lease
    expects(steps, "gpu-training", dead, address="127.0.0.1")
    said = steps.refused("replacement", "preflight", dead, OFF="yes", SILENT_SECONDS="0")
    assert "something answers at 127.0.0.1, port 10250" in said
    expects(steps, "gpu-training", dead, address=NOWHERE)
    off = {"OFF": "yes", "SILENT_SECONDS": "0", "ANSWER_PORT": "10250"}
    steps.good("replacement", "preflight", dead, **off)
    steps.good("replacement", "cordon", dead, **off)
    said = steps.refused("replacement", "evict", dead, DRAIN_SECONDS="3", **off)
    assert "default/lost-" in said
    assert "which ends" in said, "without the taint nothing ends"
    assert "its volumes are free" in steps.good("replacement", "fence", dead, **off)
    assert OUT_OF_SERVICE in [one["key"] for one in steps.node(dead)["spec"]["taints"]]
    report = steps.good("replacement", "report", dead, STATUS="Failed", **off)
    assert f"`kubectl taint node {dead} {OUT_OF_SERVICE}-`" in report
    assert f"{dead} is empty" in steps.good("replacement", "evict", dead, **off)
    attach(steps, dead)
    said = steps.refused("replacement", "forget", dead, DRAIN_SECONDS="1", **off)
    assert f"pvc-1 is attached to {dead} still" in said
    steps.api.request("DELETE", f"{ATTACHMENTS}/held")
    steps.good("replacement", "forget", dead, **off)
    comes(steps, dead)
    assert OUT_OF_SERVICE not in [one["key"] for one in steps.node(dead)["spec"].get("taints") or ()]
    steps.good("replacement", "report", dead, **off)


@pytest.fixture
def broken(operator: Steps) -> Iterator[tuple[str, Ceph]]:
    """A node with an OSD and pods of gangs, whose machine lost its power."""
    steps, node = operator, "gpu-12"
    said = steps.api.get(record("nodes-gpu-training"))["data"][node]
    expects(steps, "gpu-training", node, osds=1, address=NOWHERE)
    osds(steps, node, 3)
    steps.deployment(ROOK, "rook-ceph-mon-a", node, app="rook-ceph-mon", tolerates=TRAINING)
    with (
        gangs(steps, "gpu-13", node) as found,
        answering(steps, Ceph({3: Osd("aaa", node, groups=9), 8: Osd("ccc", "cpu-27", groups=30)})) as ceph,
        silent(NOWHERE, 10250),
    ):
        mark = {"metadata": {"annotations": {"twin.test/stuck": "1"}}}
        for pod in (pod for one in found for pod in one.pods() if pod["spec"]["nodeName"] == node):
            steps.patch(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}", mark)
        down(steps, node)
        yield node, ceph
    steps.undeploy(ROOK, "rook-ceph-osd-3")
    steps.patch(record("nodes-gpu-training"), {"data": {node: said}})


def test_a_dead_machine_with_gangs_and_an_osd_is_changed_though_killed_after_each_change(
    operator: Steps, broken: tuple[str, Ceph]
) -> None:
    steps, (node, ceph) = operator, broken
    off = {"OFF": "yes", "SILENT_SECONDS": "0", "ANSWER_PORT": "10250"}
    killed = {step: steps.killed("replacement", step, node, **off) for step in LEAVING[: LEAVING.index("monitors")]}
    # Two gangs stopped, then the taint; both queued again once their pods are gone; the OSD's daemon.
    assert killed == {"preflight": 1, "cordon": 1, "fence": 3, "gangs": 2, "osds": 1, "evict": 0}
    assert set(ceph.osds) == {8}
    assert "rook-ceph-mon-a is still pinned" in steps.refused(
        "replacement", "monitors", node, STORAGE_SECONDS="1", **off
    )
    steps.undeploy(ROOK, "rook-ceph-mon-a")
    assert {step: steps.killed("replacement", step, node, **off) for step in ("monitors", "forget")} == {
        "monitors": 0,
        "forget": 1,
    }
    comes(steps, node)
    waiting = steps.begin("replacement", "storage", node)
    assert "is started anew: Rook looks for new disks" in waiting.line()
    osds(steps, node, 3)
    rest, _ = waiting.communicate(timeout=240)
    assert (waiting.returncode, f"1 OSDs run on {node}" in rest) == (0, True), rest
    assert "is another machine now" in steps.good("replacement", "report", node)


def attach(steps: Steps, node: str) -> None:
    """Let a volume be attached, with a driver that nobody plays: the attacher's finalizer keeps it."""
    spec = {"attacher": RBD_DRIVER, "nodeName": node, "source": {"persistentVolumeName": "pvc-1"}}
    steps.api.apply(
        {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "held"}, "spec": spec}
    )


def test_a_control_plane_node_goes_only_once_etcd_has_forgotten_it(steps: Steps) -> None:
    node = "cp-3"
    members = [etcd(steps, one, ready=True) for one in ("cp-1", "cp-2", node)]
    steps.good("replacement", "preflight", node)
    said = steps.refused("replacement", "forget", node)
    assert "cp-3 is a member of etcd: `sudo kubeadm reset` there takes it out" in said
    assert "Then switch the machine off, and " in said
    assert "`gen workflow retry node-replacement-x7k2p -p member=removed -p off=yes`" in said
    assert steps.node(node)
    # `kubeadm reset` has ended kubelet; nothing is left there that would have to end.
    down(steps, node)
    steps.good("replacement", "preflight", node, MEMBER="removed")
    steps.good("replacement", "forget", node, MEMBER="removed")
    assert steps.api.get(f"{NODES}/{node}") is None
    for one in members:
        steps.api.request("DELETE", f"{one}?gracePeriodSeconds=0")
    steps.api.request("DELETE", record(f"node-replacement-{node}"))


def test_the_osds_of_a_machine_leave_ceph_before_it_does(operator: Steps) -> None:
    steps, node = operator, "cpu-28"
    said = steps.api.get(record("nodes-cpu"))["data"][node]
    expects(steps, "cpu", node, osds=2)
    osds(steps, node, 3, 7)
    all_osds = {3: Osd("aaa", node, groups=24), 7: Osd("bbb", node, groups=9), 8: Osd("ccc", "cpu-27", groups=30)}
    with answering(steps, Ceph(all_osds, stuck=True, size=6)) as ceph:
        short = "pool nvme needs 6 of type host for its 6 copies or chunks, and 5 with OSDs that run would be left"
        assert short in steps.refused("replacement", "preflight", node)
        assert steps.api.get(record(f"node-replacement-{node}")) is None
        steps.good("replacement", "preflight", node, ROOM="short")
        # Hosts may have gone since it began.
        assert short in steps.refused("replacement", "osds", node)
        assert not [one for one in ceph.asked if one.startswith("out")]
        ceph.size = 3
        stuck = steps.refused("replacement", "osds", node, STORAGE_SECONDS="1")
        assert "OSD 3 holds data; OSD 7 holds data: nothing was destroyed" in stuck
        assert set(ceph.osds) == {3, 7, 8}
        ceph.stuck = False
        # Made after the change began: it is the former machine's as well.
        ceph.osds[9] = Osd("ddd", node, groups=5)
        osds(steps, node, 9)
        for step in ("cordon", "fence", "gangs"):
            steps.good("replacement", step, node)
        assert steps.killed("replacement", "osds", node) == 4, "what is there; between an OSD's daemon and the OSD"
        assert set(ceph.osds) == {8}
        assert "no OSD of Ceph is on" in steps.good("replacement", "osds", node)
        assert not [one for one in ceph.asked if one.startswith(("out 8", "purge osd.8"))]
        for step in ("evict", "monitors", "forget"):
            steps.good("replacement", step, node)
        comes(steps, node)
        for _ in steps.kills("replacement", "storage", node):  # once Rook's operator is stopped, to look at disks
            osds(steps, node, 3, 7)
        assert "2 OSDs run on cpu-28" in steps.good("replacement", "storage", node)
        steps.good("replacement", "report", node)
    steps.undeploy(ROOK, "rook-ceph-osd-3", "rook-ceph-osd-7")
    steps.patch(record("nodes-cpu"), {"data": {node: said}})


def test_osds_leave_ceph_also_when_somebody_has_deleted_the_node(operator: Steps) -> None:
    steps, node = operator, "cpu-25"
    said = steps.api.get(record("nodes-cpu"))["data"][node]
    expects(steps, "cpu", node, osds=1)
    osds(steps, node, 6)
    with answering(steps, Ceph({6: Osd("aaa", node, groups=7)})) as ceph:
        steps.good("replacement", "preflight", node)
        report = steps.good("replacement", "report", node, STATUS="Failed")
        assert "`ceph osd in 6`, where these are left" in report
        steps.leave(node)
        assert "Ceph has forgotten OSD 6" in steps.good("replacement", "osds", node)
        assert ceph.osds == {}
    steps.join(node)
    steps.api.request("DELETE", record(f"node-replacement-{node}"))
    steps.patch(record("nodes-cpu"), {"data": {node: said}})


def test_the_former_machine_is_not_taken_for_the_new_one(steps: Steps) -> None:
    node = "gpu-13"
    told = steps.node(node)["status"]["nodeInfo"]

    def is_machine(uuid: str) -> None:
        steps.status(f"{NODES}/{node}", {"nodeInfo": told | {"systemUUID": uuid}})

    is_machine("former")
    for step in LEAVING:
        steps.good("replacement", step, node)
    steps.join(node)
    is_machine("former")
    said = steps.refused("replacement", "join", node)
    assert f"{node} is the former machine again, by its system UUID former" in said
    is_machine("new")
    steps.good("replacement", "join", node)
    for step in ("marks", "ready", "accept"):
        steps.register(node, RBD_DRIVER, CEPHFS_DRIVER)
        steps.good("replacement", step, node)
    steps.good("replacement", "report", node)


def test_a_disk_of_ceph_is_changed_in_two_runs(operator: Steps) -> None:
    steps, node, osd = operator, "cpu-27", {"OSD": "4"}
    said = steps.api.get(record("nodes-cpu"))["data"][node]
    expects(steps, "cpu", node, osds=1)
    osds(steps, node, 4)
    with answering(steps, Ceph({4: Osd("aaa", node, groups=24)})) as ceph:
        assert "no change of OSD 4 on cpu-27 has begun" in steps.refused(
            "osd_replacement", "preflight", node, DISK="new", **osd
        )
        steps.good("osd_replacement", "preflight", node, **osd)
        assert "OSD 4 holds data" in steps.good("osd_replacement", "out", node, **osd)
        assert "Ceph has forgotten OSD 4" in steps.good("osd_replacement", "purge", node, **osd)
        assert ceph.osds == {}
        report = steps.good("osd_replacement", "report", node, **osd)
        assert "take its disk (nvme0n1=DISK-4) out of cpu-27 now" in report
        assert f"`gen workflow submit osd-replacement -p node={node} -p osd=4 -p disk=new`" in report
        # The new disk's OSD gets the number that is free.
        ceph.osds[4] = Osd("ddd", node, groups=3)
        again = steps.refused("osd_replacement", "preflight", node, **osd)
        assert "Ceph has a new one with its number: end the change with -p disk=new" in again, "its disk holds data"
        for step in ("preflight", "out", "purge"):
            steps.good("osd_replacement", step, node, DISK="new", **osd)
        waiting = steps.begin("osd_replacement", "storage", node, DISK="new", **osd)
        assert "is started anew: Rook looks for new disks" in waiting.line()
        osds(steps, node, 4)
        rest, _ = waiting.communicate(timeout=240)
        assert waiting.returncode == 0, rest
        assert ceph.osds[4].fsid == "ddd", "the new OSD was destroyed"
        assert "has all its OSDs again" in steps.good("osd_replacement", "report", node, DISK="new", **osd)
        assert [one for one in ceph.asked if one.startswith("purge")] == ["purge osd.4"]
    steps.undeploy(ROOK, "rook-ceph-osd-4")
    steps.patch(record("nodes-cpu"), {"data": {node: said}})


def test_all_disks_of_a_host_leave_by_one_run_and_no_note_stays(operator: Steps) -> None:
    """Beside a change of one of them that had begun, and that nobody ends with a new disk."""
    steps, node, note = operator, "cpu-28", record("osd-replacement-cpu-28")
    said = steps.api.get(record("nodes-cpu"))["data"][node]
    expects(steps, "cpu", node, osds=2)
    osds(steps, node, 6, 7)
    with answering(steps, Ceph({6: Osd("fff", node), 7: Osd("ggg", node)})) as ceph:
        steps.good("osd_replacement", "preflight", node, OSD="6")
        steps.good("osd_replacement", "preflight", node, OSD="all", DISK="none")
        assert steps.api.get(note)["data"].keys() == {"begun", "osd-6", "osd-all"}
        for step in ("out", "purge"):
            steps.good("osd_replacement", step, node, OSD="all", DISK="none")
        assert ceph.osds == {}
        assert "gone for good: all OSDs" in steps.good("osd_replacement", "report", node, OSD="all", DISK="none")
        assert steps.api.get(note)["data"].keys() == {"begun", "osd-6"}
        for step in ("preflight", "out", "purge", "report"):
            steps.good("osd_replacement", step, node, OSD="6", DISK="none")
    assert steps.api.get(note) is None
    steps.patch(record("nodes-cpu"), {"data": {node: said}})


def test_an_osd_that_is_needed_again_runs_on(operator: Steps) -> None:
    steps, node, osd = operator, "cpu-26", {"OSD": "5"}
    said = steps.api.get(record("nodes-cpu"))["data"][node]
    expects(steps, "cpu", node, osds=1)
    osds(steps, node, 5)
    daemon = f"/apis/apps/v1/namespaces/{ROOK}/deployments/rook-ceph-osd-5"
    with answering(steps, Ceph({5: Osd("aaa", node, groups=7)}, busy=2)) as ceph:
        steps.good("osd_replacement", "preflight", node, **osd)
        assert "asking again: `ceph osd safe-to-destroy" in steps.good("osd_replacement", "out", node, **osd)
        ceph.osds[5].groups, ceph.stuck = 7, True
        assert "OSD 5 holds data: nothing was destroyed" in steps.refused("osd_replacement", "purge", node, **osd)
        assert steps.api.get(daemon), "its daemon was ended though it holds data"
        ceph.osds[5].groups, ceph.unsure = 0, True
        code, unsure = steps.step("osd_replacement", "purge", node, **osd)
        assert code not in {0, 2}, "Argo must try it again"
        assert "is started anew" in unsure, "Rook must run its daemon again"
        ceph.unsure, ceph.fault = False, True
        refused = steps.refused("osd_replacement", "purge", node, **osd)
        assert "OSD(s) 5 have 5 pgs currently mapped to them" in refused
        assert "Never force it: begin again" in refused
        assert "is started anew" in refused, "Rook must run its daemon again"
        assert ceph.osds.keys() == {5}
    steps.api.request("DELETE", record("osd-replacement-cpu-26"))
    steps.patch(record("nodes-cpu"), {"data": {node: said}})


def test_a_disk_that_is_none_or_has_nowhere_to_go_is_refused(operator: Steps) -> None:
    steps = operator

    def refused(node: str, osd: str) -> str:
        return steps.refused("osd_replacement", "preflight", node, OSD=osd)

    with answering(steps, Ceph({4: Osd("aaa", "cpu-26")}, size=5)):
        assert "pool nvme needs 5 of type host" in refused("cpu-26", "4")
        report = steps.good("osd_replacement", "report", "cpu-26", OSD="4", STATUS="Failed")
        assert report.strip().endswith("nothing was changed"), "an OSD that was left alone is not to be put in again"
        assert "sdb is no number of an OSD" in refused("cpu-27", "sdb")
        assert "gpu-01 gives Ceph no disks" in refused("gpu-01", "4")
        assert "nothing was changed" in steps.good("osd_replacement", "report", "gpu-01", OSD="4", STATUS="Failed")
        assert "Ceph has no OSD 99: 0 of 12 OSDs run on cpu-27" in refused("cpu-27", "99")
        assert "OSD 4 is on cpu-26, and not on cpu-27" in refused("cpu-27", "4")
        steps.ceph("HEALTH_WARN", OSD_NEARFULL="2 nearfull osd(s)")
        assert "no room for what OSD 4 holds: OSD_NEARFULL: 2 nearfull osd(s)" in refused("cpu-26", "4")
        steps.ceph("HEALTH_OK")


def test_jobs_that_ask_ceph_are_of_the_image_of_the_operator(operator: Steps) -> None:
    steps = operator
    name = f"/apis/apps/v1/namespaces/{ROOK}/deployments/rook-ceph-operator"
    change = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": OTHER}]
    assert steps.api.request("PATCH", name, change, patch="json-patch+json")[0] == 200
    seen: list[str] = []

    class Watched(Ceph):
        def answer(self, words: list[str]) -> tuple[int, str]:
            pods = steps.api.items(f"/api/v1/namespaces/{ROOK}/pods?labelSelector=app.kubernetes.io%2Fname%3Dask-ceph")
            seen.extend(
                one["image"] for pod in pods for one in (*pod["spec"]["initContainers"], *pod["spec"]["containers"])
            )
            return super().answer(words)

    with answering(steps, Watched({})):
        steps.refused("osd_replacement", "preflight", "cpu-27", OSD="5")
    assert {*seen} == {OTHER}


def test_no_right_is_unused_and_none_is_missing(operator: Steps, log: Path) -> None:
    """After all others."""
    assert unused(operator, log, REPLACEMENT, OSD_REPLACEMENT) == set()


def test_no_token_is_told(operator: Steps, log: Path) -> None:
    """After all others."""
    assert told_tokens(operator, log) == []
