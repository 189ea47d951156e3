"""Rules about backups: where from, where to, how much room."""

from collections.abc import Iterator
from typing import NamedTuple

from generator.checks.places import entries, given_twice, human, meant
from generator.checks.tiers import OBJECTS, buckets, kept_for, object_stores, users
from generator.model.capacity import objects_usable
from generator.model.cluster import Backup, Cluster
from generator.model.finding import Finding, Path, in_words, put
from generator.model.rule import rule, warning
from generator.model.storage import Bucket, ObjectUser
from generator.spec.near import suggest

# In days: as long as it takes to buy drives.
_YEAR = 365
_ENDLESS = 2**80


class Target(NamedTuple):
    """A backup whose bucket in MinIO exists: where both stand."""

    at: Path
    backup: Backup
    bucket: Bucket
    also: Path


def _targets(cluster: Cluster) -> Iterator[Target]:
    known = {bucket.name: (bucket, at) for at, bucket in buckets(cluster)}
    for at, backup in entries(cluster.backups, "backups"):
        if backup.target.bucket in known:
            yield Target(at, backup, *known[backup.target.bucket])


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


@rule("GEN-BKP-001", "backups of stores that exist")
def store_known(cluster: Cluster) -> Iterator[Finding]:
    """A backup copies a bucket of one of Ceph's object stores to MinIO. Only buckets can be copied: volumes and
    filesystems of Ceph, NFS and what is in MinIO itself are not.

    Wrong:
        from: {store: dataset, bucket: datasets}
    Right:
        from: {store: datasets, bucket: datasets}
    """
    stores = [store.name for _, store in object_stores(cluster)]
    known = (
        f"one of {', '.join(stores)}"
        if stores
        else "only buckets of Ceph can be backed up: add storage.ceph.objectStores"
    )
    for at, backup in entries(cluster.backups, "backups"):
        name = backup.source.store
        if name not in stores:
            message = f"backup {backup.name} is of object store {name}, which is not there"
            where = (*at, "from", "store")
            edits = meant(where, name, stores)
            yield Finding(at=where, message=message, fix=suggest(name, stores, known), edits=edits)


@rule("GEN-BKP-002", "backups of buckets that exist")
def source_known(cluster: Cluster) -> Iterator[Finding]:
    """The reader of backups gets a right on the buckets that the store lists, and on no others.

    Wrong:
        from: {store: datasets, bucket: dataset}
    Right:
        from: {store: datasets, bucket: datasets}
    """
    stores = {store.name: (place, store.buckets) for place, store in object_stores(cluster)}
    for at, backup in entries(cluster.backups, "backups"):
        place, known = stores.get(backup.source.store, ((), None))
        if known is not None and backup.source.bucket not in known:
            message = f"object store {backup.source.store} has no bucket {backup.source.bucket}"
            where = (*at, "from", "bucket")
            fix = suggest(backup.source.bucket, known, "add it to the store's `buckets`")
            add = put((*place, "buckets", len(known)), backup.source.bucket)
            edits = meant(where, backup.source.bucket, known) or add
            yield Finding(at=where, also=place, message=message, fix=fix, edits=edits)


@rule("GEN-BKP-003", "backups to buckets that exist")
def target_known(cluster: Cluster) -> Iterator[Finding]:
    """A backup goes to a bucket of MinIO, whose lock, quota and old versions are set before the first copy.

    Wrong:
        to: {bucket: dataset-backup}
    Right:
        to: {bucket: datasets-backup}
    """
    known = [bucket.name for _, bucket in buckets(cluster)]
    add = "add it to storage.objects.buckets" if cluster.storage.objects else "add storage.objects with this bucket"
    for at, backup in entries(cluster.backups, "backups"):
        name = backup.target.bucket
        if name not in known:
            message = f"backup {backup.name} goes to bucket {name}, which is not there"
            where, fix = (*at, "to", "bucket"), suggest(name, known, add)
            yield Finding(at=where, message=message, fix=fix, edits=meant(where, name, known))


@warning("GEN-BKP-004", "copies that nobody can delete")
def target_locked(cluster: Cluster) -> Iterator[Finding]:
    """Who breaks into the cluster deletes the backups first. Only a lock withstands that, and a bucket can have one
    only from the moment it is made. It counts from the day on which an object was copied: what has not changed for
    longer than `days` is no longer held by it.

    Wrong:
        - {name: datasets-backup}
    Right:
        - {name: datasets-backup, lock: {days: 30}}
    """
    for at, backup, bucket, also in _targets(cluster):
        if not bucket.lock and _old_days(bucket):
            message = f"backup {backup.name} goes to bucket {bucket.name}, which has no lock"
            edits = kept_for(also, bucket, backup.keep_days, locked=True)
            fix = f"{in_words(edits)} in the bucket"
            yield Finding(at=(*at, "to", "bucket"), also=also, message=message, fix=fix, edits=edits)


@rule("GEN-BKP-005", "copies are kept as long as asked")
def kept_long_enough(cluster: Cluster) -> Iterator[Finding]:
    """The bucket removes old versions, by its own rule: what a backup promises for `keepDays` must outlive that.

    Wrong:
        - {name: datasets-backup, expireVersions: 7}
        # and
        keepDays: 30
    Right:
        - {name: datasets-backup, expireVersions: 30}
        # and
        keepDays: 30
    """
    for at, backup, bucket, also in _targets(cluster):
        if (days := _old_days(bucket)) < backup.keep_days:
            keeps = f"keeps old versions {days} days" if days else "keeps no old versions"
            message = f"backup {backup.name} is kept {backup.keep_days} days, and bucket {bucket.name} {keeps}"
            edits = kept_for(also, bucket, backup.keep_days, locked=not days)
            fix = f"{in_words(edits)} in the bucket"
            yield Finding(at=(*at, "keepDays"), also=also, message=message, fix=fix, edits=edits)


@warning("GEN-BKP-006", "copies are locked as long as they are kept")
def locked_long_enough(cluster: Cluster) -> Iterator[Finding]:
    """Between the end of the lock and `keepDays`, who holds MinIO's root key can delete the copies.

    Wrong:
        - {name: datasets-backup, lock: {days: 7}}
        # and
        keepDays: 30
    Right:
        - {name: datasets-backup, lock: {days: 30}}
        # and
        keepDays: 30
    """
    for at, backup, bucket, also in _targets(cluster):
        if bucket.lock and bucket.lock.days < backup.keep_days <= _old_days(bucket):
            message = f"backup {backup.name} is kept {backup.keep_days} days, and locked {bucket.lock.days}"
            edits = kept_for(also, bucket, backup.keep_days, locked=True)
            fix = f"lock: {{days: {backup.keep_days}}}"
            yield Finding(at=(*at, "keepDays"), also=(*also, "lock"), message=message, fix=fix, edits=edits)


@rule("GEN-BKP-007", "a bucket for each backup")
def targets_apart(cluster: Cluster) -> Iterator[Finding]:
    """Copies have the names of the originals: two backups in one bucket write over each other, and neither can be
    compared with its source.

    Wrong:
        - {name: a, to: {bucket: copies}, ...}
        - {name: b, to: {bucket: copies}, ...}
    Right:
        - {name: a, to: {bucket: copies-a}, ...}
        - {name: b, to: {bucket: copies-b}, ...}
    """
    items = ((backup.target.bucket, (*at, "to", "bucket")) for at, backup in entries(cluster.backups, "backups"))
    return given_twice(items, "two backups go to bucket {}", "add a bucket to storage.objects for one of them")


@rule("GEN-BKP-011", "room for the copies in their bucket")
def room_in_bucket(cluster: Cluster) -> Iterator[Finding]:
    """A copy of all, and each day's changes for as long as they are kept or locked, whichever is longer. At its quota
    a bucket takes no more, and nothing locked can be deleted to make room.

    Wrong:
        - {name: datasets-backup, quota: 100T}
        # and
        size: 90T
        dailyChange: 1T
        keepDays: 30
    Right:
        - {name: datasets-backup, quota: 130T}
    """
    for at, backup, bucket, also in _targets(cluster):
        days = _asked(backup, bucket)
        if bucket.quota and (room := _room(backup, days)) > bucket.quota.value:
            sum_ = f"{backup.size.human()} and {days} days of {backup.daily_change.human()}"
            message = f"backup {backup.name} needs {human(room)} ({sum_}), and its bucket takes {bucket.quota.human()}"
            edits = put((*also, "quota"), f"{-(-room // 10**9)}G")
            fix = f"{in_words(edits)}, or fewer days"
            yield Finding(at=(*at, "size"), also=(*also, "quota"), message=message, fix=fix, edits=edits)


@warning("GEN-BKP-019", "copies of what was deleted have room for a year")
def new_keys_fit(cluster: Cluster) -> Iterator[Finding]:
    """A backup never deletes: an object that was deleted in the source stays in the target, and no rule of the bucket
    ends it. Where each day's changes are under new keys, as with checkpoints that are numbered, the target grows by
    them until it is full, and then no backup works any more.

    Wrong:
        - {name: copies, quota: 200T}
        # and
        size: 100T
        dailyChange: 8T
    Right:
        # jobs write over their former checkpoints
        size: 100T
        dailyChange: 8T
        changes: rewritten
    """
    usable = objects_usable(cluster).value
    for at, backup, bucket, also in _targets(cluster):
        most = min(each for each in (bucket.quota and bucket.quota.value, usable, _ENDLESS) if each)
        change = backup.daily_change.value
        days = (most - backup.size.value) // change if change else _YEAR
        if backup.changes == "new-keys" and 0 <= days < _YEAR:
            grows = f"{backup.daily_change.human()} of new keys a day"
            message = f"{grows} fill bucket {bucket.name} ({human(most)}) in {days} days: no copy is ever deleted"
            fix = "where jobs write over their own keys say `changes: rewritten`; else more room"
            yield Finding(at=(*at, "dailyChange"), also=also, message=message, fix=fix)


@rule("GEN-BKP-012", "old versions do not outlive their use")
def old_versions_fit(cluster: Cluster) -> Iterator[Finding]:
    """The bucket removes old versions after `expireVersions` days, also where a backup keeps them for less: they take
    room until then.

    Wrong:
        - {name: copies, expireVersions: 60, quota: 100T}
        # and
        keepDays: 7
        size: 50T
        dailyChange: 2T
    Right:
        - {name: copies, expireVersions: 7, quota: 100T}
    """
    for _, backup, bucket, at in _targets(cluster):
        days, asked = _old_days(bucket), _asked(backup, bucket)
        if bucket.quota and _room(backup, asked) <= bucket.quota.value < (room := _room(backup, days)):
            needs = f"{human(room)}, and the bucket takes {bucket.quota.human()}"
            message = f"old versions stay {days} days in {bucket.name}: backup {backup.name} then needs {needs}"
            where = (*at, "expireVersions")
            yield Finding(at=where, also=(*at, "quota"), message=message, edits=put(where, asked))


@rule("GEN-BKP-013", "room for all copies together")
def room_together(cluster: Cluster) -> Iterator[Finding]:
    """Half of MinIO's drives is parity; when the other half is full, every backup fails and none can be deleted.

    Wrong:
        # MinIO holds 768T, and two backups need 500T each
    Right:
        # MinIO holds 1152T
    """
    usable, found = objects_usable(cluster).value, list(_targets(cluster))
    total = sum(_room(backup, max(_asked(backup, bucket), _old_days(bucket))) for _, backup, bucket, _ in found)
    if found and 0 < usable < total:
        backups = f"{len(found)} backups need" if found[1:] else f"backup {found[0].backup.name} needs"
        message = f"{backups} {human(total)}, and MinIO holds {human(usable)}"
        fix = f"{human(total - usable)} more, or fewer days"
        yield Finding(at=(*found[-1].at, "size"), also=(*OBJECTS, "pool"), message=message, fix=fix)


def _writers(cluster: Cluster) -> list[ObjectUser]:
    return [user for _, user in users(cluster) if user.access == "backup"]


@rule("GEN-BKP-014", "somebody may write the copies")
def writer_exists(cluster: Cluster) -> Iterator[Finding]:
    """A backup writes as a user of MinIO who may write and not delete: without one it is not scheduled at all.

    Wrong:
        users: []
        # and
        to: {bucket: datasets-backup}
    Right:
        users: [{name: backup-writer, buckets: [datasets-backup], access: backup}]
    """
    writers = [(at, user) for at, user in users(cluster) if user.access == "backup"]
    for at, backup, bucket, _ in _targets(cluster):
        if not any(bucket.name in user.buckets for _, user in writers):
            message = f"backup {backup.name}: no user has the right `backup` on bucket {bucket.name}"
            where = (*at, "to", "bucket")
            if not writers:
                yield Finding(at=where, message=message, fix="add a user with `access: backup`")
            for also, first in writers[:1]:
                fix = f"add it to the buckets of {first.name}"
                edits = put((*also, "buckets", len(first.buckets)), bucket.name)
                yield Finding(at=where, also=also, message=message, fix=fix, edits=edits)


@warning("GEN-BKP-015", "one user writes the copies")
def writer_alone(cluster: Cluster) -> Iterator[Finding]:
    """The first of several users is the one that is used; each other is a key more that can write there.

    Wrong:
        users: [{name: a, buckets: [copies], access: backup}, {name: b, buckets: [copies], access: backup}]
    Right:
        users: [{name: a, buckets: [copies], access: backup}]
    """
    for at, backup, bucket, _ in _targets(cluster):
        names = [user.name for user in _writers(cluster) if bucket.name in user.buckets]
        if len(names) > 1:
            message = f"{' and '.join(names)} may write to {bucket.name}: backup {backup.name} uses {names[0]}"
            also, fix = (*OBJECTS, "users"), "leave the right to one"
            yield Finding(at=(*at, "to", "bucket"), also=also, message=message, fix=fix)
