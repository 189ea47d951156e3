from typing import Any

from msgspec import structs
from validation.schemas import problems

from generator.components.ceph_csi_drivers import DEFINITION as CEPH_CSI_DRIVERS
from generator.components.ceph_csi_drivers import ceph_csi_drivers
from generator.components.rook_ceph import DEFINITION as ROOK_CEPH
from generator.components.rook_ceph import rook_ceph
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus
from generator.model.storage import Encryption
from generator.model.text import Taint


def operator(cluster: Cluster) -> dict[str, Any]:
    component = rook_ceph(cluster)
    return component.releases[0].values


def drivers(cluster: Cluster) -> dict[str, Any]:
    component = ceph_csi_drivers(cluster)
    return component.releases[0].values


def test_only_with_ceph(a30: Cluster) -> None:
    assert not ROOK_CEPH.wanted(a30)
    assert not CEPH_CSI_DRIVERS.wanted(a30)


def test_crds_are_never_given_up(ml50: Cluster) -> None:
    assert operator(ml50)["crds"] == {"enabled": True}


def test_claims_may_carry_policies_only_for_backups_and_only_in_rooks_namespace(ml50: Cluster) -> None:
    assert operator(ml50)["obcAllowAdditionalConfigFields"] == "maxObjects,maxSize,bucketPolicy"
    assert operator(structs.replace(ml50, backups=()))["obcAllowAdditionalConfigFields"] == "maxObjects,maxSize"
    assert operator(ml50)["enableOBCWatchOperatorNamespace"] is True


def test_rook_may_make_service_monitors_only_with_prometheus(ml50: Cluster) -> None:
    assert operator(ml50)["monitoring"] == {"enabled": False}
    monitoring = structs.replace(ml50.monitoring, prometheus=Prometheus())
    assert operator(structs.replace(ml50, monitoring=monitoring))["monitoring"] == {"enabled": True}


def test_node_plugins_tolerate_every_taint_on_every_driver(ml50: Cluster) -> None:
    odd = structs.replace(ml50.machines[4], taints=(Taint("gen.internal/broken", "", "NoExecute"),))
    cluster = structs.replace(ml50, machines=(*ml50.machines, odd))
    values = drivers(cluster)
    enabled = [driver for driver in values["drivers"].values() if driver["enabled"]]
    assert len(enabled) == 2
    for spec in (values["operatorConfig"]["driverSpecDefaults"], *enabled):
        tolerated = {(one["key"], one["effect"]) for one in spec["nodePlugin"]["tolerations"]}
        assert all((taint.key, taint.effect) in tolerated for machine in cluster.machines for taint in machine.taints)


def test_both_drivers_take_snapshots_and_have_a_spare_controller(ml50: Cluster) -> None:
    for name in ("rbd", "cephfs"):
        driver = drivers(ml50)["drivers"][name]
        assert driver["snapshotPolicy"] == "volumeSnapshot"
        assert driver["controllerPlugin"]["replicas"] == 2


def test_no_container_of_the_controllers_is_the_first_to_be_ended(ml50: Cluster) -> None:
    defaults = drivers(ml50)["operatorConfig"]["driverSpecDefaults"]
    config = {
        "apiVersion": "csi.ceph.io/v1",
        "kind": "OperatorConfig",
        "metadata": {"name": "ceph-csi-operator-config", "namespace": "rook-ceph"},
        "spec": {"driverSpecDefaults": defaults},
    }
    assert problems(config) == []
    given = defaults["controllerPlugin"]["resources"]
    assert given.keys() >= {"plugin", "provisioner", "attacher", "resizer", "snapshotter", "omapGenerator"}
    assert all(one["requests"]["memory"] and one["limits"]["memory"] for one in given.values())


def test_kernel_clients_speak_the_new_protocol(ml50: Cluster) -> None:
    assert drivers(ml50)["drivers"]["cephfs"]["kernelMountOptions"] == {"ms_mode": "secure"}
    ceph = ml50.storage.ceph
    assert ceph
    plain = structs.replace(ml50.storage, ceph=structs.replace(ceph, encryption=Encryption()))
    options = drivers(structs.replace(ml50, storage=plain))["drivers"]["cephfs"]["kernelMountOptions"]
    assert options == {"ms_mode": "prefer-crc"}
