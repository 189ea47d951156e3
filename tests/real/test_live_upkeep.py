"""Nodes rebooted, brought new drivers and another Kubernetes by the operations as rendered, with real pods
(livesite.py). The nodes are KWOK's: the control plane, and some of ml50's pools. Stand-ins do on each machine what its
timer would, let gangs in and take them back as Kueue does, and answer for MinIO.
"""

from collections.abc import Callable, Iterator

import pytest
from auditing import betrayed, stored, unused, written
from burnins import BurnIns
from driversite import Drivers
from livesite import ALONE, BESIDE, Site
from minioplayed import minio_answering
from nodesteps import NODES
from onenode.node import NAME as REAL
from playedgangs import gangs
from reference import load
from upgradesite import GOOD, NEW, OLD, SYSTEM, Machines
from upgradesite import Site as Upkeep

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.node_operations.names import DRIVER_UPGRADE, MAINTENANCE, NAMESPACE, UPGRADE
from generator.components.node_operations.templates import CONTROL_PLANE

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

CONTROL = ("cp-1", "cp-2", "cp-3")
GPUS = ("gpu-13", BESIDE, "gpu-15")
STORES = ("nas-1", "nas-2", "nas-3", "nas-4")
PLAIN = "cpu-01"
"""Takes what no other node does."""
WALKED = (*CONTROL, *GPUS, STORES[0])
ONLY = [
    *("-p", "pools=system,gpu-inference,nas", "-p", f"leave={','.join(STORES[1:])}"),
    *("-p", "steady-seconds=1"),
]
WAITS = GOOD.replace("reboot=no", "reboot=2026-11-01T00:00:00Z")
ACCOUNTS = [f"{NAMESPACE}:{name}" for name in (MAINTENANCE, DRIVER_UPGRADE, UPGRADE)]
SETUP = f"/apis/batch/v1/namespaces/{MINIO}/jobs/minio-setup"


@pytest.fixture(scope="module")
def upkeep(site: Site) -> Iterator[Upkeep]:
    """The nodes, with what runs on them."""
    steps, others = site.steps, [*(one for one in GPUS if one != BESIDE), PLAIN]
    taints = [{"key": key, "effect": "NoSchedule"} for key in (CONTROL_PLANE, ALONE)]
    # The steps are rather on the control plane; what asks MinIO, whose pod may be no other than is rendered, is not.
    steps.patch(f"{NODES}/{REAL}", {"metadata": {"labels": {CONTROL_PLANE: ""}}, "spec": {"taints": taints[:1]}})
    for name in CONTROL:
        steps.join(name, taints=taints)
    for name in (*others, *STORES):
        steps.join(name)
    for name in (*CONTROL, *GPUS, *STORES):
        steps.register(name, RBD_DRIVER, CEPHFS_DRIVER)
    made = Upkeep(steps)
    made.snapshot(minutes=10)
    made.minio()
    with minio_answering(steps, load("ml50")) as made.drives:
        yield made
    steps.patch(f"{NODES}/{REAL}", {"metadata": {"labels": {CONTROL_PLANE: None}}, "spec": {"taints": None}})
    made.older(NEW)
    pods = [f"{SYSTEM}/{one['metadata']['name']}" for one in site.api.items(SYSTEM)]
    for path in (f"/apis/apps/v1/namespaces/{MINIO}/statefulsets/minio", SETUP, *pods):
        site.api.request("DELETE", f"{path}?propagationPolicy=Background")
    for name in (*CONTROL, *others, *STORES):
        steps.leave(name)


def go(site: Site, operation: str, *words: str, killed_when: Callable[[], object]) -> str:
    """Run an operation to its good end, though it is killed once; what the steps said after that."""
    run = site.begin(operation, "", *words)
    site.until("it has begun", killed_when)
    return site.good(site.killed(run))


def test_machines_are_rebooted_each_once_though_the_run_is_killed(site: Site, upkeep: Upkeep) -> None:
    upkeep.older(NEW)
    upkeep.tell(GOOD)
    upkeep.tell(WAITS, *WALKED)
    with gangs(site.steps, *GPUS[:2]), Machines(site.steps) as machines:
        said = go(site, "node-maintenance", "-p", "action=reboot", *ONLY, killed_when=lambda: machines.asks)
    assert f"node-maintenance reboot: Succeeded, {len(WALKED)} of {len(WALKED)} nodes" in said
    assert [one.name for one in machines.asks] == [*GPUS, STORES[0], *CONTROL], "what is bad is so on workers first"
    assert [one for one in machines.asks if one.left] == []
    assert site.steps.held() == set()


def test_a_new_driver_comes_to_each_node_though_the_run_is_killed(site: Site, upkeep: Upkeep) -> None:
    upkeep.older(NEW)
    drivers = Drivers(site.steps, [*GPUS])
    drivers.prepare()
    drivers.driver("2")
    with gangs(site.steps, *GPUS[:2]), BurnIns(site.steps) as burn_ins:
        only = ("-p", "pools=gpu-inference", "-p", "steady-seconds=1")
        said = go(site, "driver-upgrade", *only, killed_when=lambda: burn_ins.tried)
    assert f"driver-upgrade: Succeeded, {len(GPUS)} of {len(GPUS)} nodes with GPUs" in said
    assert drivers.drivers("2") == {*GPUS}
    assert {*burn_ins.tried} == {*GPUS}
    assert site.steps.held() == set()


def test_an_upgrade_without_a_fresh_snapshot_is_refused(site: Site, upkeep: Upkeep) -> None:
    upkeep.older(OLD)
    upkeep.tell(GOOD)
    upkeep.snapshot(minutes=130)
    run = site.begin("kubernetes-upgrade", "", *ONLY)
    site.refused({"the newest snapshot of etcd that is proven and in the bucket is 2.2 hours old": run})
    assert "kubernetes-upgrade to 1.35.3: Failed, 0 of 7 nodes" in site.said(run)
    assert site.steps.held() == set()


def test_kubernetes_is_upgraded_by_a_minor_version_though_the_run_is_killed(site: Site, upkeep: Upkeep) -> None:
    upkeep.older(OLD)
    upkeep.tell(GOOD)
    upkeep.snapshot(minutes=10)
    with gangs(site.steps, *GPUS[:2]), Machines(site.steps) as machines:
        said = go(site, "kubernetes-upgrade", *ONLY, killed_when=lambda: machines.asks)
    assert f"kubernetes-upgrade to {NEW}: Succeeded, {len(WALKED)} of {len(WALKED)} nodes" in said
    assert [one.name for one in machines.asks] == [*CONTROL, *GPUS, STORES[0]]
    assert {site.steps.node(one)["status"]["nodeInfo"]["kubeletVersion"] for one in WALKED} == {f"v{NEW}"}
    assert site.steps.held() == set()


@pytest.mark.usefixtures("upkeep")
def test_no_right_is_unused_and_none_is_missing(site: Site) -> None:
    """After all others. What Argo's executor asks is among it."""
    assert unused(site.api, site.folder, *ACCOUNTS) == set()


@pytest.mark.usefixtures("upkeep")
def test_no_token_is_told(site: Site) -> None:
    """After all others."""
    assert betrayed([*stored(site.api), *written(site.folder)], ()) == []
