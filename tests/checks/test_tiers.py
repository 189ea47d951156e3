"""What rules know of names agrees with what components write."""

from msgspec import structs
from reference import with_hardware

from generator.checks import check
from generator.checks.teams import NAMESPACES
from generator.checks.tiers import (
    ceph_pools,
    default_classes,
    disk_lists,
    disks,
    failure_domains,
    idle_disks,
    storage_classes,
)
from generator.components import compose
from generator.model.cluster import Cluster
from generator.model.storage import CephPool, Nfs, Storage


def with_nfs(cluster: Cluster) -> Cluster:
    nfs = Nfs(server="nfs.example.org", share="/lab")
    return structs.replace(cluster, storage=structs.replace(cluster.storage, nfs=nfs))


def test_the_storage_classes_are_those_that_components_write(ml50: Cluster) -> None:
    cluster = with_nfs(ml50)
    objects = [each for component in compose(cluster) for each in (*component.base, *component.objects)]
    written = sorted(each["metadata"]["name"] for each in objects if each["kind"] == "StorageClass")
    assert sorted(name for name, _ in storage_classes(cluster)) == written


def test_a_class_of_its_own_name_is_taken_from_the_pool(ml50: Cluster) -> None:
    assert ml50.storage.ceph
    pools = (structs.replace(ml50.storage.ceph.block_pools[0], storage_class="fast"),)
    storage = structs.replace(ml50.storage, ceph=structs.replace(ml50.storage.ceph, block_pools=pools))
    named = dict(storage_classes(structs.replace(ml50, storage=storage)))
    assert named["fast"] == ("storage", "ceph", "blockPools", 0, "storageClass")


def test_no_team_can_have_a_namespace_of_the_system(ml50: Cluster, a30: Cluster) -> None:
    teams = {team.name for cluster in (ml50, a30) for team in cluster.teams}
    components = [component for cluster in (ml50, a30, with_nfs(ml50)) for component in compose(cluster)]
    used = {namespace.name for component in components for namespace in component.namespaces} - teams
    assert {name for name in used if not name.startswith("kube-")} <= NAMESPACES


def test_every_pool_of_ceph_is_found_at_its_place(ml50: Cluster) -> None:
    found = {placed.at: placed.use for placed in ceph_pools(ml50)}
    assert found == {
        ("storage", "ceph", "blockPools", 0): "block",
        ("storage", "ceph", "filesystems", 0, "metadata"): "metadata",
        ("storage", "ceph", "filesystems", 0, "data", 0): "file",
        ("storage", "ceph", "filesystems", 0, "data", 1): "file",
        ("storage", "ceph", "objectStores", 0, "metadata"): "metadata",
        ("storage", "ceph", "objectStores", 0, "data"): "bucket",
    }
    assert [placed.pool.name for placed in default_classes(ml50)] == ["rbd-nvme"]


def test_failure_domains_are_hosts_or_racks_with_disks_of_the_class(ml50: Cluster) -> None:
    pool = CephPool(name="x", device_class="nvme")
    assert failure_domains(ml50, pool) == 28
    assert failure_domains(ml50, structs.replace(pool, failure_domain="rack")) == 7
    assert failure_domains(ml50, structs.replace(pool, device_class="ssd")) == 0


def test_a_cluster_without_storage_has_none_of_it(ml50: Cluster) -> None:
    bare = structs.replace(ml50, storage=Storage())
    assert not list(storage_classes(bare))
    assert not list(ceph_pools(bare))


def test_a_list_of_disks_is_found_once_with_all_its_nodes(ml50: Cluster) -> None:
    sizes = {each.at[1]: len(each.machines) for each in disk_lists(ml50)}
    assert sizes == {"system": 3, "gpu-training": 12, "gpu-inference": 3, "cpu": 28, "nas": 4}


def test_a_count_beyond_all_reason_is_told_at_once(ml50: Cluster) -> None:
    node = ml50.in_pools("cpu")[0]
    disks = tuple(structs.replace(disk, count=2**31 - 1) for disk in node.hardware.disks)
    cluster = structs.replace(ml50, machines=(with_hardware(node, disks=disks), *ml50.machines))
    assert {"GEN-DISK-005", "GEN-CEPH-013"} <= {finding.code for finding in check(cluster)}


def test_every_disk_is_found_at_its_place(ml50: Cluster) -> None:
    found = {each.at: each.disk for each in disks(ml50)}
    assert found[("pools", "nas", "hardware", "disks", 0)] == ml50.pools["nas"].hardware.disks[0]
    assert len(found) == sum(len(pool.hardware.disks) for pool in ml50.pools.values())


def test_disks_are_idle_where_no_tier_takes_their_pool(ml50: Cluster) -> None:
    assert list(idle_disks(ml50, "objects", ["nas"])) == []
    assert list(idle_disks(ml50, "objects", ["cpu"])) == [(("pools", "nas", "hardware", "disks", 0), "nas")]
