"""A volume of a team brought back from its backup: what is asked for, made in the cluster, and waited for."""

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

from msgspec import Struct

from generator.components.component import Manifest
from generator.components.volsync.names import GROUP
from generator.components.volsync.restoring import claim, comparison, destination, stamp
from generator.components.volsync.sources import volume_kind
from generator.errors import UsageError
from generator.live.messages import shortened
from generator.live.running import RunningCluster
from generator.live.times import moment
from generator.model.backup import VolumeBackup
from generator.model.base import is_label
from generator.model.cluster import Cluster
from generator.model.fields import dig

Seen = TypeVar("Seen")
PAUSE = 5.0
"""Seconds between two looks."""
NOTHING = "No data will be restored"
"""What the mover says, and calls it a success, where there was no backup yet (v0.16.0: `mover-restic/entry.sh`)."""
CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"
DESTINATIONS = f"/apis/{GROUP}/v1alpha1/namespaces/{{}}/replicationdestinations"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"


class VolumeRestore(Struct, frozen=True, kw_only=True):
    """A backup of a volume that is brought back as it was at a time, into the claim `into`."""

    backup: VolumeBackup
    at: datetime
    into: str

    @property
    def team(self) -> str:
        """The team whose volume it is."""
        return self.backup.source.team


def volume_backup(cluster: Cluster, name: str) -> VolumeBackup | None:
    """Return the backup of a volume with this name."""
    return next((one for one in cluster.volume_backups if one.name == name), None)


def asked(backup: VolumeBackup, now: datetime, *, at: str | None, into: str | None) -> VolumeRestore:
    """Return what is asked for. Raises UsageError for what cannot be."""
    when = now if at is None else moment(at)
    if when is None or when > now:
        raise UsageError(f"--at {at}: say a time that has passed, as 2026-11-20T00:00:00Z")
    target = into if into is not None else f"{backup.source.claim}-restored-{when.astimezone(UTC):%Y%m%d}"
    if not is_label(target) or re.search(r"[^a-z0-9-]", target):
        raise UsageError(f"`{target}` cannot be the name of a claim: name another one with --into")
    if target == backup.source.claim:
        raise UsageError(f"--into {target}: that is the live claim; restore into a new one")
    return VolumeRestore(backup=backup, at=when, into=target)


def plan(cluster: Cluster, one: VolumeRestore) -> Iterator[str]:
    """Yield what will be done, for who is asked."""
    source, target = one.backup.source, one.backup.target
    yield f"brings claim {source.claim} of team {source.team} of {cluster.name} back"
    yield f"  from  {target.bucket}/{one.backup.prefix}, the last backup that was made by {stamp(one.at)}"
    yield f"  into  claim {one.into} of the same namespace: a new one, or what a stopped run left of it"
    yield f"  then  compares both, file by file; {source.claim} stays as it is"


def begin(running: RunningCluster, cluster: Cluster, one: VolumeRestore) -> None:
    """Make the new claim, and have VolSync fill it. Raises UsageError where a claim of this name is somebody else's."""
    claims = CLAIMS.format(one.team)
    there = running.get(f"{claims}/{one.into}")
    began = running.get(f"{DESTINATIONS.format(one.team)}/{one.into}")
    if there and not began:
        raise UsageError(f"claim {one.into} of {one.team} is there already, and not of a restore: name another --into")
    if began and dig(began, "spec", "trigger", "manual") != stamp(one.at):
        former = dig(began, "spec", "trigger", "manual")
        raise UsageError(f"{one.into} is being restored as of {former}: say --at {former} to go on, or another --into")
    if not began:
        running.create(DESTINATIONS.format(one.team), destination(one.backup, one.into, one.at))
    if not there:
        running.create(claims, _claim(running, cluster, one))


def _claim(running: RunningCluster, cluster: Cluster, one: VolumeRestore) -> Manifest:
    """Return a claim like the live one, or where that is gone one of the size that the cluster file says."""
    live = running.get(f"{CLAIMS.format(one.team)}/{one.backup.source.claim}") or {}
    ceph = cluster.storage.ceph
    shared = ceph and volume_kind(ceph, one.backup.source.storage_class) == "cephfs"
    modes = dig(live, "spec", "accessModes") or ["ReadWriteMany" if shared else "ReadWriteOnce"]
    size = dig(live, "spec", "resources", "requests", "storage") or str(one.backup.size)
    return claim(one.backup, one.into, str(size), list(modes))


def filled(running: RunningCluster, one: VolumeRestore) -> str | None:
    """Return what went wrong when VolSync filled the claim, empty where nothing did; None while it is under way."""
    found = running.get(f"{DESTINATIONS.format(one.team)}/{one.into}") or {}
    result = str(dig(found, "status", "latestMoverStatus", "result") or "")
    logs = str(dig(found, "status", "latestMoverStatus", "logs") or "")
    if result == "Failed":
        return f"the mover failed: {shortened(logs.strip().splitlines()[-1] if logs.strip() else 'it says nothing')}"
    if dig(found, "status", "lastManualSync") != stamp(one.at):
        return None
    return f"no backup had been made by {stamp(one.at)}" if NOTHING in logs else ""


def compare(running: RunningCluster, cluster: Cluster, one: VolumeRestore) -> None:
    """Start what compares the new claim with the backup, unless it was started before."""
    running.create(JOBS.format(one.team), comparison(cluster, one.backup, one.into, one.at))


def compared(running: RunningCluster, one: VolumeRestore) -> bool | None:
    """Tell whether both are the same; None while it is under way."""
    found = running.get(f"{JOBS.format(one.team)}/compare-{one.into}") or {}
    if dig(found, "status", "succeeded"):
        return True
    return False if dig(found, "status", "failed") else None


def waited(look: Callable[[], Seen | None], pause: float = PAUSE) -> Seen:
    """Look until something is seen, and return it."""
    while (seen := look()) is None:
        time.sleep(pause)
    return seen
