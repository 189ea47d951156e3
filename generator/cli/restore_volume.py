"""`gen restore` of a volume."""

from datetime import datetime
from typing import TYPE_CHECKING

from generator.cli.terminal import say
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
    for line in plan(cluster, found):
        say(line)
    return found


def restore(running: "RunningCluster", cluster: "Cluster", one: "VolumeRestore") -> int:
    """Bring the volume back, compare it, and say what comes next; return the exit code."""
    from generator.day2.volume_restore import begin, compare, compared, filled, waited  # noqa: PLC0415 - heavy

    begin(running, cluster, one)
    look = f"kubectl --namespace {one.team}"
    say(f"VolSync fills claim {one.into}; Ctrl-C ends the waiting, not the run")
    if wrong := waited(lambda: filled(running, one)):
        say(f"FAILED: {wrong}")
        say(f"next: {look} describe replicationdestination {one.into}; VolSync tries again by itself")
        return 1
    compare(running, cluster, one)
    say(f"Job compare-{one.into} compares it with the backup, in the queue of team {one.team}")
    if not waited(lambda: compared(running, one)):
        say(f"FAILED: {one.into} is not as the backup has it, or the comparison could not be made")
        say(f"next: {look} logs job/compare-{one.into}")
        return 1
    say(f"{one.into} is as the backup has it, file by file: {look} logs job/compare-{one.into}")
    say(f"next: look at it, and name claim {one.into} instead of {one.backup.source.claim} in the team's pods")
    return 0
