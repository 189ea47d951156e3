"""How far the way back of a volume is, told while it is waited for."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from generator.components.component import Manifest
from generator.day2.volume_restore import DESTINATIONS, JOBS, VolumeRestore, held
from generator.day2.workflows.text import lasted
from generator.live.away import answered
from generator.live.messages import shortened
from generator.live.running import RunningCluster
from generator.model.fields import condition, dig, sequence

Seen = TypeVar("Seen")
PAUSE = 5.0
"""Seconds between two looks."""
STILL = 300.0
"""Seconds after which is told once more what has not changed."""
PODS = "/api/v1/namespaces/{}/pods"


class Standing(NamedTuple):
    """What is waited for, and since when (RFC 3339, "" where nobody says)."""

    what: str
    since: str

    def line(self, now: datetime) -> str:
        """Return it for a terminal."""
        return f"{self.what}, since {self.since} ({lasted(self.since, '', now)})" if self.since else self.what


def waited(
    running: RunningCluster,
    look: Callable[[], Seen | None],
    standing: Callable[[], Standing],
    tell: Callable[[str], None],
    pause: float = PAUSE,
) -> Seen:
    """Look until something is seen, and return it. What is waited for meanwhile is told, each time it changes and every
    few minutes; so is an API server that is away for a while.
    """
    told, at = Standing("", ""), 0.0
    while (seen := answered(running, look, tell)) is None:
        now = answered(running, standing, tell)
        if now != told or time.monotonic() - at >= STILL:
            told, at = now, time.monotonic()
            tell(now.line(datetime.now(tz=UTC)))
        time.sleep(pause)
    return seen


def filling(running: RunningCluster, one: VolumeRestore) -> Standing:
    """Return what VolSync waits for that fills the claim: what it says itself, its mover, or the claim's volume."""
    asked = running.get(f"{DESTINATIONS.format(one.team)}/{one.into}") or {}
    since = str(dig(asked, "status", "lastSyncStartTime") or dig(asked, "metadata", "creationTimestamp") or "")
    for each in sequence(dig(asked, "status", "conditions")):
        if dig(each, "reason") == "Error":
            return Standing(f"VolSync says: {shortened(str(dig(each, 'message') or ''))}", since)
    # Its name in VolSync v0.16.0: `internal/controller/mover/restic/mover.go`.
    if mover := running.get(f"{JOBS.format(one.team)}/volsync-dst-{one.into}"):
        return _job(running, one, mover, "the mover")
    claim = held(running, one) or {}
    if dig(claim, "status", "phase") == "Pending":
        made = str(dig(claim, "metadata", "creationTimestamp") or "")
        return Standing(f"claim {one.into} waits for its volume", made)
    return Standing("VolSync has not begun its mover", since)


def comparing(running: RunningCluster, one: VolumeRestore, job: str) -> Standing:
    """Return what the Job waits for that compares."""
    return _job(running, one, running.get(f"{JOBS.format(one.team)}/{job}") or {}, "the comparison")


def _job(running: RunningCluster, one: VolumeRestore, job: Manifest, what: str) -> Standing:
    made, began = str(dig(job, "metadata", "creationTimestamp") or ""), str(dig(job, "status", "startTime") or "")
    if dig(job, "spec", "suspend"):
        return Standing(f"{what} waits in the queue of team {one.team}", made)
    if dig(job, "status", "ready"):
        return Standing(f"{what} runs", began)
    return Standing(f"{what} has no pod that runs{_held_up(running, one, job)}", began or made)


def _held_up(running: RunningCluster, one: VolumeRestore, job: Manifest) -> str:
    """Return why a Job's pod does not run, as the scheduler or its node says."""
    named = f"batch.kubernetes.io/job-name={dig(job, 'metadata', 'name')}"
    for pod in running.items(PODS.format(one.team), labelSelector=named):
        scheduled = condition(pod, "PodScheduled")
        if scheduled.get("status") == "False":
            return f": {shortened(str(scheduled.get('message') or ''))}"
        for container in sequence(dig(pod, "status", "containerStatuses")):
            if reason := dig(container, "state", "waiting", "reason"):
                return f": {reason}"
    return ""
