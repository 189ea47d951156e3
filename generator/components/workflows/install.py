"""The backups of Ceph's buckets: their schedules, their drills, their ways back, and what their pods may do."""

from collections.abc import Iterator

from generator.components.ceph_cluster.buckets import backup_reader, owner_secret, restorer, store_secret
from generator.components.ceph_cluster.pools import rgw_url
from generator.components.component import Component, Operation, Patch, Secret
from generator.components.issuers import signed
from generator.components.minio.settings import CLIENT_IMAGE, client_image
from generator.components.rook_ceph import NAMESPACE
from generator.components.static import read_objects
from generator.components.workflows import DEFINITION, backup, drill, exports, to_files
from generator.components.workflows.reaching import authorities, keys
from generator.components.workflows.runs import Ends, all_runs
from generator.components.workflows.steps import image_operations, patch_of
from generator.components.workflows.targets import reader, target, writer
from generator.components.workflows.turns import at_once
from generator.model.cluster import Cluster
from generator.model.restore_room import restore_room
from generator.model.retention import keeper


def install(cluster: Cluster) -> Component:
    """Return the schedules of the backups of Ceph's buckets and of their drills, and their ways back. They run where
    the readers' Secrets are, in Rook's namespace, with ServiceAccounts that may only report their own results.
    """
    return Component(
        name="workflows",
        tier=DEFINITION.tier,
        summary="Operations: backups on a schedule, their drills, and their way back",
        version="v1",
        base=read_objects("workflows/base.yaml"),
        objects=(
            *all_runs(cluster, tuple(whole(cluster)), NAMESPACE),
            *to_files.objects(cluster, to_files.going(whole(cluster)), NAMESPACE),
            *exports.volumes(cluster, cluster.ceph_backups, backup.LABELS, NAMESPACE),
            *authorities(cluster, cluster.ceph_backups, backup.LABELS, NAMESPACE),
            *at_once(cluster, backup.LABELS, NAMESPACE),
        ),
        ignore=exports.ignored(cluster, cluster.ceph_backups),
        patches=own_image(cluster),
        operations=(
            Operation(name="backup", templates=(backup.workflow_template(), backup.scripts())),
            Operation(name="drill", templates=(drill.workflow_template(),)),
        ),
        needs=("argo-workflows", "ceph-cluster", "issuers", "minio"),
        secrets=secrets(cluster),
    )


def own_image(cluster: Cluster) -> tuple[Patch, ...]:
    """Return the patches of the shared templates for a cluster whose MinIO client is not the catalogue's first."""
    image = client_image(cluster)
    shared = () if image == CLIENT_IMAGE else (backup.workflow_template(), drill.workflow_template())
    return tuple(patch_of(template, image_operations(template, image)) for template in shared)


def whole(cluster: Cluster) -> Iterator[Ends]:
    """Yield each backup of a bucket of Ceph that has both ends; a rule reports the others."""
    ceph = cluster.storage.ceph
    stores = {store.name: store for store in ceph.object_stores} if ceph else {}
    for item in cluster.ceph_backups:
        store, to = stores.get(item.source.store or ""), target(cluster, item)
        if ceph and store and to:
            yield Ends(
                item=item,
                to=to,
                url=rgw_url(ceph, store),
                reads=store_secret(store, backup_reader(store)),
                owns=owner_secret(cluster, item.source.bucket),
                makes=store_secret(store, restorer(store)),
                room=restore_room(cluster, store).value,
            )


def secrets(cluster: Cluster) -> tuple[Secret, ...]:
    """Return what the pods read beside the readers' keys, which `ceph-cluster` declares."""
    return (
        *keys(cluster, cluster.ceph_backups, NAMESPACE, "workflows", (writer, reader, keeper)),
        signed("backup-client", NAMESPACE, "workflows"),
    )
