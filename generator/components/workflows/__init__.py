"""The schedules of the day-2 operations, and what their pods may do."""

from collections.abc import Iterator

from generator.components.ceph_cluster.buckets import backup_reader
from generator.components.ceph_cluster.pools import rgw_port, rgw_service
from generator.components.common import OWN_LABELS
from generator.components.component import Component, Manifest, Operation, Patch, Secret, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.issuers import signed
from generator.components.minio.settings import copied_keys, user_secret
from generator.components.minio.versions import VERSIONS as MINIO_VERSIONS
from generator.components.rook_ceph import NAMESPACE
from generator.components.static import read_objects
from generator.components.workflows import backup
from generator.model.backup import Backup
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.storage import ObjectUser


def workflows(cluster: Cluster) -> Component:
    """Return the schedules of the cluster's backups. Backups run where the readers' Secrets are, in Rook's
    namespace, with a ServiceAccount that may only report its own results.
    """
    return Component(
        name="workflows",
        tier=DEFINITION.tier,
        summary="Scheduled operations: backups",
        version="v1",
        base=read_objects("workflows/base.yaml"),
        objects=tuple(schedules(cluster)),
        patches=own_image(cluster),
        operations=(Operation(name="backup", templates=(backup.workflow_template(), backup.scripts())),),
        needs=("argo-workflows", "ceph-cluster", "issuers", "minio"),
        secrets=secrets(cluster),
    )


def own_image(cluster: Cluster) -> tuple[Patch, ...]:
    """Return the patch of the shared template for a cluster whose MinIO client is not the catalogue's first."""
    objects = cluster.storage.objects
    image = (objects and objects.client_image) or MINIO_VERSIONS.of(cluster).images["client"]
    if image == backup.CLIENT_IMAGE:
        return ()
    target = {"group": "argoproj.io", "version": "v1alpha1", "kind": "WorkflowTemplate", "name": "backup"}
    steps = enumerate(backup.workflow_template()["spec"]["templates"])
    paths = (f"/spec/templates/{number}/container/image" for number, step in steps if "container" in step)
    return (Patch(target=target, operations=tuple({"op": "replace", "path": path, "value": image} for path in paths)),)


def writer(cluster: Cluster, item: Backup) -> ObjectUser | None:
    """Return the MinIO user that writes this backup: the first who may write and not delete in its bucket; None
    where the file has none, which a rule reports.
    """
    users = cluster.storage.objects.users if cluster.storage.objects else ()
    return next((user for user in users if user.access == "backup" and item.target.bucket in user.buckets), None)


def schedules(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the CronWorkflow of each backup that has both ends; a rule reports the others."""
    ceph = cluster.storage.ceph
    stores = {store.name: store for store in ceph.object_stores} if ceph else {}
    for item in cluster.backups:
        store, user = stores.get(item.source.store), writer(cluster, item)
        if ceph and store and user:
            port = rgw_port(ceph, store)
            url = f"https://{{}}:{port['securePort']}" if "securePort" in port else f"http://{{}}:{port['port']}"
            arguments = {
                "name": item.name,
                "source-url": url.format(f"{rgw_service(store)}.{NAMESPACE}.svc"),
                "source-bucket": item.source.bucket,
                "source-secret": f"rook-ceph-object-user-{store.name}-{backup_reader(store)}",
                "target-bucket": item.target.bucket,
                "target-secret": user_secret(user.name),
            }
            yield schedule(item, arguments)


def schedule(item: Backup, arguments: dict[str, str]) -> Manifest:
    """Return one backup's CronWorkflow. A run that could not start in time is made up for within an hour; while one
    still copies, the next is left out.
    """
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "CronWorkflow",
        "metadata": {"name": f"backup-{item.name}", "namespace": NAMESPACE, "labels": backup.LABELS},
        "spec": {
            "schedules": [item.schedule],
            "timezone": "Etc/UTC",
            "suspend": item.suspended,
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 3600,
            "successfulJobsHistoryLimit": 7,
            "failedJobsHistoryLimit": 7,
            "workflowMetadata": {"labels": {**backup.LABELS, f"{OWN_LABELS}/backup": item.name}},
            "workflowSpec": {
                "workflowTemplateRef": {"name": "backup"},
                "arguments": {"parameters": [{"name": name, "value": value} for name, value in arguments.items()]},
            },
        },
    }


def secrets(cluster: Cluster) -> tuple[Secret, ...]:
    """Return what the pods read beside the readers' keys, which `ceph-cluster` declares."""
    users = {user.name: user for item in cluster.backups if (user := writer(cluster, item))}
    return (
        *(copied_keys(user, NAMESPACE, "workflows") for user in users.values()),
        signed("backup-client", NAMESPACE, "workflows"),
    )


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.workflows.changes import CHANGES  # noqa: PLC0415 - for those who compare
    from generator.components.workflows.stopping import STOPPING  # noqa: PLC0415 - as above

    return (*CHANGES, *STOPPING)


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
