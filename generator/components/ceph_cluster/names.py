"""What Ceph's storage classes and pools are called."""

from generator.model.storage import CephFilesystem, CephObjectStore, CephPool

READER = "log-store"
"""The namespace of who keeps logs there."""


def block_class(pool: CephPool) -> str:
    """Return the name of the storage class of a block pool."""
    return pool.storage_class or pool.name


def file_class(filesystem: CephFilesystem, pool: CephPool) -> str:
    """Return the name of the storage class of one data pool of a filesystem."""
    return pool.storage_class or f"{filesystem.name}-{pool.name}"


def bucket_class(store: CephObjectStore) -> str:
    """Return the name of the storage class of an object store's buckets."""
    return store.data.storage_class or f"{store.name}-bucket"


def snapshot_class(kind: str) -> str:
    """Return the name of the class of snapshots of volumes that are `rbd` or `cephfs`."""
    return f"csi-{kind}plugin-snapclass"


def metadata_pool(pool: CephPool) -> str:
    """Return the name of the replicated pool beside an erasure-coded one."""
    return f"{pool.name}-metadata"
