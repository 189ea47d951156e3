"""Rules about snapshots of etcd: that there are some, where they go, who can read them."""

from collections.abc import Iterator

from generator.checks.backups import old_days
from generator.checks.places import entries, meant
from generator.checks.tiers import OBJECTS, buckets, kept_for, users
from generator.model.backup import ETCD, EtcdBackup
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, in_words, put
from generator.model.rule import rule, warning
from generator.model.storage import Bucket
from generator.spec.near import suggest

_AT: Path = ("kubernetes", "etcd", "backup")
_BUCKET: Path = (*_AT, "to", "bucket")


def _target(cluster: Cluster) -> tuple[EtcdBackup, Path, Bucket] | None:
    """Return the backup, and the bucket that it goes to; None where one of them is not there."""
    backup = cluster.kubernetes.etcd.backup
    found = [(at, bucket) for at, bucket in buckets(cluster) if backup and bucket.name == backup.target.bucket]
    return (backup, *found[0]) if backup and found else None


@warning("GEN-BKP-020", "snapshots of etcd")
def etcd_backed_up(cluster: Cluster) -> Iterator[Finding]:
    """Etcd holds every object of the cluster. Who loses the majority of its members without a snapshot begins anew, and
    finds no volume again by its claim. Said where MinIO could hold snapshots and `site.escrow` names who may decrypt
    them.

    Wrong:
        site: {escrow: {recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]}}
        # and
        etcd: {quota: 8Gi}
    Right:
        etcd: {quota: 8Gi, backup: {to: {bucket: etcd-backup}}}
    """
    able = cluster.storage.objects and cluster.site.escrow.recipients
    if able and not cluster.kubernetes.etcd.backup:
        message = "nothing takes snapshots of etcd, and MinIO could hold them"
        fix = "add `etcd: {backup: {to: {bucket: ...}}}` to `kubernetes`, with a bucket of its own"
        yield Finding(at=("kubernetes",), also=OBJECTS, message=message, fix=fix)


@rule("GEN-BKP-021", "snapshots of etcd go to a bucket that exists")
def etcd_bucket_known(cluster: Cluster) -> Iterator[Finding]:
    """A snapshot goes to a bucket of MinIO, whose lock, quota and old versions are set before the first one.

    Wrong:
        backup: {to: {bucket: etcd}}
    Right:
        backup: {to: {bucket: etcd-backup}}
    """
    backup = cluster.kubernetes.etcd.backup
    known = [bucket.name for _, bucket in buckets(cluster)]
    if backup and backup.target.bucket not in known:
        name = backup.target.bucket
        add = "add it to storage.objects.buckets" if cluster.storage.objects else "add storage.objects with this bucket"
        message = f"snapshots of etcd go to bucket {name}, which is not there"
        yield Finding(at=_BUCKET, message=message, fix=suggest(name, known, add), edits=meant(_BUCKET, name, known))


@rule("GEN-BKP-022", "somebody may write the snapshots of etcd")
def etcd_writer_exists(cluster: Cluster) -> Iterator[Finding]:
    """Snapshots are written by a user of MinIO who may write and not delete: without one none is brought there.

    Wrong:
        users: []
        # and
        backup: {to: {bucket: etcd-backup}}
    Right:
        users: [{name: backup-writer, buckets: [etcd-backup], access: backup}]
    """
    if not (found := _target(cluster)):
        return
    _, _, bucket = found
    writers = [(at, user) for at, user in users(cluster) if user.access == "backup"]
    if not any(bucket.name in user.buckets for _, user in writers):
        message = f"snapshots of etcd: no user has the right `backup` on bucket {bucket.name}"
        if not writers:
            yield Finding(at=_BUCKET, message=message, fix="add a user with `access: backup`")
        for also, first in writers[:1]:
            edits = put((*also, "buckets", len(first.buckets)), bucket.name)
            fix = f"add it to the buckets of {first.name}"
            yield Finding(at=_BUCKET, also=also, message=message, fix=fix, edits=edits)


@rule("GEN-BKP-023", "snapshots of etcd that somebody can decrypt")
def etcd_recipients(cluster: Cluster) -> Iterator[Finding]:
    """A snapshot holds every Secret, in plain or with the key beside it: it leaves its node encrypted, to keys of age
    whose private halves are outside the cluster.

    Wrong:
        etcd: {backup: {to: {bucket: etcd-backup}}}
    Right:
        site: {escrow: {recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]}}
        # and
        etcd: {backup: {to: {bucket: etcd-backup}}}
    """
    if cluster.kubernetes.etcd.backup and not cluster.site.escrow.recipients:
        message = "snapshots of etcd are encrypted, and `site.escrow` names nobody who could decrypt them"
        fix = "name keys of age in `site.escrow.recipients`, as `age-keygen` prints them"
        yield Finding(at=_AT, message=message, fix=fix)


@rule("GEN-BKP-024", "snapshots of etcd are kept as long as asked")
def etcd_kept(cluster: Cluster) -> Iterator[Finding]:
    """Each snapshot is a new version of one object, and the bucket removes old versions by its own rule.

    Wrong:
        - {name: etcd-backup, expireVersions: 7}
        # and
        backup: {to: {bucket: etcd-backup}, keepDays: 14}
    Right:
        - {name: etcd-backup, expireVersions: 14}
    """
    if (found := _target(cluster)) and (days := old_days(found[2])) < found[0].keep_days:
        backup, also, bucket = found
        keeps = f"keeps old versions {days} days" if days else "keeps no old versions"
        message = f"snapshots of etcd are kept {backup.keep_days} days, and bucket {bucket.name} {keeps}"
        edits = kept_for(also, bucket, backup.keep_days, locked=not days)
        fix = f"{in_words(edits)} in the bucket"
        yield Finding(at=(*_AT, "keepDays"), also=also, message=message, fix=fix, edits=edits)


@rule("GEN-BKP-025", "a name and a bucket of etcd's own")
def etcd_apart(cluster: Cluster) -> Iterator[Finding]:
    """The backup of etcd goes by the name `etcd`, in alerts and in `gen status`; and what is compared with a source
    holds nothing else.

    Wrong:
        backups: [{name: etcd, ...}]
        # and
        etcd: {backup: {to: {bucket: etcd-backup}}}
    Right:
        backups: [{name: etcd-of-the-lab, ...}]
    """
    backup = cluster.kubernetes.etcd.backup
    for at, other in entries(cluster.backups if backup else (), "backups"):
        if other.name == ETCD:
            message = "the backup of etcd itself has this name"
            yield Finding(at=(*at, "name"), also=_AT, message=message, fix="another name")
        if backup and other.target.bucket == backup.target.bucket:
            message = (
                f"snapshots of etcd go to this bucket, too: backup {other.name} compares all of it with its source"
            )
            yield Finding(at=(*at, "to", "bucket"), also=_BUCKET, message=message, fix="a bucket for each")
