"""Tier 2: the Ceph cluster, its pools, filesystems, object stores, and the storage classes they make."""

from generator.components.ceph_cluster.buckets import bucket_claims, certificates, readers
from generator.components.ceph_cluster.classes import snapshot_classes, storage_classes
from generator.components.ceph_cluster.daemons import ceph_cluster_object
from generator.components.ceph_cluster.health import HEALTH
from generator.components.ceph_cluster.pools import block_pools, filesystems, mgr_pool, object_stores
from generator.components.ceph_cluster.secrets import secrets
from generator.components.ceph_cluster.toolbox import toolbox
from generator.components.component import Component, Ignore, Manifest, Tier
from generator.components.issuers import ISSUER
from generator.model.capacity import ceph_hosts
from generator.model.cluster import Cluster
from generator.model.storage import Ceph
from generator.model.versions import version_of

__all__ = ["ceph_cluster"]


def ceph_cluster(cluster: Cluster) -> Component | None:
    """Describe Ceph to Rook in objects of our own (facts: the third step; its chart adds nothing to them). Its
    version is Ceph's, so that Rook and Ceph move in commits of their own.
    """
    ceph = cluster.storage.ceph
    if ceph is None or not ceph_hosts(cluster):
        return None
    return Component(
        name="ceph-cluster",
        tier=Tier.STORAGE,
        summary="Ceph: block, file and object storage on the nodes' disks",
        version=version_of("ceph-cluster", cluster).version,
        objects=objects(cluster, ceph),
        needs=needs(cluster, ceph),
        secrets=tuple(secrets(cluster, ceph)),
        health=HEALTH,
        # The provisioner writes the bucket it found or made into the claim.
        ignore=(Ignore(group="objectbucket.io", kind="ObjectBucketClaim", pointers=("/spec/objectBucketName",)),),
    )


def needs(cluster: Cluster, ceph: Ceph) -> tuple[str, ...]:
    """Return what must be there first. Of Prometheus only the kinds: its own volume may lie on Ceph."""
    issuers = ("issuers",) if ceph.encryption.transit and ceph.object_stores else ()
    monitors = ("prometheus-crds",) if cluster.monitoring.prometheus else ()
    return ("rook-ceph", "ceph-csi-drivers", "snapshot-controller", *issuers, *monitors)


def objects(cluster: Cluster, ceph: Ceph) -> tuple[Manifest, ...]:
    """Return everything that is told to Rook, and what offers it to pods."""
    return (
        ceph_cluster_object(cluster, ceph),
        mgr_pool(cluster),
        *block_pools(ceph),
        *filesystems(cluster, ceph),
        *object_stores(cluster, ceph),
        *certificates(cluster, ceph, ISSUER),
        *storage_classes(ceph),
        *snapshot_classes(ceph),
        *bucket_claims(cluster, ceph),
        *readers(cluster, ceph),
        *((toolbox(cluster),) if ceph.toolbox else ()),
    )
