"""VolSync: backs up volumes of teams with restic, from snapshots, to S3; drills try what it made."""

from generator.components.common import prometheus_crds
from generator.components.component import Component, Manifest, Namespace, Operation, Release
from generator.components.parts import resources, tolerations
from generator.components.static import read_objects
from generator.components.volsync import DEFINITION, VERSIONS, drills, restores
from generator.components.volsync.names import NAMESPACE
from generator.components.volsync.places import proxied
from generator.model.cluster import Cluster


def install(cluster: Cluster) -> Component:
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
