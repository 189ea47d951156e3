"""What a team's namespace holds for the backups of its volumes."""

from collections.abc import Iterator

from generator.components.ceph_cluster.names import block_class, file_class, snapshot_class
from generator.components.component import Manifest, Secret
from generator.components.issuers import signed, trusting
from generator.components.parts import resources
from generator.components.rbac import binding
from generator.components.volsync import able
from generator.components.volsync.names import (
    AUTHORITIES,
    CA,
    GROUP,
    LABELS,
    NAMESPACE,
    PRIVILEGED,
    RESTORE,
    repository,
)
from generator.components.volsync.places import copied, trusted
from generator.components.workflows.reaching import authorities
from generator.model.backup import PRUNE_DAYS, VolumeBackup
from generator.model.cluster import Cluster
from generator.model.cron import in_numbers
from generator.model.storage import Ceph
from generator.model.teams import Team

CACHE = "2Gi"
"""Of a mover's own volume, for the repository's index: enough for some millions of files."""
MEMORY = "2Gi"
"""Of a mover: restic holds the index of its repository there, about 1 GiB for each 10 TiB or 10 million files."""


def backups_of(cluster: Cluster, team: Team) -> tuple[VolumeBackup, ...]:
    """Return the backups of a team's volumes that have both ends; rules report the others."""
    return tuple(one for one in able(cluster) if one.source.team == team.name)


def annotations(cluster: Cluster, team: Team) -> dict[str, str]:
    """Return what a team's namespace says to VolSync: that movers may be root, where a backup says so."""
    return PRIVILEGED if any(one.privileged for one in backups_of(cluster, team)) else {}


def belongings(cluster: Cluster, team: Team) -> Iterator[Manifest]:
    """Yield the objects in a team's namespace."""
    found = backups_of(cluster, team)
    if any(one.target.in_minio for one in found):
        yield trusting(CA, team.name, LABELS)
    if found:
        yield granted(team)
    yield from authorities(cluster, found, LABELS, team.name, AUTHORITIES)
    for one in found:
        made = source(cluster, one)
        if made:
            yield made


def source(cluster: Cluster, backup: VolumeBackup) -> Manifest | None:
    """Return what VolSync backs a volume up by; None where its class has no snapshots, which a rule reports."""
    ceph = cluster.storage.ceph
    kind = ceph and volume_kind(ceph, backup.source.storage_class)
    if not kind:
        return None
    restic = {
        **mover(cluster, backup),
        "copyMethod": "Snapshot",
        "volumeSnapshotClassName": snapshot_class(kind),
        # Of a filesystem's snapshot a volume that is only read is no copy, but the snapshot itself (ceph-csi 3.9:
        # `IsShallowVolumeSupported`); the cache must be written.
        **({"accessModes": ["ReadOnlyMany"]} if kind == "cephfs" else {}),
        "retain": {"within": f"{backup.keep_days}d"},
        "pruneIntervalDays": PRUNE_DAYS,
        **({"unlock": backup.unlock} if backup.unlock else {}),
    }
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ReplicationSource",
        "metadata": {"name": backup.name, "namespace": backup.source.team, "labels": LABELS},
        "spec": {
            "sourcePVC": backup.source.claim,
            "paused": backup.suspended,
            "trigger": {"schedule": in_numbers(backup.schedule)},
            "restic": restic,
        },
    }


def mover(cluster: Cluster, backup: VolumeBackup) -> Manifest:
    """Return what movers have in common, there and back: where from and to, as whom, and with how much."""
    ca = trusted(cluster, backup)
    return {
        "repository": repository(backup),
        **({"customCA": {"configMapName" if ca.public else "secretName": ca.name, "key": ca.key}} if ca else {}),
        "storageClassName": backup.source.storage_class,
        "cacheStorageClassName": backup.source.storage_class,
        "cacheAccessModes": ["ReadWriteOnce"],
        "cacheCapacity": CACHE,
        "moverResources": resources("500m", MEMORY, MEMORY),
        "moverSecurityContext": security(backup),
    }


def security(backup: VolumeBackup) -> Manifest:
    """Return as whom a mover runs. VolSync itself makes those root, with three capabilities, that may be privileged."""
    profile = {"seccompProfile": {"type": "RuntimeDefault"}}
    if backup.user is None:
        return profile
    return {
        "runAsUser": backup.user,
        "runAsGroup": backup.user,
        "fsGroup": backup.user,
        "runAsNonRoot": True,
        **profile,
    }


def volume_kind(ceph: Ceph, storage_class: str) -> str:
    """Return what makes volumes of a storage class, `rbd` or `cephfs`, "" where that is nothing of Ceph's."""
    if any(block_class(pool) == storage_class for pool in ceph.block_pools):
        return "rbd"
    pools = ((filesystem, pool) for filesystem in ceph.filesystems for pool in filesystem.data)
    return "cephfs" if any(file_class(*one) == storage_class for one in pools) else ""


def granted(team: Team) -> Manifest:
    """Return what lets runs that bring volumes back make claims, what VolSync restores by, and Jobs for a team."""
    metadata = {"name": RESTORE, "namespace": team.name, "labels": LABELS}
    subject = {"kind": "ServiceAccount", "name": RESTORE, "namespace": NAMESPACE}
    return binding(metadata, "ClusterRole", RESTORE, [subject])


def secrets(cluster: Cluster, team: Team) -> Iterator[Secret]:
    """Yield what movers read in a team's namespace."""
    found = backups_of(cluster, team)
    if any(one.target.in_minio for one in found):
        yield signed(CA, team.name, "movers of volume backups")
    for one in found:
        yield copied(cluster, one, team.name, "movers of volume backups")
