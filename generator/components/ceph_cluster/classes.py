"""The storage classes that Ceph offers, and the classes of its snapshots."""

from collections.abc import Iterator

from generator.components.ceph_cluster.pools import metadata_pool
from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.component import Manifest
from generator.components.rook_ceph import NAMESPACE
from generator.model.storage import Ceph, CephFilesystem, CephObjectStore, CephPool

__all__ = ["block_class", "bucket_class", "file_class", "snapshot_classes", "storage_classes"]


def block_class(pool: CephPool) -> str:
    """Return the name of the storage class of a block pool."""
    return pool.storage_class or pool.name


def file_class(filesystem: CephFilesystem, pool: CephPool) -> str:
    """Return the name of the storage class of one data pool of a filesystem."""
    return pool.storage_class or f"{filesystem.name}-{pool.name}"


def bucket_class(store: CephObjectStore) -> str:
    """Return the name of the storage class of an object store's buckets."""
    return store.data.storage_class or f"{store.name}-bucket"


def storage_classes(ceph: Ceph) -> Iterator[Manifest]:
    """Yield a class for each block pool, each data pool of a filesystem and each object store."""
    for pool in ceph.block_pools:
        yield _csi_class(block_class(pool), pool, RBD_DRIVER, {**_images(pool), **_secrets("rook-csi-rbd")})
    for filesystem in ceph.filesystems:
        for pool in filesystem.data:
            # Ceph's own name of the pool: Rook puts the filesystem's before it.
            place = {"clusterID": NAMESPACE, "fsName": filesystem.name, "pool": f"{filesystem.name}-{pool.name}"}
            parameters = {**place, **_secrets("rook-csi-cephfs")}
            yield _csi_class(file_class(filesystem, pool), pool, CEPHFS_DRIVER, parameters)
    for store in ceph.object_stores:
        yield _bucket_class(store)


def _csi_class(name: str, pool: CephPool, driver: str, parameters: dict[str, str]) -> Manifest:
    metadata: Manifest = {"name": name}
    if pool.default:
        metadata["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata,
        "provisioner": driver,
        "parameters": parameters,
        "reclaimPolicy": pool.reclaim,
        "allowVolumeExpansion": True,
        "volumeBindingMode": "Immediate",
    }


def _images(pool: CephPool) -> dict[str, str]:
    pools = {"pool": metadata_pool(pool), "dataPool": pool.name} if pool.erasure else {"pool": pool.name}
    return {
        "clusterID": NAMESPACE,
        **pools,
        "imageFormat": "2",
        "imageFeatures": "layering",
        "csi.storage.k8s.io/fstype": "ext4",
    }


def _secrets(prefix: str) -> dict[str, str]:
    """Return references to the Secrets that Rook makes: without one of them its step fails only when it is used."""
    names = {
        "provisioner": f"{prefix}-provisioner",
        "controller-expand": f"{prefix}-provisioner",
        "controller-publish": f"{prefix}-provisioner",
        "node-stage": f"{prefix}-node",
    }
    parameters = {}
    for role, name in names.items():
        parameters[f"csi.storage.k8s.io/{role}-secret-name"] = name
        parameters[f"csi.storage.k8s.io/{role}-secret-namespace"] = NAMESPACE
    return parameters


def _bucket_class(store: CephObjectStore) -> Manifest:
    """Retain: the class decides whether a bucket goes with its claim, and these hold datasets."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": bucket_class(store)},
        "provisioner": f"{NAMESPACE}.ceph.rook.io/bucket",
        "parameters": {"objectStoreName": store.name, "objectStoreNamespace": NAMESPACE},
        "reclaimPolicy": "Retain",
        "volumeBindingMode": "Immediate",
    }


def snapshot_classes(ceph: Ceph) -> Iterator[Manifest]:
    """Yield the class of snapshots of each driver in use."""
    if ceph.block_pools:
        yield _snapshot_class("csi-rbdplugin-snapclass", RBD_DRIVER, "rook-csi-rbd-provisioner")
    if ceph.filesystems:
        yield _snapshot_class("csi-cephfsplugin-snapclass", CEPHFS_DRIVER, "rook-csi-cephfs-provisioner")


def _snapshot_class(name: str, driver: str, secret: str) -> Manifest:
    return {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": name},
        "driver": driver,
        "parameters": {
            "clusterID": NAMESPACE,
            "csi.storage.k8s.io/snapshotter-secret-name": secret,
            "csi.storage.k8s.io/snapshotter-secret-namespace": NAMESPACE,
        },
        "deletionPolicy": "Delete",
    }
