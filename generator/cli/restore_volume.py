"""`gen restore` of a volume."""

from datetime import datetime
from typing import TYPE_CHECKING

from generator.cli.terminal import say, say_all
from generator.errors import UsageError

if TYPE_CHECKING:
    from generator.day2.volume_restore import VolumeRestore
    from generator.live.running import RunningCluster
    from generator.model.backup import VolumeBackup
    from generator.model.cluster import Cluster


def asked_for(  # noqa: PLR0913 - the options of the verb
    cluster: "Cluster", backup: "VolumeBackup", now: datetime, *, at: str | None, into: str | None, switch: str
) -> "VolumeRestore":
    """Return what is asked for. Raises UsageError for what cannot be."""
    from generator.day2.volume_restore import asked, plan  # noqa: PLC0415 - heavy

    if switch != "none":
        fix = "bring it back without --switch, and name the new claim in what uses it"
        raise UsageError(f"--switch {switch}: pods hold a volume by its claim's name, which nobody can change; {fix}")
    found = asked(backup, now, at=at, into=into)
    say_all(plan(cluster, found))
    return found


def restore(running: "RunningCluster", cluster: "Cluster", one: "VolumeRestore") -> int:
    """Bring the volume back, compare it, and say what comes next; return the exit code."""
    from generator.day2.volume_progress import filling, waited  # noqa: PLC0415 - heavy
    from generator.day2.volume_restore import begin, filled  # noqa: PLC0415 - heavy

    begin(running, cluster, one)
    say(f"VolSync fills claim {one.into}; Ctrl-C ends the waiting, not the run")
    if wrong := waited(running, lambda: filled(running, one), lambda: filling(running, one), say):
        say(f"FAILED: {wrong}")
        look = f"kubectl --namespace {one.team} describe replicationdestination {one.into}"
        say(f"next: {look}; VolSync tries again by itself")
        return 1
    return _compare(running, cluster, one)


def _compare(running: "RunningCluster", cluster: "Cluster", one: "VolumeRestore") -> int:
    from generator.day2.volume_progress import comparing, waited  # noqa: PLC0415 - heavy
    from generator.day2.volume_restore import compare, compared  # noqa: PLC0415 - heavy

    job, kubectl = compare(running, cluster, one), f"kubectl --namespace {one.team}"
    say(f"Job {job} compares it with the backup, in the queue of team {one.team}")
    found = waited(running, lambda: compared(running, one, job), lambda: comparing(running, one, job), say)
    if not found.good:
        say(f"FAILED: {one.into} is not as the backup has it, or the comparison could not be made")
        say(f"next: {kubectl} logs job/{job}")
        say(f"to compare it again: {kubectl} delete job {job}, then {one.again(cluster.name)}")
        return 1
    when = f" at {found.at}" if found.at else ""
    say(f"{one.into} was{when} as the backup has it, file by file: {kubectl} logs job/{job}")
    say(f"next: look at it, and name claim {one.into} instead of {one.backup.source.claim} in the team's pods")
    return 0
