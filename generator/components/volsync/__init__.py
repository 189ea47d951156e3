"""VolSync: backs up volumes of teams with restic, from snapshots, to S3; drills try what it made."""

from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Chart, Component, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.operated import OWN, Api, OperatedKind
from generator.components.volsync.names import GROUP, NAME, NAMESPACE
from generator.components.workflows.targets import elsewhere, reached
from generator.model.backup import VolumeBackup
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster

VERSIONS = Versions(
    "volsync",
    (
        Version(
            version="v0.16.0",
            proven="v0.16.0",
            charts=(Chart(name="volsync", repository="https://backube.github.io/helm-charts/", version="0.16.0"),),
            images={"mover": "quay.io/backube/volsync:0.16.0"},
            schemas=("volsync/v0.16.0",),
        ),
    ),
)


def volsync(cluster: Cluster) -> Component:
    """Install VolSync where a volume is backed up, the drills of its backups and their ways back."""
    from generator.components.volsync.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.volsync.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


def able(cluster: Cluster) -> tuple[VolumeBackup, ...]:
    """Return the backups of volumes that have both ends; movers speak S3 alone."""
    if not cluster.storage.ceph:
        return ()
    found = (one for one in cluster.volume_backups if reached(cluster, one))
    return tuple(one for one in found if not (place := elsewhere(cluster, one)) or place.url)


DEFINITION = Definition(
    name=NAME,
    tier=Tier.STORAGE,
    make=volsync,
    wanted=able,
    absence="no volumes are backed up",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *CLUSTER_ROLES),
    apis=(Api(group=GROUP),),
    kinds=(
        OperatedKind(
            kind="ReplicationSource",
            group=GROUP,
            # Not the claim: it is the team's, who makes it when it likes.
            names=(
                ("Secret", "spec.restic.repository", OWN),
                ("StorageClass", "spec.restic.storageClassName"),
                ("StorageClass", "spec.restic.cacheStorageClassName"),
                ("VolumeSnapshotClass", "spec.restic.volumeSnapshotClassName"),
            ),
        ),
    ),
    changes=change_rules,
    shown_by=Evidence(images=("backube/volsync",)),
    notes="Movers run in the namespaces of teams, through the team's queue, with the team's quota. How backups of "
    "volumes work, and the way back: [operations.md](operations.md#volumes).",
)
