from typing import Any

from msgspec import structs
from reference import with_hardware

from generator.components.component import Component
from generator.components.scratch import DEFINITION as SCRATCH
from generator.components.scratch import scratch
from generator.model.cluster import Cluster
from generator.model.nodes import Disk
from generator.model.quantity import Quantity
from generator.model.storage import Scratch
from generator.model.text import Taint


def made(cluster: Cluster) -> Component:
    return scratch(cluster)


def values(cluster: Cluster) -> dict[str, Any]:
    return made(cluster).releases[0].values


def test_only_where_asked_for_and_where_disks_are(a30: Cluster) -> None:
    storage = structs.replace(a30.storage, scratch=None)
    assert not SCRATCH.wanted(structs.replace(a30, storage=storage))
    without = tuple(with_hardware(machine, disks=()) for machine in a30.machines)
    assert not SCRATCH.wanted(structs.replace(a30, machines=without))


def test_class_binds_late_and_keeps_nothing(ml50: Cluster) -> None:
    (found,) = (one for one in made(ml50).objects if one["kind"] == "StorageClass")
    assert found["volumeBindingMode"] == "WaitForFirstConsumer"
    assert found["reclaimPolicy"] == "Delete"
    assert found["provisioner"] == "kubernetes.io/no-provisioner"


def test_class_provisioner_and_cleanup_speak_of_the_same_class(a30: Cluster) -> None:
    settings = Scratch(storage_class="fast", host_dir="/mnt/fast", filesystem="ext4")
    component = made(structs.replace(a30, storage=structs.replace(a30.storage, scratch=settings)))
    (offered,) = component.releases[0].values["classes"]
    (stored,) = (one for one in component.objects if one["kind"] == "StorageClass")
    (cleanup,) = (one for one in component.objects if one["kind"] == "Deployment")
    (container,) = cleanup["spec"]["template"]["spec"]["containers"]
    assert offered["name"] == stored["metadata"]["name"] == "fast"
    assert "--storageclass-names=fast" in container["args"]
    assert (offered["hostDir"], offered["fsType"]) == ("/mnt/fast", "ext4")


def test_it_is_watched_only_where_prometheus_is(a30: Cluster, ml50: Cluster) -> None:
    assert values(a30)["serviceMonitor"]["enabled"] is True
    assert made(a30).needs == ("prometheus-crds",)
    assert values(ml50)["serviceMonitor"]["enabled"] is False
    assert made(ml50).needs == ()


def test_every_taint_of_nodes_with_scratch_disks_is_tolerated(a30: Cluster) -> None:
    disk = Disk(use="scratch", size=Quantity.parse("1T"), id="nvme-x")
    taint = Taint("maintenance", "", "NoExecute")
    machines = tuple(
        with_hardware(structs.replace(machine, taints=(taint,)), disks=(disk,)) for machine in a30.machines
    )
    tolerated = values(structs.replace(a30, machines=machines))["tolerations"]
    assert tolerated == [{"key": "maintenance", "operator": "Exists", "effect": "NoExecute"}]
    assert {one["key"] for one in values(a30)["tolerations"]} == {"nvidia.com/gpu"}
