"""Rules about the room that backups need where they go."""

from collections.abc import Iterator

from generator.checks.backups import targets
from generator.checks.places import entries, human
from generator.checks.retention import let_keep
from generator.checks.tiers import OBJECTS, buckets, object_stores
from generator.model.backup import Backup, VolumeBackup
from generator.model.capacity import objects_usable
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, in_words, put
from generator.model.restore_room import backups_of, store_holds
from generator.model.retention import LATE_DAYS, asked_days, bounded, kept_room, old_days
from generator.model.rule import rule, warning
from generator.model.storage import Bucket

# In days: as long as it takes to buy drives.
YEAR = 365
_ENDLESS = 2**80
_TO_STAY = (
    "let a user with `access: retention` hide what is gone; where jobs write over their keys say `changes: rewritten`"
)


def grows(cluster: Cluster, backup: Backup) -> bool:
    """Tell whether a backup grows by what was deleted in its source, for ever."""
    return backup.changes == "new-keys" and not bounded(cluster, backup)


def _volumes(cluster: Cluster) -> Iterator[tuple[Path, VolumeBackup, Bucket, Path, int]]:
    """Yield the backups of volumes into buckets that exist, with the room that each needs: all of the volume, and each
    day's changes for as long as they are kept, and then for as long as the bucket keeps what was deleted.
    """
    known = {bucket.name: (bucket, at) for at, bucket in buckets(cluster)}
    for at, one in entries(cluster.volume_backups, "volumeBackups"):
        if one.target.in_minio in known:
            bucket, also = known[one.target.in_minio]
            yield at, one, bucket, also, one.room(old_days(bucket))


def _left(cluster: Cluster) -> int:
    """Return what backups of volumes leave of MinIO, in bytes; 0 where it holds nothing that can be known."""
    usable = objects_usable(cluster).value
    return max(usable - sum(room for *_, room in _volumes(cluster)), 1) if usable else 0


@rule("GEN-BKP-011", "room for the copies in their bucket")
def room_in_bucket(cluster: Cluster) -> Iterator[Finding]:
    """A copy of all, and each day's changes for as long as they are kept or locked, whichever is longer, and for two
    days more: MinIO removes old versions after the midnight that follows. At its quota a bucket takes no more, and
    nothing locked can be deleted to make room. Of a volume: `size`, and `dailyChange` for `keepDays`, for a week until
    restic frees room, and then for as long as the bucket keeps old versions.

    Wrong:
        - {name: datasets-backup, quota: 100T}
        # and
        size: 90T
        dailyChange: 1T
        keepDays: 30
    Right:
        - {name: datasets-backup, quota: 130T}
    """
    for at, backup, bucket, also in targets(cluster):
        days = asked_days(backup, bucket)
        if bucket.quota and (room := kept_room(backup, days)) > bucket.quota.value:
            sum_ = f"{backup.size.human()} and {days + LATE_DAYS} days of {backup.daily_change.human()}"
            message = f"backup {backup.name} needs {human(room)} ({sum_}), and its bucket takes {bucket.quota.human()}"
            edits = put((*also, "quota"), f"{-(-room // 10**9)}G")
            fix = f"{in_words(edits)}, or fewer days"
            yield Finding(at=(*at, "size"), also=(*also, "quota"), message=message, fix=fix, edits=edits)
    yield from _volumes_in_buckets(cluster)


def _volumes_in_buckets(cluster: Cluster) -> Iterator[Finding]:
    """Yield the buckets whose quota is too small for all the volumes that are backed up there."""
    needed: dict[str, int] = {}
    for at, one, bucket, also, room in _volumes(cluster):
        before, needed[bucket.name] = needed.get(bucket.name, 0), needed.get(bucket.name, 0) + room
        if bucket.quota and before <= bucket.quota.value < needed[bucket.name]:
            kept = f"{one.kept_changes} days of changes, and {old_days(bucket)} more as old versions"
            takes = f"its bucket takes {bucket.quota.human()}"
            so_far = f" beside {human(before)} of others" if before else ""
            message = f"backup {one.name} needs {human(room)} ({kept}){so_far}, and {takes}"
            edits = put((*also, "quota"), f"{-(-needed[bucket.name] // 10**9)}G")
            fix = f"{in_words(edits)}, or fewer days"
            yield Finding(at=(*at, "size"), also=(*also, "quota"), message=message, fix=fix, edits=edits)


@warning("GEN-BKP-019", "copies of what was deleted have room for a year")
def new_keys_fit(cluster: Cluster) -> Iterator[Finding]:
    """What was deleted in the source stays in the target, and no rule of the bucket ends it, unless a user with
    `access: retention` hides it. Where each day's changes are under new keys, as with checkpoints that are numbered,
    the target grows by them until it is full, and then no backup works any more. What backups of volumes need is not
    there for them.

    Wrong:
        - {name: copies, quota: 200T}
        # and
        size: 100T
        dailyChange: 8T
    Right:
        users: [{name: backup-keeper, buckets: [copies], access: retention}]
        # or: jobs write over their former checkpoints
        size: 100T
        dailyChange: 8T
        changes: rewritten
    """
    usable = _left(cluster)
    alone = False
    for at, backup, bucket, also in targets(cluster):
        most = min(each for each in (bucket.quota and bucket.quota.value, usable, _ENDLESS) if each)
        change = backup.daily_change.value
        days = (most - backup.size.value) // change if change else YEAR
        if grows(cluster, backup) and 0 <= days < YEAR:
            alone = True
            added = f"{backup.daily_change.human()} of new keys a day"
            message = f"{added} fill bucket {bucket.name} ({human(most)}) in {days} days: no copy is ever deleted"
            yield Finding(
                at=(*at, "dailyChange"), also=also, message=message, fix=_TO_STAY, edits=let_keep(cluster, bucket)
            )
    if not alone:
        yield from _together(cluster, usable)


def _together(cluster: Cluster, usable: int) -> Iterator[Finding]:
    """Yield where backups of which none fills MinIO by itself within a year do so together."""
    found = list(targets(cluster))
    growing = [one for one in found if grows(cluster, one.backup)]
    change = sum(one.backup.daily_change.value for one in growing)
    days = (usable - sum(one.backup.size.value for one in found)) // change if change else YEAR
    if usable and growing[1:] and 0 <= days < YEAR:
        message = (
            f"{human(change)} of new keys a day, of {len(growing)} backups, fill MinIO ({human(usable)}) in {days} days"
        )
        at = (*growing[-1].at, "dailyChange")
        yield Finding(at=at, also=OBJECTS, message=f"{message}: no copy is ever deleted", fix=_TO_STAY)


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
    for _, backup, bucket, at in targets(cluster):
        days, asked = old_days(bucket), asked_days(backup, bucket)
        if bucket.quota and kept_room(backup, asked) <= bucket.quota.value < (room := kept_room(backup, days)):
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
    usable = objects_usable(cluster).value
    found = [
        (at, backup.name, kept_room(backup, max(asked_days(backup, bucket), old_days(bucket))))
        for at, backup, bucket, _ in targets(cluster)
    ]
    found += [(at, backup.name, room) for at, backup, _, _, room in _volumes(cluster)]
    total = sum(room for _, _, room in found)
    if found and 0 < usable < total:
        backups = f"{len(found)} backups need" if found[1:] else f"backup {found[0][1]} needs"
        message = f"{backups} {human(total)}, and MinIO holds {human(usable)}"
        fix = f"{human(total - usable)} more, or fewer days"
        yield Finding(at=(*found[-1][0], "size"), also=(*OBJECTS, "pool"), message=message, fix=fix)


@warning("GEN-BKP-028", "room in Ceph to bring a bucket back")
def restore_fits(cluster: Cluster) -> Iterator[Finding]:
    """A bucket is brought back beside what is there, and looked at before anything is written over: the store needs
    room for all that is backed up, and for the largest of it a second time.

    Wrong:
        # the store's pool holds 200T
        size: 150T
    Right:
        # the store's pool holds 300T
        size: 150T
    """
    for at, store in object_stores(cluster):
        # What is backed up to two places is there once.
        sizes = {one.source.bucket: one.size.value for one in backups_of(cluster, store)}.values()
        needed, holds = sum(sizes) + max(sizes, default=0), store_holds(cluster, store)
        if holds and holds < needed:
            message = (
                f"store {store.name} holds {human(holds)}, and needs {human(needed)} while its largest is restored"
            )
            fix = f"{human(needed - holds)} more, or backups of what cannot be had elsewhere alone"
            yield Finding(at=(*at, "data"), message=message, fix=fix)
