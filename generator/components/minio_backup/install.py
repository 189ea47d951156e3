"""Backups of MinIO's own buckets to a service outside the cluster. What runs is what backs up Ceph's buckets, in a
namespace of its own: there is none of Rook's where there is no Ceph, and in MinIO's a pod could read root's keys.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from generator.components.common import OWN_LABELS
from generator.components.component import Component, Manifest, Namespace, Operation, Patch, Secret
from generator.components.issuers import signed
from generator.components.minio.backed_up import OWNER, READER, RESTORER, users
from generator.components.minio.layout import URL
from generator.components.minio.settings import CLIENT_IMAGE, client_image
from generator.components.minio.user_keys import copied_keys, user_secret
from generator.components.minio_backup import DEFINITION, NAMESPACE
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.static import read_objects
from generator.components.workflows import backup, drill, exports, to_files
from generator.components.workflows.reaching import authorities, keys
from generator.components.workflows.runs import Ends, all_runs
from generator.components.workflows.steps import image_operations, patch_of
from generator.components.workflows.targets import elsewhere, target
from generator.components.workflows.turns import at_once
from generator.model.backup import RESTORED
from generator.model.cluster import Cluster
from generator.model.restore_room import minio_restore_room

OTHERWISE = {
    ROOK: NAMESPACE,
    f"backup-client.{ROOK}.svc": f"backup-client.{NAMESPACE}.svc",
    "workflows": NAMESPACE,
    "AccessKey": "accessKey",
    "SecretKey": "secretKey",
    "AWS_ACCESS_KEY_ID": "accessKey",
    "AWS_SECRET_ACCESS_KEY": "secretKey",
}
"""What is named otherwise than in the objects of Ceph's backups: where they are, and the keys of who reads and writes
the live side, which are users of MinIO.
"""


def install(cluster: Cluster) -> Component:
    """Return the schedules of the backups of MinIO's buckets and of their drills, and their ways back."""
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Backups of MinIO's own buckets to elsewhere, their drills, and their way back",
        version="v1",
        namespaces=(Namespace(NAMESPACE),),
        base=base(),
        objects=ours(
            (
                *all_runs(cluster, tuple(whole(cluster)), NAMESPACE),
                *to_files.objects(cluster, to_files.going(whole(cluster)), NAMESPACE),
                *exports.volumes(cluster, cluster.minio_backups, backup.LABELS, NAMESPACE),
                *authorities(cluster, cluster.minio_backups, backup.LABELS, NAMESPACE),
                *at_once(cluster, backup.LABELS, NAMESPACE),
            )
        ),
        ignore=exports.ignored(cluster, cluster.minio_backups),
        patches=own_image(cluster),
        operations=(Operation(name=NAMESPACE, templates=templates()),),
        needs=("argo-workflows", "issuers", "minio"),
        secrets=secrets(cluster),
    )


def ours(made: Any) -> Any:
    """Return objects of Ceph's backups as those of MinIO have them. Arguments, and labels of gen, are names that the
    file gives: a bucket may be called as any of these.
    """
    if isinstance(made, dict):
        given = {key for key in made if key == "arguments" or key.startswith(OWN_LABELS)}
        return {key: value if key in given else ours(value) for key, value in made.items()}
    if isinstance(made, list | tuple):
        return type(made)(map(ours, made))
    return OTHERWISE.get(made, made)


@cache
def base() -> tuple[Manifest, ...]:
    """Return what runs of backups need on every cluster."""
    made: tuple[Manifest, ...] = ours(read_objects("workflows/base.yaml"))
    return made


@cache
def templates() -> tuple[Manifest, ...]:
    """Return the templates of backup and drill, and the scripts that they run."""
    return tuple(map(ours, (backup.workflow_template(), drill.workflow_template(), backup.scripts())))


def own_image(cluster: Cluster) -> tuple[Patch, ...]:
    """Return the patches of the templates for a cluster whose MinIO client is not the catalogue's first."""
    image = client_image(cluster)
    shared = () if image == CLIENT_IMAGE else templates()[:2]
    return tuple(patch_of(template, image_operations(template, image)) for template in shared)


def whole(cluster: Cluster) -> Iterator[Ends]:
    """Yield each backup of a bucket of MinIO that has both ends; a rule reports the others."""
    objects = cluster.storage.objects
    for item in cluster.minio_backups if objects else ():
        to = target(cluster, item)
        if objects and to and elsewhere(cluster, item):
            yield Ends(
                item=item,
                to=to,
                url=URL,
                reads=user_secret(READER),
                owns=user_secret(OWNER),
                makes=user_secret(RESTORER),
                names=f"*{RESTORED}*",
                room=minio_restore_room(cluster).value,
                etags=not objects.encryption,
            )


def secrets(cluster: Cluster) -> tuple[Secret, ...]:
    """Return what the pods read."""
    return (
        *(copied_keys(user, NAMESPACE, DEFINITION.name) for user in users(cluster)),
        *keys(cluster, cluster.minio_backups, NAMESPACE, DEFINITION.name, ()),
        signed("backup-client", NAMESPACE, DEFINITION.name),
    )
