"""VolSync: backs up volumes of teams with restic, from snapshots, to S3; drills try what it made."""

from generator.components.common import CLUSTER_ROLES, CRD, prometheus_crds
from generator.components.component import Component, Manifest, Namespace, Operation, Release, Tier
from generator.components.definition import Definition, Evidence
from generator.components.operated import OWN, Api, OperatedKind
from generator.components.parts import resources, tolerations
from generator.components.static import read_objects
from generator.components.volsync import drills, restores
from generator.components.volsync.names import GROUP, NAME, NAMESPACE
from generator.components.volsync.places import proxied
from generator.components.volsync.sources import able
from generator.components.volsync.versions import VERSIONS
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster


def volsync(cluster: Cluster) -> Component:
    """Install VolSync where a volume is backed up, the drills of its backups and their ways back. What is backed up is
    in the teams' namespaces, with `tenants`.
    """
    version, shared = VERSIONS.of(cluster), VERSIONS.known[0].images["mover"]
    return Component(
        name="volsync",
        tier=DEFINITION.tier,
        summary="Backups of volumes, with restic, their drills, and their ways back",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        base=read_objects("volsync/base.yaml"),
        objects=(*drills.authorities_of(cluster), *drills.schedules(cluster), *restores.objects(cluster)),
        releases=(Release(version.chart("volsync"), "volsync", NAMESPACE, values(cluster)),),
        patches=(*proxied(cluster), *drills.own_image(shared, version.images["mover"])),
        operations=(Operation(name=drills.NAME, templates=(drills.workflow_template(shared), drills.scripts())),),
        needs=("snapshot-controller", "argo-workflows", "issuers", "minio", *prometheus_crds(cluster)),
        secrets=tuple(drills.secrets(cluster)),
        kinds=DEFINITION.chart_kinds,
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. One manager: a second would only wait, and the chart keeps the two not apart. Its
    monitor brings no token, so that its metrics are asked for without one; they hold names and times.
    """
    return {
        "replicaCount": 1,
        "manageCRDs": True,
        "metrics": {"disableAuth": True},
        "resources": resources("100m", "128Mi", "1Gi"),
        "tolerations": tolerations(cluster.control_plane),
    }


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.volsync.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


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
