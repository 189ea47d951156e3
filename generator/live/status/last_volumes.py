"""The last good backup of each volume that the cluster file declares, as VolSync tells."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from generator.components.component import Manifest
from generator.components.volsync.names import GROUP, NAME
from generator.live.messages import shortened
from generator.live.status.causes import Cause
from generator.live.status.last_backups import LastBackup, LastRun, last_drill
from generator.live.times import moment
from generator.model.backup import VolumeBackup
from generator.model.cluster import Cluster
from generator.model.fields import dig, sequence

EMPTY = re.compile(r"Directory is empty skipping backup|^processed 0 files", re.MULTILINE)
"""What a mover says of a volume without files, and calls a success (v0.16.0: `mover-restic/entry.sh`, and restic; both
lines pass `internal/controller/mover/restic/logfilter.go`).
"""
SOURCES = f"/apis/{GROUP}/v1alpha1/replicationsources"


def last_volumes(
    cluster: Cluster, sources: Sequence[Manifest], drills: Sequence[Manifest], now: datetime
) -> Iterator[LastBackup]:
    """Yield the backups of volumes of the cluster file, in its order, with their drills. `good` is when the last good
    run ended: what it holds is as of its snapshot, a run's length before.
    """
    found = {(dig(one, "metadata", "namespace"), dig(one, "metadata", "name")): one for one in sources}
    for one in cluster.volume_backups:
        source = found.get((one.source.team, one.name), {})
        good, running = _text(source, "lastSyncTime"), _text(source, "lastSyncStartTime")
        causes = tuple(_causes(one, source, good, now))
        copy = LastRun(good=good, running=running, causes=causes)
        yield LastBackup(name=one.name, copy=copy, drill=last_drill(cluster, one, drills, now))


def _text(source: Manifest, *path: str) -> str:
    return str(dig(source, "status", *path) or "")


def _causes(one: VolumeBackup, source: Manifest, good: str, now: datetime) -> Iterator[Cause]:
    look = f"kubectl describe replicationsource {one.name} --namespace {one.source.team}"
    for why in _reasons(one, source, good, now):
        yield Cause(component=NAME, objects=(f"volume backup {one.name}",), why=why, command=look)


def _reasons(one: VolumeBackup, source: Manifest, good: str, now: datetime) -> Iterator[str]:
    if one.suspended:
        yield "it is suspended in the cluster file"
        return
    if not source:
        yield f"there is no ReplicationSource {one.name} in namespace {one.source.team}"
        return
    if _text(source, "latestMoverStatus", "result") == "Failed":
        yield f"its last mover failed: {_last_line(_text(source, 'latestMoverStatus', 'logs'))}"
    if EMPTY.search(_text(source, "latestMoverStatus", "logs")):
        what = "bring back what is lost while the backups before it are kept"
        yield f"its last run found no file in claim {one.source.claim}: {what}"
    for condition in sequence(dig(source, "status", "conditions")):
        if dig(condition, "reason") == "Error":
            yield f"VolSync says: {shortened(str(dig(condition, 'message') or ''))}"
    if not good:
        yield "no run was good yet"
    elif (age := (now - (moment(good) or now)).total_seconds()) > one.too_old:
        yield f"its last good run ended {age / 3600:.0f} hours ago, and it should run by `{one.schedule}`"


def _last_line(logs: str) -> str:
    lines = [line for line in logs.splitlines() if line.strip()]
    return shortened(lines[-1]) if lines else "it says nothing"
