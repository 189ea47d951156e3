"""What the backups of buckets run: the schedules that copy them and try the copies, and their ways back."""

from collections.abc import Iterator

from msgspec import Struct

from generator.components.component import Manifest
from generator.components.minio.settings import client_image
from generator.components.minio.user_keys import user_secret
from generator.components.workflows import backup, drill, restore
from generator.components.workflows.scheduled import cron_workflow, drill_workflow, given
from generator.components.workflows.targets import Target
from generator.components.workflows.turns import turn, turns_in
from generator.model.backup import Backup
from generator.model.cluster import Cluster
from generator.model.retention import keeper, target_of


class Ends(Struct, frozen=True, kw_only=True):
    """A backup with both its ends: where its bucket answers, and the Secrets with keys that may read it, write to it,
    and make buckets beside it, of such `names`, which may take `room` bytes together. `etags` tells whether checksums
    of objects are those of their content, which they are not where the server encrypts.
    """

    item: Backup
    to: Target
    url: str
    reads: str
    owns: str
    makes: str
    room: int
    names: str = "*"
    etags: bool = True


def schedule(cluster: Cluster, ends: Ends, namespace: str) -> Manifest:
    """Return the CronWorkflow of a backup."""
    item, to = ends.item, ends.to
    arguments = {
        "name": item.name,
        "source-url": ends.url,
        "source-bucket": item.source.bucket,
        "source-secret": ends.reads,
        "target-bucket": item.target.bucket,
        "target-secret": to.writes,
        **to.told("target-url", place=to.place),
        **to.speed,
        "turn": turn(to.place),
        "turns-in": turns_in(cluster),
        **retention(cluster, item),
        **({} if ends.etags else {"etags": "other"}),
        **({"compare-percent": str(item.compare.percent)} if item.compare else {}),
    }
    spec = {"workflowTemplateRef": {"name": "backup"}, **given(arguments)}
    return cron_workflow(item, namespace, backup.LABELS, spec)


def retention(cluster: Cluster, item: Backup) -> dict[str, str]:
    """Return the arguments of what keeps a backup within its days."""
    user, bucket = keeper(cluster, item), target_of(cluster, item)
    if not (user and bucket):
        return {}
    lock = str(bucket.lock.days) if bucket.lock else ""
    return {"retention-secret": user_secret(user.name), "lock-days": lock}


def tried(ends: Ends, namespace: str) -> Manifest:
    """Return the CronWorkflow that tries a backup: with keys that may only read it, where there are such."""
    item, to = ends.item, ends.to
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
    return drill_workflow(item, namespace, drill.LABELS, spec)


def brought_back(cluster: Cluster, ends: Ends) -> Manifest:
    """Return the WorkflowTemplate that brings a backup back."""
    item, to = ends.item, ends.to
    told = {
        "name": item.name,
        "backup-url": to.url,
        "backup-bucket": item.target.bucket,
        "backup-secret": to.reads,
        "live-url": ends.url,
        "live-bucket": item.source.bucket,
        "live-secret": ends.owns,
        "restore-secret": ends.makes,
        "restored-names": ends.names,
        "room": str(ends.room),
        **to.ways,
    }
    return restore.workflow_template(item.name, client_image(cluster), told)


def all_runs(cluster: Cluster, ends: tuple[Ends, ...], namespace: str) -> Iterator[Manifest]:
    """Yield what runs each of these backups into a bucket, tries it, and brings it back."""
    into_buckets = [one for one in ends if not one.to.filed]
    yield from (schedule(cluster, one, namespace) for one in into_buckets)
    yield from (tried(one, namespace) for one in into_buckets)
    yield from (brought_back(cluster, one) for one in into_buckets)
