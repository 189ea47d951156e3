"""The storage classes that Ceph offers, and the classes of its snapshots."""

from collections.abc import Iterator

from generator.components.ceph_cluster.names import block_class, bucket_class, file_class, metadata_pool, snapshot_class
from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.common import DEFAULT_CLASS
from generator.components.component import Manifest
from generator.components.rook_ceph import NAMESPACE
from generator.model.storage import Ceph, CephPool


def storage_classes(ceph: Ceph) -> Iterator[Manifest]:
    """Yield a class for each block pool, each data pool of a filesystem and each object store."""
    for pool in ceph.block_pools:
        parameters = {**_images(pool), **secrets_of("rook-csi-rbd")}
        yield _class(block_class(pool), RBD_DRIVER, parameters, pool)
    for filesystem in ceph.filesystems:
        for pool in filesystem.data:
            # Ceph's own name of the pool: Rook puts the filesystem's before it.
            place = {"clusterID": NAMESPACE, "fsName": filesystem.name, "pool": f"{filesystem.name}-{pool.name}"}
            parameters = {**place, **secrets_of("rook-csi-cephfs")}
            yield _class(file_class(filesystem, pool), CEPHFS_DRIVER, parameters, pool)
    for store in ceph.object_stores:
        parameters = {"objectStoreName": store.name, "objectStoreNamespace": NAMESPACE}
        yield _class(bucket_class(store), f"{NAMESPACE}.ceph.rook.io/bucket", parameters)


def _class(name: str, provisioner: str, parameters: dict[str, str], pool: CephPool | None = None) -> Manifest:
    """Return a class of volumes on a pool, or of buckets. Those are retained: the class decides whether a bucket goes
    with its claim, and they hold datasets.
    """
    metadata: Manifest = {"name": name}
    if pool and pool.default:
        metadata["annotations"] = {DEFAULT_CLASS: "true"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata,
        "provisioner": provisioner,
        "parameters": parameters,
        **({"reclaimPolicy": pool.reclaim, "allowVolumeExpansion": True} if pool else {"reclaimPolicy": "Retain"}),
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


def secrets_of(prefix: str) -> dict[str, str]:
    """Return references to the Secrets that Rook makes: without one of them its step fails only when it is used."""
    provisioner = dict.fromkeys(("provisioner", "controller-expand", "controller-publish"), f"{prefix}-provisioner")
    parameters = {}
    for role, name in {**provisioner, "node-stage": f"{prefix}-node"}.items():
        parameters[f"csi.storage.k8s.io/{role}-secret-name"] = name
        parameters[f"csi.storage.k8s.io/{role}-secret-namespace"] = NAMESPACE
    return parameters


def snapshot_classes(ceph: Ceph) -> Iterator[Manifest]:
    """Yield the class of snapshots of each driver in use."""
    for name, driver, used in (("rbd", RBD_DRIVER, ceph.block_pools), ("cephfs", CEPHFS_DRIVER, ceph.filesystems)):
        if used:
            yield {
                "apiVersion": "snapshot.storage.k8s.io/v1",
                "kind": "VolumeSnapshotClass",
                "metadata": {"name": snapshot_class(name)},
                "driver": driver,
                "parameters": {
                    "clusterID": NAMESPACE,
                    "csi.storage.k8s.io/snapshotter-secret-name": f"rook-csi-{name}-provisioner",
                    "csi.storage.k8s.io/snapshotter-secret-namespace": NAMESPACE,
                },
                "deletionPolicy": "Delete",
            }
