"""The day-2 operations of a cluster, their schedules, and what their pods may do."""

from collections.abc import Iterator

from generator.components.ceph_cluster.buckets import backup_reader, owner_secret, restorer, store_secret
from generator.components.ceph_cluster.pools import rgw_url
from generator.components.component import Component, Manifest, Operation, Patch, Secret, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.issuers import signed
from generator.components.minio.settings import CLIENT_IMAGE, client_image, user_secret
from generator.components.rook_ceph import NAMESPACE
from generator.components.static import read_objects
from generator.components.workflows import backup, drill, restore
from generator.components.workflows.scheduled import cron_workflow, drill_workflow, given
from generator.components.workflows.steps import image_operations, patch_of
from generator.components.workflows.targets import Target, authorities, keys, reader, target, writer
from generator.model.backup import Backup
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.restore_room import restore_room
from generator.model.retention import keeper, target_of
from generator.model.storage import CephObjectStore


def workflows(cluster: Cluster) -> Component:
    """Return the schedules of the cluster's backups and drills, and their ways back. They run where the readers'
    Secrets are, in Rook's namespace, with ServiceAccounts that may only report their own results.
    """
    return Component(
        name="workflows",
        tier=DEFINITION.tier,
        summary="Operations: backups on a schedule, their drills, and their way back",
        version="v1",
        base=read_objects("workflows/base.yaml"),
        objects=(
            *schedules(cluster),
            *drills(cluster),
            *restores(cluster),
            *authorities(cluster, cluster.backups, backup.LABELS, NAMESPACE),
        ),
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


def whole(cluster: Cluster) -> Iterator[tuple[Backup, CephObjectStore, str, Target]]:
    """Yield each backup that has both ends, with its store, its URL and where it goes; a rule reports the others."""
    ceph = cluster.storage.ceph
    stores = {store.name: store for store in ceph.object_stores} if ceph else {}
    for item in cluster.backups:
        store, to = stores.get(item.source.store), target(cluster, item)
        if ceph and store and to:
            yield item, store, rgw_url(ceph, store), to


def schedules(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the CronWorkflow of each backup that has both ends."""
    for item, store, url, to in whole(cluster):
        arguments = {
            "name": item.name,
            "source-url": url,
            "source-bucket": item.source.bucket,
            "source-secret": store_secret(store, backup_reader(store)),
            "target-bucket": item.target.bucket,
            "target-secret": to.writes,
            **to.told("target-url", place=to.place),
            **retention(cluster, item),
        }
        yield schedule(item, arguments)


def retention(cluster: Cluster, item: Backup) -> dict[str, str]:
    """Return the arguments of what keeps a backup within its days."""
    user, bucket = keeper(cluster, item), target_of(cluster, item)
    if not (user and bucket):
        return {}
    lock = str(bucket.lock.days) if bucket.lock else ""
    return {"retention-secret": user_secret(user.name), "lock-days": lock}


def drills(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the CronWorkflow that tries each backup: with keys that may only read it, where there are such."""
    for item, _store, _url, to in whole(cluster):
        arguments = {
            "name": item.name,
            "backup-bucket": item.target.bucket,
            "backup-secret": to.reads,
            "record-secret": to.writes,
            "sample": str(item.drill.objects),
            "sample-bytes": str(item.drill.bytes.value),
            **to.told("backup-url"),
        }
        spec = {"workflowTemplateRef": {"name": "drill"}, **given(arguments)}
        yield drill_workflow(item, NAMESPACE, drill.LABELS, spec)


def restores(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the WorkflowTemplate that brings back each backup that has both ends."""
    for item, store, url, to in whole(cluster):
        given = {
            "name": item.name,
            "backup-url": to.url,
            "backup-bucket": item.target.bucket,
            "backup-secret": to.reads,
            "ceph-url": url,
            "live-bucket": item.source.bucket,
            "live-secret": owner_secret(cluster, item.source.bucket),
            "restore-secret": store_secret(store, restorer(store)),
            "room": str(restore_room(cluster, store).value),
            **to.ways,
        }
        yield restore.workflow_template(item.name, client_image(cluster), given)


def schedule(item: Backup, arguments: dict[str, str]) -> Manifest:
    """Return one backup's CronWorkflow."""
    spec = {"workflowTemplateRef": {"name": "backup"}, **given(arguments)}
    return cron_workflow(item, NAMESPACE, backup.LABELS, spec)


def secrets(cluster: Cluster) -> tuple[Secret, ...]:
    """Return what the pods read beside the readers' keys, which `ceph-cluster` declares."""
    return (
        *keys(cluster, cluster.backups, NAMESPACE, "workflows", (writer, reader, keeper)),
        signed("backup-client", NAMESPACE, "workflows"),
    )


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.workflows.changes import CHANGES  # noqa: PLC0415 - for those who compare
    from generator.components.workflows.drill_changes import DRILLS  # noqa: PLC0415 - as above
    from generator.components.workflows.retention_changes import KEPT  # noqa: PLC0415 - as above
    from generator.components.workflows.stopping import STOPPING  # noqa: PLC0415 - as above

    return (*CHANGES, *DRILLS, *KEPT, *STOPPING)


DEFINITION = Definition(
    name="workflows",
    tier=Tier.STORAGE,
    make=workflows,
    wanted=lambda cluster: cluster.backups,
    absence="there are no backups",
    reach=(NAMESPACE,),
    changes=change_rules,
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", "app.kubernetes.io/part-of=workflows"),)),
    notes="Backups run in namespace `rook-ceph`, because a pod reads Secrets of its own namespace only and Rook "
    "makes the readers' there. How they work: [operations.md](operations.md).",
)
