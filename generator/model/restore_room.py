"""The room that buckets have which are brought back beside what is in a store of Ceph, or in MinIO."""

from generator.model.backup import Backup
from generator.model.capacity import ceph_usable, objects_usable
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.retention import bounded, kept_room, old_days, target_of
from generator.model.storage import CephObjectStore, CephPool


def backups_of(cluster: Cluster, store: CephObjectStore) -> tuple[Backup, ...]:
    """Return the backups of a store's buckets."""
    return tuple(one for one in cluster.backups if one.source.store == store.name)


def store_holds(cluster: Cluster, store: CephObjectStore) -> int:
    """Return the bytes that a store can hold: of its pool's quota and what its disks hold, the smaller one that is
    known; 0 where neither is.
    """
    return pool_holds(cluster, store.data)


def pool_holds(cluster: Cluster, pool: CephPool) -> int:
    """Return the same of a pool."""
    known = (pool.quota.value if pool.quota else 0, ceph_usable(cluster, pool).value)
    return min((one for one in known if one), default=0)


def restore_room(cluster: Cluster, store: CephObjectStore) -> Quantity:
    """Return what restored buckets of a store may take together: one restore of each of its backups, whole, which has
    all that is in it, and no more than the store holds.
    """
    needed = sum(_most(cluster, one) for one in backups_of(cluster, store))
    return Quantity.of(min(needed, store_holds(cluster, store) or needed))


def minio_restore_room(cluster: Cluster) -> Quantity:
    """Return the same of restored buckets of MinIO, which holds them beside all else."""
    needed = sum(_most(cluster, one) for one in cluster.minio_backups)
    return Quantity.of(min(needed, objects_usable(cluster).value or needed))


def _most(cluster: Cluster, backup: Backup) -> int:
    """Return what a backup can come to hold: its quota, or, where somebody hides what is gone, what it keeps then."""
    bucket = target_of(cluster, backup)
    quota = bucket.quota.value if bucket and bucket.quota else 0
    if bucket and bounded(cluster, backup):
        needed = kept_room(backup, old_days(bucket))
        return min(quota or needed, needed)
    return quota or kept_room(backup, backup.keep_days)
