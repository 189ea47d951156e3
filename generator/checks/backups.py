"""Rules about backups: where from, where to, how much room."""

from collections.abc import Iterator

from generator.checks.places import meant, repeats
from generator.checks.rule import rule
from generator.checks.tiers import CEPH, OBJECTS
from generator.model.capacity import objects_usable
from generator.model.cluster import Backup, Cluster
from generator.model.finding import Finding, Path, Severity
from generator.model.quantity import Quantity
from generator.model.storage import Bucket

__all__: list[str] = []

# `backup-` before the name, and Argo's limit for the name of a schedule: 11 characters follow for each run.
LONGEST = 52 - len("backup-")


def _targets(cluster: Cluster) -> Iterator[tuple[int, Backup, Bucket, Path]]:
    """Yield the backups whose target exists, with the bucket and its place."""
    objects = cluster.storage.objects
    buckets = {bucket.name: (bucket, index) for index, bucket in enumerate(objects.buckets if objects else ())}
    for index, backup in enumerate(cluster.backups):
        if backup.target.bucket in buckets:
            bucket, number = buckets[backup.target.bucket]
            yield index, backup, bucket, (*OBJECTS, "buckets", number)


def _old_days(bucket: Bucket) -> int:
    """Return for how many days at least a bucket keeps old versions."""
    if not (bucket.versioning or bucket.lock):
        return 0
    return max(bucket.expire_versions, bucket.lock.days if bucket.lock else 0)


def _room(backup: Backup, days: int) -> int:
    return backup.size.value + days * backup.daily_change.value


def _asked(backup: Backup, bucket: Bucket) -> int:
    """Return for how many days the file asks to keep old versions: by the backup, or by the lock."""
    return max(backup.keep_days, bucket.lock.days if bucket.lock else 0)


def _human(size: int) -> str:
    return Quantity.of(size).human()


@rule(
    "GEN-BKP-001",
    "backups of stores that exist",
    wrong="from: {store: dataset, bucket: datasets}\n",
    right="from: {store: datasets, bucket: datasets}\n",
)
def store_known(cluster: Cluster) -> Iterator[Finding]:
    """A backup copies a bucket of one of Ceph's object stores."""
    stores = [store.name for store in cluster.storage.ceph.object_stores] if cluster.storage.ceph else []
    for index, backup in enumerate(cluster.backups):
        if backup.source.store not in stores:
            near = meant(backup.source.store, stores)
            has = f"one of {', '.join(stores)}" if stores else "add storage.ceph.objectStores"
            message = f"backup {backup.name} is of object store {backup.source.store}, which is not there"
            at = ("backups", index, "from", "store")
            yield Finding(at=at, message=message, fix=f"did you mean {near}?" if near else has)


@rule(
    "GEN-BKP-002",
    "backups of buckets that exist",
    wrong="from: {store: datasets, bucket: dataset}\n",
    right="from: {store: datasets, bucket: datasets}\n",
)
def source_known(cluster: Cluster) -> Iterator[Finding]:
    """The reader of backups gets a right on the buckets that the store lists, and on no others."""
    stores = cluster.storage.ceph.object_stores if cluster.storage.ceph else ()
    known = {store.name: (number, store.buckets) for number, store in enumerate(stores)}
    for index, backup in enumerate(cluster.backups):
        number, buckets = known.get(backup.source.store, (0, None))
        if buckets is not None and backup.source.bucket not in buckets:
            near = meant(backup.source.bucket, buckets)
            fix = f"did you mean {near}?" if near else "add it to the store's `buckets`"
            message = f"object store {backup.source.store} has no bucket {backup.source.bucket}"
            at, also = ("backups", index, "from", "bucket"), (*CEPH, "objectStores", number)
            yield Finding(at=at, also=also, message=message, fix=fix)


@rule(
    "GEN-BKP-003",
    "backups to buckets that exist",
    wrong="to: {bucket: dataset-backup}\n",
    right="to: {bucket: datasets-backup}\n",
)
def target_known(cluster: Cluster) -> Iterator[Finding]:
    """A backup goes to a bucket of MinIO, whose lock, quota and old versions are set before the first copy."""
    objects = cluster.storage.objects
    known = [bucket.name for bucket in objects.buckets] if objects else []
    for index, backup in enumerate(cluster.backups):
        if backup.target.bucket not in known:
            near = meant(backup.target.bucket, known)
            has = "add it to storage.objects.buckets" if objects else "add storage.objects with this bucket"
            message = f"backup {backup.name} goes to bucket {backup.target.bucket}, which is not there"
            at = ("backups", index, "to", "bucket")
            yield Finding(at=at, message=message, fix=f"did you mean {near}?" if near else has)


@rule(
    "GEN-BKP-004",
    "copies that nobody can delete",
    wrong="- {name: datasets-backup}\n",
    right="- {name: datasets-backup, lock: {days: 30}}\n",
    severity=Severity.WARNING,
)
def target_locked(cluster: Cluster) -> Iterator[Finding]:
    """Who breaks into the cluster deletes the backups first. Only a lock withstands that, and a bucket can have one
    only from the moment it is made.
    """
    for index, backup, bucket, at in _targets(cluster):
        if not bucket.lock and _old_days(bucket):
            message = f"backup {backup.name} goes to bucket {bucket.name}, which has no lock"
            fix = f"lock: {{days: {backup.keep_days}}} in the bucket"
            yield Finding(at=("backups", index, "to", "bucket"), also=at, message=message, fix=fix)


@rule(
    "GEN-BKP-005",
    "copies are kept as long as asked",
    wrong="- {name: datasets-backup, expireVersions: 7}\n# and\nkeepDays: 30\n",
    right="- {name: datasets-backup, expireVersions: 30}\n# and\nkeepDays: 30\n",
)
def kept_long_enough(cluster: Cluster) -> Iterator[Finding]:
    """The bucket removes old versions, by its own rule: what a backup promises for `keepDays` must outlive that."""
    for index, backup, bucket, at in _targets(cluster):
        if (days := _old_days(bucket)) < backup.keep_days:
            keeps = f"keeps old versions {days} days" if days else "keeps no old versions"
            message = f"backup {backup.name} is kept {backup.keep_days} days, and bucket {bucket.name} {keeps}"
            fix = f"expireVersions: {backup.keep_days}" if days else f"lock: {{days: {backup.keep_days}}}"
            where = ("backups", index, "keepDays")
            yield Finding(at=where, also=at, message=message, fix=f"{fix} in the bucket")


@rule(
    "GEN-BKP-006",
    "copies are locked as long as they are kept",
    wrong="- {name: datasets-backup, lock: {days: 7}}\n# and\nkeepDays: 30\n",
    right="- {name: datasets-backup, lock: {days: 30}}\n# and\nkeepDays: 30\n",
    severity=Severity.WARNING,
)
def locked_long_enough(cluster: Cluster) -> Iterator[Finding]:
    """Between the end of the lock and `keepDays`, who holds MinIO's root key can delete the copies."""
    for index, backup, bucket, at in _targets(cluster):
        if bucket.lock and bucket.lock.days < backup.keep_days <= _old_days(bucket):
            message = f"backup {backup.name} is kept {backup.keep_days} days, and locked {bucket.lock.days}"
            fix = f"lock: {{days: {backup.keep_days}}}"
            yield Finding(at=("backups", index, "keepDays"), also=(*at, "lock"), message=message, fix=fix)


@rule(
    "GEN-BKP-007",
    "a bucket for each backup",
    wrong="- {name: a, to: {bucket: copies}, ...}\n- {name: b, to: {bucket: copies}, ...}\n",
    right="- {name: a, to: {bucket: copies-a}, ...}\n- {name: b, to: {bucket: copies-b}, ...}\n",
)
def targets_apart(cluster: Cluster) -> Iterator[Finding]:
    """Copies have the names of the originals: two backups in one bucket write over each other, and neither can be
    compared with its source.
    """
    items = ((backup.target.bucket, ("backups", n, "to", "bucket")) for n, backup in enumerate(cluster.backups))
    for bucket, at, first in repeats(items):
        message = f"two backups go to bucket {bucket}"
        yield Finding(at=at, also=first, message=message, fix="add a bucket to storage.objects for one of them")


@rule(
    "GEN-BKP-011",
    "room for the copies in their bucket",
    wrong="- {name: datasets-backup, quota: 100T}\n# and\nsize: 90T\ndailyChange: 1T\nkeepDays: 30\n",
    right="- {name: datasets-backup, quota: 130T}\n",
)
def room_in_bucket(cluster: Cluster) -> Iterator[Finding]:
    """A copy of all, and each day's changes for as long as they are kept or locked, whichever is longer. At its quota
    a bucket takes no more, and nothing locked can be deleted to make room.
    """
    for index, backup, bucket, at in _targets(cluster):
        days = _asked(backup, bucket)
        if bucket.quota and (room := _room(backup, days)) > bucket.quota.value:
            sum_ = f"{backup.size.human()} and {days} days of {backup.daily_change.human()}"
            message = f"backup {backup.name} needs {_human(room)} ({sum_}), and its bucket takes {bucket.quota.human()}"
            fix = f"quota: {-(-room // 10**9)}G, or fewer days"
            yield Finding(at=("backups", index, "size"), also=(*at, "quota"), message=message, fix=fix)


@rule(
    "GEN-BKP-012",
    "old versions do not outlive their use",
    wrong="- {name: copies, expireVersions: 60, quota: 100T}\n# and\nkeepDays: 7\nsize: 50T\ndailyChange: 2T\n",
    right="- {name: copies, expireVersions: 7, quota: 100T}\n",
)
def old_versions_fit(cluster: Cluster) -> Iterator[Finding]:
    """The bucket removes old versions after `expireVersions` days, also where a backup keeps them for less: they take
    room until then.
    """
    for _, backup, bucket, at in _targets(cluster):
        days, room = _old_days(bucket), _room(backup, _old_days(bucket))
        if bucket.quota and _room(backup, _asked(backup, bucket)) <= bucket.quota.value < room:
            message = (
                f"old versions stay {days} days in {bucket.name}: backup {backup.name} then needs {_human(room)}, "
                f"and the bucket takes {bucket.quota.human()}"
            )
            fix = f"expireVersions: {_asked(backup, bucket)}"
            yield Finding(at=(*at, "expireVersions"), also=(*at, "quota"), message=message, fix=fix)


@rule(
    "GEN-BKP-013",
    "room for all copies together",
    wrong="# MinIO holds 768T, and two backups need 500T each\n",
    right="# MinIO holds 1152T\n",
)
def room_together(cluster: Cluster) -> Iterator[Finding]:
    """Half of MinIO's drives is parity; when the other half is full, every backup fails and none can be deleted."""
    usable, found = objects_usable(cluster).value, list(_targets(cluster))
    total = sum(_room(backup, max(_asked(backup, bucket), _old_days(bucket))) for _, backup, bucket, _ in found)
    if found and 0 < usable < total:
        backups = f"{len(found)} backups need" if found[1:] else f"backup {found[0][1].name} needs"
        message = f"{backups} {_human(total)}, and MinIO holds {_human(usable)}"
        fix = f"{_human(total - usable)} more, or fewer days"
        yield Finding(at=("backups", found[-1][0], "size"), also=(*OBJECTS, "pool"), message=message, fix=fix)


def _writers(cluster: Cluster) -> list[tuple[str, tuple[str, ...]]]:
    users = cluster.storage.objects.users if cluster.storage.objects else ()
    return [(user.name, user.buckets) for user in users if user.access == "backup"]


@rule(
    "GEN-BKP-014",
    "somebody may write the copies",
    wrong="users: []\n# and\nto: {bucket: datasets-backup}\n",
    right="users: [{name: backup-writer, buckets: [datasets-backup], access: backup}]\n",
)
def writer_exists(cluster: Cluster) -> Iterator[Finding]:
    """A backup writes as a user of MinIO who may write and not delete: without one it is not scheduled at all."""
    writers = _writers(cluster)
    for index, backup, bucket, _ in _targets(cluster):
        if not any(bucket.name in buckets for _, buckets in writers):
            message = f"backup {backup.name}: no user has the right `backup` on bucket {bucket.name}"
            fix = f"add it to the buckets of {writers[0][0]}" if writers else "add a user with `access: backup`"
            at, also = ("backups", index, "to", "bucket"), (*OBJECTS, "users") if writers else None
            yield Finding(at=at, also=also, message=message, fix=fix)


@rule(
    "GEN-BKP-015",
    "one user writes the copies",
    wrong="users: [{name: a, buckets: [copies], access: backup}, {name: b, buckets: [copies], access: backup}]\n",
    right="users: [{name: a, buckets: [copies], access: backup}]\n",
    severity=Severity.WARNING,
)
def writer_alone(cluster: Cluster) -> Iterator[Finding]:
    """The first of several users is the one that is used; each other is a key more that can write there."""
    for index, backup, bucket, _ in _targets(cluster):
        names = [name for name, buckets in _writers(cluster) if bucket.name in buckets]
        if len(names) > 1:
            message = f"{' and '.join(names)} may write to {bucket.name}: backup {backup.name} uses {names[0]}"
            at, also = ("backups", index, "to", "bucket"), (*OBJECTS, "users")
            yield Finding(at=at, also=also, message=message, fix="leave the right to one")
