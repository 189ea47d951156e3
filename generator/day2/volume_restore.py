"""A volume of a team brought back from its backup: what is asked for, made in the cluster, and waited for."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from generator.components.component import Manifest
from generator.components.volsync.names import GROUP, repository
from generator.components.volsync.restoring import claim, comparison, comparison_name, destination
from generator.components.volsync.sources import volume_kind
from generator.errors import UsageError
from generator.live.messages import shortened
from generator.live.running import RunningCluster
from generator.live.times import moment, stamp
from generator.model.backup import VolumeBackup
from generator.model.base import is_label
from generator.model.cluster import Cluster
from generator.model.fields import dig

NOTHING = "No data will be restored"
"""What the mover says, and calls it a success, where there was no backup yet (v0.16.0: `mover-restic/entry.sh`)."""
CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"
DESTINATIONS = f"/apis/{GROUP}/v1alpha1/namespaces/{{}}/replicationdestinations"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"
COMPARED_BY = "gen.internal/compared-by"
"""The annotation of a ReplicationDestination with the uid of the Job that gen made to compare its claim."""


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether a claim is as its backup has it, and when that was found."""

    good: bool
    at: str = ""


class VolumeRestore(Struct, frozen=True, kw_only=True):
    """A backup of a volume that is brought back as it was at a time, into the claim `into`."""

    backup: VolumeBackup
    at: datetime
    into: str

    @property
    def team(self) -> str:
        """The team whose volume it is."""
        return self.backup.source.team

    def again(self, cluster: str) -> str:
        """Return the command that goes on with the same."""
        return f"gen restore {self.backup.name} --cluster {cluster} --at {stamp(self.at)} --into {self.into}"


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
    place = f"{target.at}, " if target.at else ""
    yield f"  from  {place}{target.bucket}/{one.backup.prefix}, the last backup that was made by {stamp(one.at)}"
    yield f"  into  claim {one.into} of the same namespace: a new one, or what a stopped run left of it"
    yield f"  then  compares both, file by file; {source.claim} stays as it is"


def begin(running: RunningCluster, cluster: Cluster, one: VolumeRestore) -> None:
    """Make the new claim, and have VolSync fill it. Raises UsageError where a claim of this name is somebody else's, or
    where the one that VolSync filled is gone.
    """
    there, began = held(running, one), running.get(f"{DESTINATIONS.format(one.team)}/{one.into}")
    if there and not began:
        raise UsageError(f"claim {one.into} of {one.team} is there already, and not of a restore: name another --into")
    if dig(there or {}, "metadata", "deletionTimestamp"):
        raise UsageError(f"claim {one.into} of {one.team} is being removed: wait for that, or name another --into")
    if began:
        _go_on(began, cluster, one, there=bool(there))
    else:
        running.create(DESTINATIONS.format(one.team), destination(cluster, one.backup, one.into, stamp(one.at)))
    if not there:
        running.create(CLAIMS.format(one.team), _claim(running, cluster, one))


def held(running: RunningCluster, one: VolumeRestore) -> Manifest | None:
    """Return the new claim as the cluster has it."""
    return running.get(f"{CLAIMS.format(one.team)}/{one.into}")


def _go_on(began: Manifest, cluster: Cluster, one: VolumeRestore, *, there: bool) -> None:
    """Raise UsageError where what a stopped run left cannot be gone on with: VolSync fills a claim once."""
    former, of = dig(began, "spec", "trigger", "manual"), dig(began, "spec", "restic", "repository")
    if of != repository(one.backup):
        raise UsageError(f"{one.into} is being restored from {of}, which is another backup: name another --into")
    if former != stamp(one.at):
        raise UsageError(f"{one.into} is being restored as of {former}: say --at {former} to go on, or another --into")
    if not there and dig(began, "status", "lastManualSync") == stamp(one.at):
        remove = f"kubectl --namespace {one.team} delete replicationdestination {one.into}"
        raise UsageError(
            f"claim {one.into} of {one.team} was removed after VolSync had filled it, which it does once: `{remove}`, "
            f"then `{one.again(cluster.name)}`; or name another --into"
        )


def _claim(running: RunningCluster, cluster: Cluster, one: VolumeRestore) -> Manifest:
    """Return a claim like the live one, or where that is gone one of the size that the cluster file says."""
    live = running.get(f"{CLAIMS.format(one.team)}/{one.backup.source.claim}") or {}
    ceph = cluster.storage.ceph
    shared = ceph and volume_kind(ceph, one.backup.source.storage_class) == "cephfs"
    modes = dig(live, "spec", "accessModes") or ["ReadWriteMany" if shared else "ReadWriteOnce"]
    size = dig(live, "spec", "resources", "requests", "storage") or str(one.backup.size)
    return claim(one.backup, one.into, str(size), list(modes))


def filled(running: RunningCluster, one: VolumeRestore) -> str | None:
    """Return what went wrong when VolSync filled the claim, empty where nothing did; None while it is under way. Raises
    UsageError where nobody fills it any more.
    """
    found = running.get(f"{DESTINATIONS.format(one.team)}/{one.into}")
    if found is None:
        gone = f"ReplicationDestination {one.into} of {one.team} was removed before the claim was full"
        raise UsageError(f"{gone}: remove claim {one.into}, then the same command again; or name another --into")
    result = str(dig(found, "status", "latestMoverStatus", "result") or "")
    logs = str(dig(found, "status", "latestMoverStatus", "logs") or "")
    if result == "Failed":
        return f"the mover failed: {shortened(logs.strip().splitlines()[-1] if logs.strip() else 'it says nothing')}"
    if dig(found, "status", "lastManualSync") != stamp(one.at):
        return None
    return f"no backup had been made by {stamp(one.at)}" if NOTHING in logs else ""


def compare(running: RunningCluster, cluster: Cluster, one: VolumeRestore) -> str:
    """Start what compares the new claim with the backup, unless it was started before for this very claim; return the
    Job's name. Raises UsageError where the claim is gone, or the Job is somebody else's.
    """
    claim = held(running, one)
    if claim is None:
        raise UsageError(f"claim {one.into} of {one.team} was removed before it was compared: name another --into")
    name = comparison_name(claim)
    if made := running.create(JOBS.format(one.team), comparison(cluster, one.backup, claim, stamp(one.at))):
        noted = {"metadata": {"annotations": {COMPARED_BY: made["metadata"]["uid"]}}}
        running.merge(f"{DESTINATIONS.format(one.team)}/{one.into}", noted)
    elif found := running.get(f"{JOBS.format(one.team)}/{name}"):
        _own(running, one, found)
    return name


def _own(running: RunningCluster, one: VolumeRestore, job: Manifest) -> None:
    """Raise UsageError where a Job is not the one that was noted when it was made. Members of the team can make Jobs of
    any name, but they cannot change what VolSync restores by, where it is noted.
    """
    found = running.get(f"{DESTINATIONS.format(one.team)}/{one.into}") or {}
    if dig(found, "metadata", "annotations", COMPARED_BY) != dig(job, "metadata", "uid"):
        name = dig(job, "metadata", "name")
        raise UsageError(
            f"Job {name} of {one.team} was not noted as one of this command, so what it finds proves nothing: `kubectl "
            f"--namespace {one.team} delete job {name}`, then the same command again"
        )


def compared(running: RunningCluster, one: VolumeRestore, job: str) -> Verdict | None:
    """Return what a Job found; None while it is under way. Raises UsageError where it compared another claim than the
    one that has the name now, is gone, or is somebody else's.
    """
    claim, found = held(running, one), running.get(f"{JOBS.format(one.team)}/{job}")
    if claim is None or comparison_name(claim) != job:
        gone = f"claim {one.into} of {one.team} was removed while it was compared"
        raise UsageError(f"{gone}: what has its name now is proven by nothing; name another --into")
    if found is None:
        raise UsageError(f"Job {job} of {one.team} was removed before it had compared all: the same command again")
    _own(running, one, found)
    if dig(found, "status", "succeeded"):
        return Verdict(good=True, at=str(dig(found, "status", "completionTime") or ""))
    return Verdict(good=False) if dig(found, "status", "failed") else None
