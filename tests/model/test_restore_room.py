"""The room that restored buckets may take."""

from msgspec import structs

from generator.components.ceph_cluster import ceph_cluster
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.restore_room import restore_room, store_holds
from generator.model.storage import Bucket, CephObjectStore


def store(cluster: Cluster) -> CephObjectStore:
    assert cluster.storage.ceph
    return cluster.storage.ceph.object_stores[0]


def with_quota(cluster: Cluster, quota: str) -> Cluster:
    assert cluster.storage.ceph
    made = store(cluster)
    pool = structs.replace(made.data, quota=Quantity.parse(quota))
    ceph = structs.replace(cluster.storage.ceph, object_stores=(structs.replace(made, data=pool),))
    return structs.replace(cluster, storage=structs.replace(cluster.storage, ceph=ceph))


def with_buckets(cluster: Cluster, *buckets: Bucket) -> Cluster:
    assert cluster.storage.objects
    objects = structs.replace(cluster.storage.objects, buckets=buckets)
    return structs.replace(cluster, storage=structs.replace(cluster.storage, objects=objects))


def without_users(cluster: Cluster) -> Cluster:
    assert cluster.storage.objects
    objects = structs.replace(cluster.storage.objects, users=())
    return structs.replace(cluster, storage=structs.replace(cluster.storage, objects=objects))


def test_it_is_all_that_the_backups_can_come_to_hold(ml50: Cluster) -> None:
    # 150T and 30 days of 2T, 100T and 7 days of 8T, each and two days that they go late.
    assert str(restore_room(ml50, store(ml50))) == "386T"
    assert str(restore_room(with_buckets(ml50), store(ml50))) == "386T"
    # Nobody hides what is gone: the buckets' quotas.
    assert str(restore_room(without_users(ml50), store(ml50))) == "500T"


def test_it_is_no_more_than_the_store_holds(ml50: Cluster) -> None:
    small = with_quota(ml50, "300T")
    assert store_holds(small, store(small)) == 300 * 10**12
    assert str(restore_room(small, store(small))) == "300T"


def test_the_user_that_restores_has_it_as_its_quota(ml50: Cluster) -> None:
    users = [one for one in ceph_cluster(ml50).objects if one["kind"] == "CephObjectStoreUser"]
    quotas = {one["metadata"]["name"]: one["spec"].get("quotas") for one in users}
    assert quotas["datasets-restore"] == {"maxSize": "386T"}
    assert quotas["datasets-backup-reader"] is None
