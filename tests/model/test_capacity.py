"""Arithmetic over the reference clusters, done a second time by hand."""

import pytest
from msgspec import structs
from reference import with_hardware

from generator.model.capacity import (
    ErasureSet,
    Share,
    allocatable,
    ceph_raw,
    ceph_usable,
    erasure_set,
    flavor_capacity,
    objects_usable,
    osd_requests,
    osds,
    quota_share,
)
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import CephPool, Erasure, Storage
from generator.model.teams import Quota

GPU = "nvidia.com/gpu"
GI = 2**30


def lean(cluster: Cluster) -> Cluster:
    """Return the cluster with 2 cores and 8Gi reserved on every node, and 110 pods."""
    reserved = structs.replace(cluster.kubernetes.reserved, cpu=Quantity.of(2), memory=Quantity.of(8 * GI))
    return structs.replace(cluster, kubernetes=structs.replace(cluster.kubernetes, reserved=reserved, max_pods=110))


def test_a_gpu_node_gives_all_but_what_is_reserved_and_daemons_take(ml50: Cluster) -> None:
    machine = ml50.in_pools("gpu-training")[0]
    found = allocatable(machine, lean(ml50))
    assert found == Share(devices={GPU: 8}, milli_cpu=(128 - 2 - 1) * 1000, memory=(1024 - 8 - 4) * GI, pods=110 - 15)


def test_osds_take_their_part(ml50: Cluster) -> None:
    machine = ml50.in_pools("cpu")[0]
    nvme, hdd = (sum(each.count for each in machine.hardware.disks if each.class_ == name) for name in ("nvme", "hdd"))
    assert osds(machine, ml50) == nvme + hdd > 0
    cpu, memory = osd_requests(machine, ml50)
    assert (cpu, memory) == (nvme * 2000 + hdd * 500, (nvme * 8 + hdd * 5) * GI)
    found = allocatable(machine, lean(ml50))
    assert found.milli_cpu == machine.hardware.cpu * 1000 - 3000 - cpu
    assert found.memory == machine.hardware.memory.value - 12 * GI - memory
    assert found.pods == 95 - nvme - hdd


def test_disks_of_pools_that_are_not_cephs_are_no_osds(ml50: Cluster) -> None:
    machine = ml50.in_pools("cpu")[0]
    assert osds(machine, structs.replace(ml50, storage=Storage())) == 0
    assert osds(ml50.in_pools("nas")[0], ml50) == 0


def test_a_node_never_gives_less_than_nothing(ml50: Cluster) -> None:
    machine = with_hardware(ml50.in_pools("cpu")[0], cpu=1, memory=Quantity.of(1))
    small = structs.replace(lean(ml50), kubernetes=structs.replace(ml50.kubernetes, max_pods=16))
    assert allocatable(machine, small) == Share(devices={GPU: 8} if machine.gpus else {}, milli_cpu=0, memory=0, pods=0)


def test_a_flavor_is_the_sum_of_its_nodes(ml50: Cluster) -> None:
    one = allocatable(ml50.in_pools("gpu-training")[0], ml50)
    count = len(ml50.in_pools("gpu-training"))
    assert flavor_capacity(ml50, "gpu-training") == Share(
        devices={GPU: one.devices[GPU] * count},
        milli_cpu=one.milli_cpu * count,
        memory=one.memory * count,
        pods=one.pods * count,
    )
    assert flavor_capacity(ml50, "none") == Share(devices={}, milli_cpu=0, memory=0, pods=0)


def test_on_a_gpu_pool_everything_follows_the_gpus(ml50: Cluster) -> None:
    whole = flavor_capacity(ml50, "gpu-training")
    half = quota_share(ml50, "gpu-training", Quota(gpus=whole.devices[GPU] // 2))
    assert half.devices[GPU] == whole.devices[GPU] // 2
    assert half.milli_cpu == whole.milli_cpu // 2 // 1000 * 1000
    assert half.memory == whole.memory // 2 // GI * GI
    assert half.pods == whole.pods // 2
    assert quota_share(ml50, "gpu-training", Quota(gpus=8), 0) == Share(devices={GPU: 0}, milli_cpu=0, memory=0, pods=0)
    assert quota_share(ml50, "gpu-training", Quota()) == Share(devices={GPU: 0}, milli_cpu=0, memory=0, pods=0)


def test_shares_of_all_never_pass_the_whole(ml50: Cluster) -> None:
    whole = flavor_capacity(ml50, "gpu-training")
    for parts in ([1] * whole.devices[GPU], [7] * (whole.devices[GPU] // 7), [whole.devices[GPU]]):
        shares = [quota_share(ml50, "gpu-training", Quota(gpus=part)) for part in parts]
        assert sum(each.memory for each in shares) <= whole.memory
        assert sum(each.milli_cpu for each in shares) <= whole.milli_cpu
        assert sum(each.pods for each in shares) <= whole.pods


def test_on_other_pools_a_team_says_cores_and_memory_itself(ml50: Cluster) -> None:
    own = Quota(cpus=10, memory=Quantity.of(40 * GI))
    found = quota_share(ml50, "cpu", own)
    assert (found.devices, found.milli_cpu, found.memory) == ({}, 10_000, 40 * GI)
    lent = quota_share(ml50, "cpu", own, 5)
    assert (lent.milli_cpu, lent.memory) == (5_000, 20 * GI)
    assert quota_share(ml50, "cpu", Quota(memory=Quantity.of(GI)), 5).memory == GI


def test_without_memory_of_its_own_it_follows_the_cores(ml50: Cluster) -> None:
    whole = flavor_capacity(ml50, "cpu")
    found = quota_share(ml50, "cpu", Quota(cpus=whole.milli_cpu // 1000))
    assert whole.memory * 9 // 10 < found.memory <= whole.memory
    assert found.memory % GI == 0


def test_a_pool_without_nodes_gives_no_memory(ml50: Cluster) -> None:
    assert quota_share(ml50, "none", Quota(cpus=3)) == Share(devices={}, milli_cpu=3000, memory=0, pods=0)


def test_what_ceph_can_hold_leaves_out_the_largest_host_and_stops_before_nearfull(ml50: Cluster) -> None:
    hosts = ml50.ceph_hosts
    assert [each.pool for each in hosts] == ["cpu"] * len(hosts)
    raw = ceph_raw(hosts[0], "nvme") * (len(hosts) - 1)
    pool = CephPool(name="x", device_class="nvme")
    assert ceph_usable(ml50, pool).value == int(raw // 3 * 0.85)
    coded = structs.replace(pool, erasure=Erasure(data=4, coding=2))
    assert ceph_usable(ml50, coded).value == int(raw * 4 // 6 * 0.85)
    assert ceph_usable(ml50, structs.replace(pool, device_class="ssd")).value == 0


def test_by_rack_the_largest_rack_is_left_out(ml50: Cluster) -> None:
    hosts = ml50.ceph_hosts
    by_rack = CephPool(name="x", device_class="nvme", failure_domain="rack")
    # Seven racks of four hosts.
    assert ceph_usable(ml50, by_rack).value == int(ceph_raw(hosts[0], "nvme") * 24 // 3 * 0.85)


def test_without_ceph_there_are_no_hosts(ml50: Cluster) -> None:
    without = structs.replace(ml50, storage=Storage())
    assert without.ceph_hosts == ()
    assert ceph_usable(without, CephPool(name="x", device_class="nvme")).value == 0


@pytest.mark.parametrize(
    ("nodes", "drives", "expected"),
    [
        (4, 1, ErasureSet(drives=4, sets=1, parity=2)),
        (4, 2, ErasureSet(drives=8, sets=1, parity=4)),
        (4, 3, ErasureSet(drives=12, sets=1, parity=6)),
        (4, 4, ErasureSet(drives=16, sets=1, parity=8)),
        (4, 6, ErasureSet(drives=12, sets=2, parity=6)),
        (4, 16, ErasureSet(drives=16, sets=4, parity=8)),
        (4, 5, ErasureSet(drives=4, sets=5, parity=2)),
        (5, 4, ErasureSet(drives=10, sets=2, parity=5)),
        (17, 1, None),
        # More nodes than a set has drives: each set takes one drive of some nodes.
        (20, 4, ErasureSet(drives=10, sets=8, parity=5)),
        (32, 2, ErasureSet(drives=16, sets=4, parity=8)),
        (1, 1, None),
    ],
)
def test_minio_takes_the_largest_set_that_lies_alike_on_every_node(
    nodes: int, drives: int, expected: ErasureSet | None
) -> None:
    assert erasure_set(nodes, drives) == expected


def test_minio_holds_half_of_its_drives(ml50: Cluster) -> None:
    machines = ml50.in_pools("nas")
    drives = sum(disk.count for machine in machines for disk in machine.disks_for("objects"))
    size = machines[0].disks_for("objects")[0].size.value
    assert objects_usable(ml50).value == drives * size // 2


def test_every_drive_of_minio_counts_as_the_smallest(ml50: Cluster) -> None:
    first, *others = ml50.in_pools("nas")
    small = tuple(structs.replace(disk, size=Quantity.of(10**12)) for disk in first.hardware.disks)
    changed = structs.replace(ml50, machines=(with_hardware(first, disks=small), *others))
    drives = sum(disk.count for machine in changed.machines for disk in machine.disks_for("objects"))
    assert objects_usable(changed).value == drives * 10**12 // 2


def test_without_minio_nothing_is_held(ml50: Cluster) -> None:
    assert objects_usable(structs.replace(ml50, storage=Storage())).value == 0
    assert objects_usable(structs.replace(ml50, machines=())).value == 0


def test_each_pool_of_minio_counts_with_its_own_smallest_drive(ml50: Cluster) -> None:
    objects, machines = ml50.storage.objects, ml50.in_pools("nas")
    assert objects
    small = tuple(structs.replace(disk, size=Quantity.of(10**12)) for disk in machines[0].hardware.disks)
    more = tuple(structs.replace(with_hardware(machine, disks=small), pool="nas-2") for machine in machines)
    storage = structs.replace(ml50.storage, objects=structs.replace(objects, expansions=("nas-2",)))
    grown = structs.replace(ml50, machines=(*ml50.machines, *more), storage=storage)
    drives = sum(disk.count for machine in more for disk in machine.hardware.disks)
    assert objects_usable(grown).value == objects_usable(ml50).value + drives * 10**12 // 2
