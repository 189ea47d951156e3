"""Rules about backups of MinIO's own buckets."""

from collections.abc import Iterator

from generator.checks.places import entries, human
from generator.checks.tiers import OBJECTS, buckets
from generator.model.backup import RESTORED, Backup
from generator.model.capacity import objects_usable
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path
from generator.model.rule import rule, warning

LONGEST = 63 - len(f"{RESTORED}20261127")
"""How many characters the name of a bucket may have which is brought back under its name and a day."""


def _backups(cluster: Cluster) -> list[tuple[Path, Backup]]:
    """Return the backups of MinIO's buckets, each with its place."""
    return [(at, one) for at, one in entries(cluster.backups, "backups") if one.source.in_minio]


@rule("GEN-BKP-042", "a copy of what is in MinIO is elsewhere")
def leaves_minio(cluster: Cluster) -> Iterator[Finding]:
    """A copy in the same MinIO is lost with its drives, with its keys and with the site: it is no backup. A bucket of
    MinIO is backed up to a service outside the cluster, which `at` names. What only shall not be overwritten has
    versions, and a lock.

    Wrong:
        from: {bucket: models}
        to: {bucket: models-backup}
    Right:
        from: {bucket: models}
        to: {bucket: models-backup, at: offsite}
    """
    places = ", ".join(one.name for one in cluster.storage.elsewhere)
    fix = f"say `at`: {places}" if places else "describe a service in storage.elsewhere, and name it in `at`"
    for at, one in _backups(cluster):
        if one.target.at is None:
            message = f"backup {one.name} is of a bucket of MinIO, and goes to the same MinIO"
            yield Finding(at=(*at, "to"), also=(*at, "from"), message=message, fix=fix)


@rule("GEN-BKP-043", "no backups of backups")
def no_backup(cluster: Cluster) -> Iterator[Finding]:
    """A bucket that a backup goes to holds records of it, by which it is brought back: a copy would mix them with its
    own, and restic's repositories change while they are copied. What shall be at two places has two backups.

    Wrong:
        - {name: datasets, from: {store: data, bucket: datasets}, to: {bucket: copies}, ...}
        - {name: away, from: {bucket: copies}, to: {bucket: copies, at: offsite}, ...}
    Right:
        - {name: datasets, from: {store: data, bucket: datasets}, to: {bucket: copies}, ...}
        - {name: away, from: {store: data, bucket: datasets}, to: {bucket: copies, at: offsite}, ...}
    """
    filled = {one.target.in_minio: one.name for one in cluster.all_backups}
    filled |= {one.target.in_minio: one.name for one in cluster.volumes_in_minio}
    for at, one in _backups(cluster):
        if other := filled.get(one.source.bucket):
            message = f"backup {one.name} is of bucket {one.source.bucket}, which backup {other} goes to"
            fix = f"back up what {other} is of a second time, elsewhere"
            yield Finding(at=(*at, "from", "bucket"), message=message, fix=fix)


@rule("GEN-BKP-044", "names that restored buckets can have")
def name_restorable(cluster: Cluster) -> Iterator[Finding]:
    """A bucket of MinIO is brought back into one of its name, `-restored-` and a day, which S3 allows 63 characters; by
    that name the user is known who may make it, and write there: no bucket that is in use may have such a name.

    Wrong:
        from: {bucket: models-of-the-department-of-language-technology}
    Right:
        from: {bucket: language-models}
    """
    for at, one in _backups(cluster):
        name, where = one.source.bucket, (*at, "from", "bucket")
        if len(name) > LONGEST:
            message = f"{name} has {len(name)} characters, and a bucket that can be brought back {LONGEST}"
            yield Finding(at=where, message=message, fix="a bucket with a shorter name")
        if RESTORED in name:
            message = f"{name} is named as what was brought back from a backup"
            yield Finding(at=where, message=message, fix=f"a bucket without `{RESTORED}` in its name")
    yield from _taken(cluster)


def _taken(cluster: Cluster) -> Iterator[Finding]:
    """Yield the buckets of the file that a restore might write to."""
    for also, one in _backups(cluster):
        for at, bucket in buckets(cluster):
            if bucket.name.startswith(f"{one.source.bucket}{RESTORED}"):
                message = (
                    f"{bucket.name} is named as what is brought back from backup {one.name}: restores may write there"
                )
                fix = f"a name that does not begin with {one.source.bucket}{RESTORED}"
                yield Finding(at=(*at, "name"), also=(*also, "from", "bucket"), message=message, fix=fix)


@warning("GEN-BKP-045", "room in MinIO to bring a bucket back")
def restore_fits(cluster: Cluster) -> Iterator[Finding]:
    """A bucket is brought back beside what is there, and looked at before anything is written over: MinIO needs room
    for all that is backed up there, and for the largest of it a second time.

    Wrong:
        # MinIO holds 200T
        from: {bucket: models}
        size: 150T
    Right:
        # MinIO holds 400T
        from: {bucket: models}
        size: 150T
    """
    found = _backups(cluster)
    # What is backed up to two places is there once.
    sizes = {one.source.bucket: one.size.value for _, one in found}.values()
    needed, holds = sum(sizes) + max(sizes, default=0), objects_usable(cluster).value
    if 0 < holds < needed:
        message = f"MinIO holds {human(holds)}, and needs {human(needed)} while the largest of these is restored"
        fix = f"{human(needed - holds)} more, or backups of what cannot be had elsewhere alone"
        yield Finding(at=(*found[-1][0], "size"), also=OBJECTS, message=message, fix=fix)
