"""A bucket brought back from its backup: what is asked for, held against the cluster file, and what came of it."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec import Struct, structs

from generator.components.ceph_cluster.buckets import owner_secret, team_of
from generator.components.rook_ceph import NAMESPACE
from generator.components.workflows.restore import deadline, operation
from generator.day2.workflows.logs import Printed
from generator.day2.workflows.operations import Operation
from generator.day2.workflows.room import Left, left
from generator.errors import UsageError
from generator.live.running import RunningCluster
from generator.live.times import moment, stamp
from generator.model.backup import RESTORED, Backup
from generator.model.cluster import Cluster
from generator.model.plural import plural
from generator.model.quantity import Quantity
from generator.spec.near import suggest

BUCKET = r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]"
"""As `BucketName` of the model."""
Switch = Literal["none", "missing", "all"]
VERDICTS = ("FAILED: ", "error: ")
"""How scripts of operations begin what they tell of a failure: a verdict, and trouble that may pass."""


class Restore(Struct, frozen=True, kw_only=True):
    """A backup that is brought back as it was at a time, into a bucket beside its own."""

    backup: Backup
    at: datetime
    into: str
    switch: Switch
    left: Left = Left(None)

    @property
    def operation(self) -> str:
        """What is run for it."""
        return operation(self.backup.name)

    @property
    def deadline(self) -> int:
        """How long the run may take, in seconds."""
        return deadline()

    @property
    def parameters(self) -> dict[str, str]:
        """What the run is told; what Ceph has left, where that is known."""
        told = {"into": self.into, "at": stamp(self.at), "switch": self.switch}
        return told if self.left.bytes is None else told | {"free": str(self.left.bytes)}

    def known_to(self, operation: Operation) -> dict[str, str]:
        """Return what the run is told by an operation that was rendered by an older gen, which knows no room."""
        names = {one.name for one in operation.parameters}
        return {name: value for name, value in self.parameters.items() if name != "free" or name in names}

    def again(self, cluster: str, switch: Switch) -> str:
        """Return the command that brings the same back, with another switch."""
        return (
            f"gen restore {self.backup.name} --cluster {cluster} --at {stamp(self.at)} --into {self.into}"
            f" --switch {switch}"
        )


def with_room(running: RunningCluster, cluster: Cluster, one: Restore) -> Restore:
    """Return what is asked for with what Ceph can still take. Raises UsageError where there is no talking to it."""
    stores = cluster.storage.ceph.object_stores if cluster.storage.ceph else ()
    pool = next((store.data for store in stores if store.name == one.backup.source.store), None)
    return structs.replace(one, left=left(running, pool)) if pool else one


def meant(cluster: Cluster, bucket: str) -> Backup:
    """Return the backup of a name, or of a bucket. Raises UsageError where there is none, or several."""
    known = cluster.backups
    found = [one for one in known if one.name == bucket] or [one for one in known if one.source.bucket == bucket]
    if not found:
        names = [one.name for one in known] + [one.source.bucket for one in known]
        sources = ", ".join(dict.fromkeys(one.source.bucket for one in known))
        others = f"there are backups of {sources}" if known else "its cluster file has none"
        raise UsageError(f"{cluster.name} has no backup of {bucket}; {suggest(bucket, names, others)}")
    if len(found) > 1:
        told = list(dict.fromkeys(one.name for one in found))
        way = f"name one of {', '.join(told)}" if len(told) == len(found) else "some share a name, so rename one"
        raise UsageError(f"{bucket} has several backups: {way}")
    return found[0]


def restore(  # noqa: PLR0913 - the options of the verb
    cluster: Cluster, bucket: str, now: datetime, *, at: str | None, into: str | None, switch: Switch
) -> Restore:
    """Return what is asked for. Raises UsageError for what cannot be."""
    backup, time = meant(cluster, bucket), _time(at, now)
    target = into if into is not None else f"{backup.source.bucket}{RESTORED}{time.astimezone(UTC):%Y%m%d}"
    if not re.fullmatch(BUCKET, target):
        raise UsageError(f"`{target}` cannot be the name of a bucket: name another one with --into")
    if target == backup.source.bucket:
        raise UsageError(f"--into {target}: that is the live bucket; restore into a new one, and then --switch")
    named = f"{backup.source.bucket}{RESTORED}"
    if backup.source.in_minio and not target.startswith(named):
        raise UsageError(f"--into {target}: in MinIO only a bucket `{named}...` may be made for it: name such a one")
    return Restore(backup=backup, at=time, into=target, switch=switch)


def _time(at: str | None, now: datetime) -> datetime:
    if at is None:
        return now
    found = moment(at)
    if found is None:
        raise UsageError(f"--at {at}: say a time as 2026-11-20T00:00:00Z")
    if found > now:
        raise UsageError(f"--at {at}: that time has not come yet")
    return found


def plan(cluster: Cluster, one: Restore, now: datetime) -> Iterator[str]:
    """Yield what will be done, for who is asked."""
    source, target = one.backup.source, one.backup.target
    yield f"brings {source.bucket} of {cluster.name} back"
    whose = f" of {target.at}" if target.at else ""
    yield f"  from  {target.bucket}{whose}, as the last good backup that had ended by {stamp(one.at)} left it"
    where = f"store {source.store}" if source.store else "MinIO"
    yield f"  into  {one.into} of {where}: a new bucket, or what a stopped run left of it"
    yield f"  then  {_effect(one)}"
    yield from _room(one.left)
    yield from _keys(cluster, one)
    kept = _kept(cluster, one)
    if now - one.at > timedelta(days=kept):
        days = plural(kept, "day")
        how = (
            f"is asked to keep what was overwritten for {days}"
            if target.at
            else f"keeps what was overwritten for {days}"
        )
        yield f"note: {target.bucket} {how}: of that time it may hold less, and the run fails where it proves to"


def _kept(cluster: Cluster, one: Restore) -> int:
    """Return for how many days a backup's bucket keeps old versions; of one elsewhere what the backup asks for."""
    target, objects = one.backup.target, cluster.storage.objects
    if target.at:
        return one.backup.keep_days
    return next((each.expire_versions for each in objects.buckets if each.name == target.bucket), 0) if objects else 0


def _keys(cluster: Cluster, one: Restore) -> Iterator[str]:
    """Yield what a switch needs of a team's bucket: a pod reads Secrets of its own namespace alone."""
    bucket, in_minio = one.backup.source.bucket, one.backup.source.in_minio
    if not in_minio and (team := team_of(cluster, bucket)) and one.switch != "none":
        secret = owner_secret(cluster, bucket)
        yield (
            f"note: {bucket} is team {team.name}'s, and the run ends at once without its keys: copy Secret "
            f"{secret} from namespace {team.name} to {NAMESPACE} first, and delete the copy afterwards"
        )


def _room(left: Left) -> Iterator[str]:
    if left.bytes is not None:
        yield f"  room  Ceph takes {Quantity.of(left.bytes).human()} more, at most, before it is nearly full"
    elif left.unknown:
        yield f"note: how much room Ceph has left is unknown: {left.unknown}"


def _effect(one: Restore) -> str:
    live = one.backup.source.bucket
    if one.switch == "none":
        return f"compares both; {live} stays as it is"
    if one.switch == "missing":
        return f"writes to {live} what is missing there, and what differs though it was not written since its backup"
    return f"writes every object over {live}: what was written to them since is lost; nothing is deleted"


def verdict(lines: Sequence[Printed], *, good: bool) -> Iterator[str]:
    """Yield what the steps found: their results where all went well, else why they failed."""
    if good:
        for step in ("verify", "switch"):
            said = [one.line for one in lines if one.step.startswith(step)]
            yield from (_without_time(line) for line in said[-1:])
        return
    for mark in VERDICTS:
        if found := [one for one in lines if mark in one.line]:
            last = [one for one in found if one.step == found[-1].step]
            yield from (f"{one.step}: {_without_time(one.line)}" for one in last)
            return


def _without_time(line: str) -> str:
    return line.partition(" ")[2]
