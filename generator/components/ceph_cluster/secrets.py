"""The Secrets that Rook and cert-manager make for Ceph."""

from collections.abc import Iterator

from generator.components.ceph_cluster.buckets import backup_reader
from generator.components.ceph_cluster.pools import rgw_secret
from generator.components.component import Secret
from generator.components.rook_ceph import NAMESPACE
from generator.model.cluster import Cluster
from generator.model.storage import Ceph

__all__ = ["secrets"]


def secrets(cluster: Cluster, ceph: Ceph) -> Iterator[Secret]:
    """Yield what must be known of, though nobody has to give it. The one of the monitors is Ceph's identity, and
    with encrypted disks the monitors hold the disks' keys: keep a copy outside the cluster.
    """
    yield Secret(
        name="rook-ceph-mon",
        namespace=NAMESPACE,
        keys=("ceph-secret", "ceph-username", "fsid", "mon-secret"),
        source="in-cluster",
        loss="data",
        rotate="spec.security.cephx.daemon of the CephCluster (keyRotationPolicy, keyGeneration)",
        readers=("rook-ceph-operator", "rook-ceph-tools"),
        by="ceph-cluster",
    )
    if ceph.block_pools:
        yield _csi("rook-csi-rbd-provisioner")
        yield _csi("rook-csi-rbd-node")
    if ceph.filesystems:
        yield _csi("rook-csi-cephfs-provisioner")
        yield _csi("rook-csi-cephfs-node")
    yield from _object_stores(cluster, ceph)


def _csi(name: str) -> Secret:
    return Secret(
        name=name,
        namespace=NAMESPACE,
        keys=("userID", "userKey"),
        source="in-cluster",
        loss="outage",
        rotate="spec.security.cephx.csi of the CephCluster (keyRotationPolicy, keyGeneration)",
        readers=("ceph-csi-drivers",),
        by="ceph-cluster",
    )


def _object_stores(cluster: Cluster, ceph: Ceph) -> Iterator[Secret]:
    stores = {backup.source.store for backup in cluster.backups}
    for store in ceph.object_stores:
        if ceph.encryption.transit:
            certificate = ("ca.crt", "tls.crt", "tls.key")
            rotate = "cert-manager renews it a year before its end; then restart the Deployments rook-ceph-rgw-*"
            yield _made(rgw_secret(store), certificate, rotate, "rook-ceph-rgw", by="cert-manager")
        if store.name in stores:
            name = f"rook-ceph-object-user-{store.name}-{backup_reader(store)}"
            reader = ("AccessKey", "Endpoint", "SecretKey")
            yield _made(name, reader, "delete the CephObjectStoreUser: Argo CD makes it again", "workflows")


def _made(name: str, keys: tuple[str, ...], rotate: str, reader: str, *, by: str = "ceph-cluster") -> Secret:
    return Secret(
        name=name,
        namespace=NAMESPACE,
        keys=keys,
        source="in-cluster",
        loss="outage",
        rotate=rotate,
        readers=(reader,),
        by=by,
    )
