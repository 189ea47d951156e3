"""Rules about backups: where from, where to, by whom, how long."""

from collections.abc import Iterator
from typing import NamedTuple

from generator.checks.places import entries, given_twice, meant, unknown
from generator.checks.tiers import buckets, kept_for, missing_bucket, object_stores, team_buckets, users
from generator.model.backup import Backup
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, in_words, put, remove
from generator.model.retention import keeper, old_days
from generator.model.rule import rule, warning
from generator.model.storage import Bucket, ObjectUser
from generator.spec.near import suggest


class Target(NamedTuple):
    """A backup whose bucket in MinIO exists: where both stand."""

    at: Path
    backup: Backup
    bucket: Bucket
    also: Path


def targets(cluster: Cluster) -> Iterator[Target]:
    """Yield the backups into buckets that exist."""
    known = {bucket.name: (bucket, at) for at, bucket in buckets(cluster)}
    for at, backup in entries(cluster.backups, "backups"):
        if backup.target.in_minio in known:
            yield Target(at, backup, *known[backup.target.in_minio])


@rule("GEN-BKP-001", "backups of stores that exist")
def store_known(cluster: Cluster) -> Iterator[Finding]:
    """A backup copies a bucket of one of Ceph's object stores to MinIO or elsewhere, or without `store` one of MinIO
    elsewhere. Only buckets can be copied: filesystems of Ceph and NFS are not.

    Wrong:
        from: {store: dataset, bucket: datasets}
    Right:
        from: {store: datasets, bucket: datasets}
    """
    stores = [store.name for _, store in object_stores(cluster)]
    known = (
        f"one of {', '.join(stores)}"
        if stores
        else "only buckets can be backed up: add storage.ceph.objectStores, or leave `store` out for one of MinIO"
    )
    for at, backup in entries(cluster.backups, "backups"):
        name = backup.source.store
        if name is not None and name not in stores:
            message = f"backup {backup.name} is of object store {name}, which is not there"
            where = (*at, "from", "store")
            yield unknown(where, name, stores, message, known)


@rule("GEN-BKP-002", "backups of buckets that exist")
def source_known(cluster: Cluster) -> Iterator[Finding]:
    """The reader of backups gets a right on the buckets that the store lists or a team has there, or that MinIO has by
    `storage.objects.buckets`, and on no others.

    Wrong:
        from: {store: datasets, bucket: dataset}
    Right:
        from: {store: datasets, bucket: datasets}
    """
    stores = {store.name: (place, store) for place, store in object_stores(cluster)}
    for at, backup in entries(cluster.backups, "backups"):
        if backup.source.in_minio:
            yield from _in_minio(cluster, at, backup)
        if backup.source.store not in stores:
            continue
        place, store = stores[backup.source.store]
        known = [*store.buckets, *(one.name for _, one in team_buckets(cluster) if one.store == store.name)]
        if backup.source.bucket not in known:
            message = f"object store {backup.source.store} has no bucket {backup.source.bucket}"
            where = (*at, "from", "bucket")
            fix = suggest(backup.source.bucket, known, "add it to the store's `buckets`")
            add = put((*place, "buckets", len(store.buckets)), backup.source.bucket)
            edits = meant(where, backup.source.bucket, known) or add
            yield Finding(at=where, also=place, message=message, fix=fix, edits=edits)


def _in_minio(cluster: Cluster, at: Path, backup: Backup) -> Iterator[Finding]:
    name, known = backup.source.bucket, [bucket.name for _, bucket in buckets(cluster)]
    if name not in known:
        other = "add it to storage.objects.buckets; of a bucket of Ceph say its `store`"
        yield unknown((*at, "from", "bucket"), name, known, f"MinIO has no bucket {name}", other)


@rule("GEN-BKP-003", "backups to buckets that exist")
def target_known(cluster: Cluster) -> Iterator[Finding]:
    """Without `at` a backup goes to a bucket of MinIO, whose lock, quota and old versions are set before the first
    copy.

    Wrong:
        to: {bucket: dataset-backup}
    Right:
        to: {bucket: datasets-backup}
    """
    for at, backup in entries(cluster.backups, "backups"):
        yield from missing_bucket(cluster, (*at, "to", "bucket"), backup.target, f"backup {backup.name} goes")


@warning("GEN-BKP-004", "copies that nobody can delete")
def target_locked(cluster: Cluster) -> Iterator[Finding]:
    """Who breaks into the cluster deletes the backups first. Only a lock withstands that, and a bucket can have one
    only from the moment it is made. It counts from the day on which an object was copied: what has not changed for
    longer than `days` is held by it only where a user with `access: retention` extends it.

    Wrong:
        - {name: datasets-backup}
    Right:
        - {name: datasets-backup, lock: {days: 30}}
    """
    for at, backup, bucket, also in targets(cluster):
        if not bucket.lock and old_days(bucket):
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
    for at, backup, bucket, also in targets(cluster):
        if (days := old_days(bucket)) < backup.keep_days:
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
    for at, backup, bucket, also in targets(cluster):
        if bucket.lock and bucket.lock.days < backup.keep_days <= old_days(bucket):
            locked = f"locked {bucket.lock.days} from the day of each copy"
            message = f"backup {backup.name} is kept {backup.keep_days} days, and {locked}"
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
    items = ((_named(backup), (*at, "to", "bucket")) for at, backup in entries(cluster.backups, "backups"))
    return given_twice(items, "two backups go to bucket {}", "add a bucket for one of them")


def _named(backup: Backup) -> str:
    target = backup.target
    return target.bucket if target.at is None else f"{target.bucket} of {target.at}"


def _writers(cluster: Cluster) -> list[tuple[Path, ObjectUser]]:
    return [(at, user) for at, user in users(cluster) if user.access == "backup"]


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
    writers = _writers(cluster)
    for at, backup, bucket, _ in targets(cluster):
        if not any(bucket.name in user.buckets for _, user in writers):
            message = f"backup {backup.name}: no user has the right `backup` on bucket {bucket.name}"
            where = (*at, "to", "bucket")
            if not writers:
                yield Finding(at=where, message=message, fix="add a user with `access: backup`")
            for also, first in writers[:1]:
                fix = f"add it to the buckets of {first.name}"
                edits = put((*also, "buckets", len(first.buckets)), bucket.name)
                yield Finding(at=where, also=also, message=message, fix=fix, edits=edits)


MAY_CHANGE = {"backup": "write", "write": "write and delete"}
"""What the rights that change a bucket let a user of MinIO do there."""


def _others(cluster: Cluster) -> Iterator[tuple[ObjectUser, Target, Path, str]]:
    """Yield who else may change a backup's bucket than who writes it: with the place of that right, and its words."""
    for one in targets(cluster):
        used = next((user.name for _, user in _writers(cluster) if one.bucket.name in user.buckets), None)
        for where, user in users(cluster):
            if used and user.name != used and one.bucket.name in user.buckets and user.access in MAY_CHANGE:
                may = f"{user.name} may {MAY_CHANGE[user.access]} in {one.bucket.name}"
                message = f"{may}, to which backup {one.backup.name} writes as {used}"
                yield user, one, (*where, "buckets", user.buckets.index(one.bucket.name)), message


@warning("GEN-BKP-015", "one user writes the copies")
def writer_alone(cluster: Cluster) -> Iterator[Finding]:
    """The first of several users is the one that is used; each other is a key more that can write there, and one with
    `access: write` deletes as well.

    Wrong:
        users: [{name: a, buckets: [copies], access: backup}, {name: b, buckets: [copies], access: write}]
    Right:
        users: [{name: a, buckets: [copies], access: backup}]
    """
    for _, one, place, message in _others(cluster):
        if not keeper(cluster, one.backup):
            also = (*one.at, "to", "bucket")
            yield Finding(at=place, also=also, message=message, fix="take the bucket from the user")


@rule("GEN-BKP-063", "nobody's objects are hidden")
def copies_alone(cluster: Cluster) -> Iterator[Finding]:
    """A user with `access: retention` hides what is not in the source: what anybody else puts into the bucket of a
    backup is taken for gone from it with the next run, and the bucket removes it when its days are over.

    Wrong:
        users:
          - {name: writer, buckets: [copies], access: backup}
          - {name: keeper, buckets: [copies], access: retention}
          - {name: vision, buckets: [copies], access: write}
    Right:
        users:
          - {name: writer, buckets: [copies], access: backup}
          - {name: keeper, buckets: [copies], access: retention}
          - {name: vision, buckets: [work], access: write}
    """
    for user, one, place, message in _others(cluster):
        if hides := keeper(cluster, one.backup):
            hidden, also = f"{message}; {hides.name} hides what is put there", (*one.at, "to", "bucket")
            edits = remove(place) if user.buckets[1:] else ()
            yield Finding(at=place, also=also, message=hidden, fix="take the bucket from the user", edits=edits)
