"""A disk of Ceph changed by the operation as rendered, with real pods (livesite.py). Who asks Ceph is real as well, and
Ceph played (cephserved.py).
"""

import secrets
from collections.abc import Iterator

import pytest
from auditing import asked, betrayed, executor, stored, written
from cephplayed import IMAGE, Ceph, Osd
from livesite import ALONE, Site
from nodesteps import NODES, expects

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.node_operations.names import NAMESPACE, OSD_REPLACEMENT
from generator.components.rook_ceph import NAMESPACE as ROOK

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

ACCOUNT = f"{NAMESPACE}:{OSD_REPLACEMENT}"
HOST, OTHER, OSD, MONITOR = "cpu-27", "cpu-26", "rook-ceph-osd-4", "rook-ceph-mon-a"
KEY = secrets.token_hex(16)
PODS = f"/api/v1/namespaces/{ROOK}/pods"
DAEMON = f"/apis/apps/v1/namespaces/{ROOK}/deployments/{OSD}"


@pytest.fixture(scope="module")
def ceph(site: Site) -> Iterator[Ceph]:
    """Ceph with one OSD on a node, with its operator and what the Jobs take of it."""
    site.steps.join(HOST, taints=[{"key": ALONE, "effect": "NoSchedule"}])
    expects(site.steps, "cpu", HOST, osds=1)
    metadata = {"name": "rook-ceph-default", "namespace": ROOK}
    site.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    ends = {"metadata": {"name": "rook-ceph-mon-endpoints", "namespace": ROOK}, "data": {"data": "a=127.0.0.1:3300"}}
    site.api.apply({"apiVersion": "v1", "kind": "ConfigMap", **ends})
    keys = {"ceph-username": "client.admin", "ceph-secret": KEY}
    admin = {"metadata": {"name": "rook-ceph-mon", "namespace": ROOK}, "stringData": keys}
    site.api.apply({"apiVersion": "v1", "kind": "Secret", **admin})
    site.steps.deployment(ROOK, "rook-ceph-operator", HOST, app="rook-ceph-operator", image=IMAGE, tolerates=(ALONE,))
    runs(site)
    site.ceph.now = Ceph({4: Osd("aaa", HOST, groups=24)})
    yield site.ceph.now
    site.steps.undeploy(ROOK, OSD, "rook-ceph-operator")
    site.steps.leave(HOST)


def runs(site: Site) -> None:
    """Let Rook run the OSD."""
    site.steps.deployment(ROOK, OSD, HOST, app="rook-ceph-osd", labels={"ceph-osd-id": "4"}, tolerates=(ALONE,))
    site.until("it runs", lambda: (site.api.get(DAEMON).get("status") or {}).get("readyReplicas"))


def test_what_preflight_refuses_is_reported_and_not_tried_again(site: Site, ceph: Ceph) -> None:
    """What the judge finds where `ceph` is; the other refusals are in test_twin_replacement.py."""
    ceph.size = 5
    run = site.begin("osd-replacement", HOST, "-p", "osd=4")
    site.refused({"pool nvme needs 5 of type host for its 5 copies or chunks, and 4 with OSDs": run})
    assert "nothing was changed" in site.said(run)
    ceph.size = 3


def test_a_disk_is_changed_in_two_runs_though_each_is_killed_while_it_waits(site: Site, ceph: Ceph) -> None:
    run = site.begin("osd-replacement", HOST, "-p", "osd=4")
    site.until("Ceph was asked whether it is safe", lambda: "safe-to-destroy 4" in ceph.asked)
    run = site.killed(run)
    assert ceph.osds.keys() == {4}
    (pod,) = site.api.items(f"{PODS}?labelSelector=one%3D{OSD}")
    daemon = f"{PODS}/{pod['metadata']['name']}"
    site.steps.patch(daemon, {"metadata": {"annotations": {"twin.test/stuck": "1"}}})
    site.until("its daemon is to end", lambda: "deletionTimestamp" in site.api.get(DAEMON)["metadata"])
    run = site.killed(run)
    assert ceph.osds.keys() == {4}, "it is forgotten only once its daemon has ended"
    site.api.request("DELETE", f"{daemon}?gracePeriodSeconds=0")
    said = site.good(run)
    assert "Ceph has forgotten OSD 4" in said
    assert f"take its disk (nvme0n1=DISK-4) out of {HOST} now" in said
    assert ceph.osds == {}
    ceph.osds[4] = Osd("ddd", HOST)
    run = site.begin("osd-replacement", HOST, "-p", "osd=4", "-p", "disk=new")
    site.reaches(run, "storage")
    run = site.killed(run)
    site.reaches(run, "storage")
    runs(site)
    said = site.good(run)
    assert "is started anew: Rook looks for new disks" in said
    assert f"{HOST} has all its OSDs again" in said
    assert ceph.osds[4].fsid == "ddd", "the new OSD was destroyed"
    assert [one for one in ceph.asked if one.startswith("purge")] == ["purge osd.4"]


@pytest.fixture
def data(site: Site, ceph: Ceph) -> Iterator[Ceph]:
    """The node with its OSD, which holds data, and with a monitor, which could be on another node as well."""
    site.steps.join(OTHER, taints=[{"key": ALONE, "effect": "NoSchedule"}])
    site.steps.register(HOST, RBD_DRIVER, CEPHFS_DRIVER)
    site.steps.deployment(ROOK, MONITOR, HOST, app="rook-ceph-mon", tolerates=(ALONE,))
    ceph.osds = {4: Osd("eee", HOST, groups=24)}
    ceph.asked.clear()
    ceph.stuck = True
    runs(site)
    yield ceph
    site.steps.undeploy(ROOK, MONITOR)
    site.steps.leave(OTHER)


def test_a_machine_with_data_is_replaced_though_the_run_is_killed_while_it_waits(site: Site, data: Ceph) -> None:
    former = site.steps.node(HOST)["metadata"]["uid"]
    run = site.begin("node-replacement", HOST, "-p", "answer-port=", "-p", "burn-in=none")
    site.until("Ceph was asked whether it is safe", lambda: "safe-to-destroy 4" in data.asked)
    run = site.killed(run)
    assert data.osds.keys() == {4}
    data.stuck = False
    site.reaches(run, "monitors")
    assert data.osds == {}
    run = site.killed(run)
    assert site.steps.node(HOST)["metadata"]["uid"] == former
    site.steps.undeploy(ROOK, MONITOR)
    site.reaches(run, "join")
    assert site.api.get(f"{NODES}/{HOST}") is None
    site.steps.join(HOST, taints=[{"key": ALONE, "effect": "NoSchedule"}])
    site.steps.register(HOST, RBD_DRIVER, CEPHFS_DRIVER)
    site.reaches(run, "storage")
    run = site.killed(run)
    # The new machine's OSD gets the number that is free.
    data.osds[4] = Osd("fff", HOST)
    site.reaches(run, "storage")
    runs(site)
    said = site.good(run)
    assert "is started anew: Rook looks for new disks" in said
    assert f"{HOST} is another machine now" in said
    assert data.osds[4].fsid == "fff", "the new OSD was destroyed"
    assert [one for one in data.asked if one.startswith("purge")] == ["purge osd.4"]
    assert site.steps.node(HOST)["metadata"]["uid"] != former
    assert not site.steps.node(HOST)["spec"].get("unschedulable")


def test_what_the_executor_may_is_used_and_nothing_is_missing(site: Site, ceph: Ceph) -> None:
    """After all others. What the steps themselves may is held against all that they do in test_twin_replacement.py."""
    assert ceph.asked
    found = [one for one in asked(site.folder) if one.account == ACCOUNT]
    assert [one for one in found if not one.allowed] == []
    assert [right for right in executor(ACCOUNT) if not any(map(right.covers, found))] == []


def test_no_token_is_told(site: Site, ceph: Ceph) -> None:
    """After all others."""
    assert ceph.asked
    assert betrayed([*stored(site.api), *written(site.folder)], (KEY,)) == []
