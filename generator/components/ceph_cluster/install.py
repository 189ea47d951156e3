"""Tier 2: the Ceph cluster, its pools, filesystems, object stores, and the storage classes they make."""

from collections.abc import Iterator

from msgspec import structs

from generator.components.ceph_cluster import DEFINITION, VERSIONS
from generator.components.ceph_cluster.buckets import (
    BOUND,
    backup_reader,
    backup_users,
    bucket_claims,
    certificates,
    restorer,
    store_secret,
)
from generator.components.ceph_cluster.classes import snapshot_classes, storage_classes
from generator.components.ceph_cluster.daemons import ceph_cluster_object, toolbox
from generator.components.ceph_cluster.datasets import datasets
from generator.components.ceph_cluster.log_bucket import copied_keys_of_logs, log_bucket
from generator.components.ceph_cluster.nfs import nfs
from generator.components.ceph_cluster.pools import (
    block_pools,
    filesystems,
    mgr_pool,
    object_stores,
    rgw_deployment,
    rgw_secret,
)
from generator.components.common import prometheus_crds
from generator.components.component import Component, Health, Manifest, Secret, Turn
from generator.components.datasets import BOUND as VOLUME_BOUND
from generator.components.datasets import in_ceph
from generator.components.rook_ceph import ENDPOINTS, NAMESPACE
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.storage import Ceph

GROUP = "ceph.rook.io"
USERS = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/cephobjectstoreusers"
# Argo CD itself knows CephObjectStore and ObjectBucketClaim since 3.3.
WITH_PHASE = ("CephBlockPool", "CephFilesystem", "CephFilesystemSubVolumeGroup", "CephNFS", "CephObjectStoreUser")


def install(cluster: Cluster) -> Component:
    """Describe Ceph to Rook in objects of our own (facts: the third step; its chart adds nothing to them). Its
    version is Ceph's, so that Rook and Ceph move in commits of their own.
    """
    ceph = cluster.storage.ceph
    assert ceph
    return Component(
        name="ceph-cluster",
        tier=DEFINITION.tier,
        summary="Ceph: block, file and object storage on the nodes' disks",
        version=VERSIONS.of(cluster).version,
        objects=objects(cluster, ceph),
        needs=needs(cluster, ceph),
        secrets=(*secrets(cluster, ceph), *copied_keys_of_logs(cluster)),
        health=health(),
        ignore=(BOUND, *((VOLUME_BOUND,) if any(in_ceph(cluster)) else ())),
    )


def needs(cluster: Cluster, ceph: Ceph) -> tuple[str, ...]:
    """Return what must be there first. Of Prometheus only the kinds: its own volume may lie on Ceph."""
    issuers = ("issuers",) if ceph.encryption.transit and ceph.object_stores else ()
    return ("rook-ceph", "ceph-csi-drivers", "snapshot-controller", *issuers, *prometheus_crds(cluster))


def objects(cluster: Cluster, ceph: Ceph) -> tuple[Manifest, ...]:
    """Return everything that is told to Rook, and what offers it to pods."""
    return (
        ceph_cluster_object(cluster, ceph),
        mgr_pool(cluster),
        *block_pools(ceph),
        *filesystems(cluster, ceph),
        *datasets(cluster),
        *object_stores(cluster, ceph),
        *certificates(cluster, ceph),
        *storage_classes(ceph),
        *snapshot_classes(ceph),
        *nfs(cluster),
        *bucket_claims(cluster, ceph),
        *backup_users(cluster, ceph),
        *log_bucket(cluster),
        *((toolbox(cluster),) if ceph.toolbox else ()),
    )


def health() -> tuple[Health, ...]:
    """Return how Argo CD tells that Ceph is well; it loads only the base and table libraries of Lua. Its own check
    calls HEALTH_WARN degraded, and a new cluster warns for minutes: later waves would never start (facts: storage 12).
    Ours lets warnings pass and shows them.
    """
    phase = read_text("ceph_cluster/phase.lua")
    cluster = Health(GROUP, "CephCluster", read_text("ceph_cluster/cluster.lua"))
    return (cluster, *(Health(GROUP, kind, phase) for kind in WITH_PHASE))


def secrets(cluster: Cluster, ceph: Ceph) -> Iterator[Secret]:
    """Yield the Secrets that Rook and cert-manager make: nobody has to give them. The one of the monitors is Ceph's
    identity, and with encrypted disks the monitors hold the disks' keys: keep a copy outside the cluster.
    """
    rotation = (
        "by a commit: `keys: {{{}: {}}}` below `storage.ceph` of clusters/"
        f'{cluster.name}/cluster.yaml; then as docs/operations.md, "Ceph\'s own keys", says'
    )
    monitors = ("ceph-secret", "ceph-username", "fsid", "mon-secret")
    yield Secret(
        name="rook-ceph-mon",
        namespace=NAMESPACE,
        keys=monitors,
        source="in-cluster",
        loss="data",
        rotate=rotation.format("daemons", ceph.keys.daemons + 1),
        readers=("rook-ceph-operator", "rook-ceph-tools"),
        by="ceph-cluster",
        along={ENDPOINTS: ("data", "mapping")},
    )
    for driver, used in (("rbd", ceph.block_pools), ("cephfs", ceph.filesystems)):
        for role in ("provisioner", "node") if used else ():
            name = f"rook-csi-{driver}-{role}"
            yield made(name, ("userID", "userKey"), rotation.format("csi", ceph.keys.csi + 1), "ceph-csi-drivers")
    yield from of_stores(cluster, ceph)


def of_stores(cluster: Cluster, ceph: Ceph) -> Iterator[Secret]:
    """Yield the Secrets of object stores: of their gateways, and of who backs them up and brings them back."""
    backed_up = {backup.source.store for backup in cluster.backups}
    for store in ceph.object_stores:
        if ceph.encryption.transit:
            certificate = ("ca.crt", "tls.crt", "tls.key")
            rotate = "cert-manager renews it a year before its end; then restart the Deployments rook-ceph-rgw-*"
            turn = Turn(way="delete", restarts=(f"Deployment/{rgw_deployment(store)}",))
            own = made(rgw_secret(store), certificate, rotate, "rook-ceph-rgw", by="cert-manager")
            yield structs.replace(own, turn=turn)
        if store.name in backed_up:
            keys = ("AccessKey", "Endpoint", "SecretKey")
            rotate = "delete the CephObjectStoreUser: Argo CD makes it again"
            reader = backup_reader(store)
            turn = Turn(way="delete", deletes=f"{USERS}/{reader}", still="the backup of buckets that is under way")
            yield structs.replace(made(store_secret(store, reader), keys, rotate, "workflows"), turn=turn)
            # Rook deletes no user that has buckets.
            rotate = f"remove the buckets that were restored, then {rotate}"
            turn = Turn(way="user", user=f"{USERS}/{restorer(store)}", still="a restore that is under way")
            yield structs.replace(made(store_secret(store, restorer(store)), keys, rotate, "workflows"), turn=turn)


def made(name: str, keys: tuple[str, ...], rotate: str, reader: str, *, by: str = "ceph-cluster") -> Secret:
    """Declare a Secret without which something stops, until it is made again."""
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
