"""Rules about when backups run, and how much they say they copy."""

from collections.abc import Iterator

from generator.checks.backups import LONGEST
from generator.checks.cron import Schedule, parse
from generator.checks.places import repeats
from generator.checks.rule import rule
from generator.model.cluster import Backup, Cluster
from generator.model.finding import Finding, Severity

__all__: list[str] = []


def _schedules(cluster: Cluster) -> Iterator[tuple[int, Backup, Schedule]]:
    """Yield the backups whose schedule can be read."""
    for index, backup in enumerate(cluster.backups):
        try:
            yield index, backup, parse(backup.schedule)
        except ValueError:
            continue


@rule(
    "GEN-BKP-008",
    "schedules that can be read",
    wrong='schedule: "0 25 * * *"\n',
    right='schedule: "0 2 * * *"\n',
)
def schedule_valid(cluster: Cluster) -> Iterator[Finding]:
    """Five fields: minute, hour, day of the month, month, day of the week, in UTC. What the controller cannot read
    never runs, and it says so only in its log.
    """
    for index, backup in enumerate(cluster.backups):
        at = ("backups", index, "schedule")
        try:
            never = parse(backup.schedule).never
        except ValueError as wrong:
            yield Finding(at=at, message=str(wrong), fix='as in "0 17 * * *": each day at 17:00 UTC')
        else:
            if never:
                message = f"`{backup.schedule}` never comes: there is no such day"
                yield Finding(at=at, message=message, fix="take a day that the month has")


@rule(
    "GEN-BKP-009",
    "backups an hour apart",
    wrong='schedule: "*/15 * * * *"\n',
    right='schedule: "0 * * * *"\n',
    severity=Severity.WARNING,
)
def schedule_rare(cluster: Cluster) -> Iterator[Finding]:
    """Each run lists both buckets whole and compares them; while one still copies, the next is left out."""
    for index, backup, schedule in _schedules(cluster):
        if (runs := len(schedule.minutes)) > 1:
            message = f"backup {backup.name} starts {runs} times an hour"
            hours = " ".join(backup.schedule.split()[1:])
            fix = f'"{min(schedule.minutes)} {hours}"'
            yield Finding(at=("backups", index, "schedule"), message=message, fix=fix)


@rule(
    "GEN-BKP-010",
    "backups start one after the other",
    wrong='- {name: a, schedule: "0 17 * * *", ...}\n- {name: b, schedule: "0 17 * * *", ...}\n',
    right='- {name: a, schedule: "0 17 * * *", ...}\n- {name: b, schedule: "0 19 * * *", ...}\n',
    severity=Severity.WARNING,
)
def schedules_apart(cluster: Cluster) -> Iterator[Finding]:
    """Two copies at once share the gateways and the drives, and both take longer."""
    earlier: list[tuple[int, Backup, Schedule]] = []
    for index, backup, schedule in _schedules(cluster):
        if backup.suspended:
            continue
        other = next((each for each in earlier if schedule.meets(each[2])), None)
        earlier.append((index, backup, schedule))
        if other:
            message = f"backups {other[1].name} and {backup.name} start at the same minute"
            at, also = ("backups", index, "schedule"), ("backups", other[0], "schedule")
            yield Finding(at=at, also=also, message=message, fix="take another hour for one")


@rule(
    "GEN-BKP-016",
    "backups of something",
    wrong="size: 0\n",
    right="size: 150T\n",
)
def size_given(cluster: Cluster) -> Iterator[Finding]:
    """`size` is what the source may hold: the room for its copies is counted with it."""
    for index, backup in enumerate(cluster.backups):
        if not backup.size.value:
            message = f"backup {backup.name} is of nothing: its size is 0"
            yield Finding(at=("backups", index, "size"), message=message, fix="what the bucket may hold, as in 150T")


@rule(
    "GEN-BKP-017",
    "a day changes no more than there is",
    wrong="size: 2T\ndailyChange: 150T\n",
    right="size: 150T\ndailyChange: 2T\n",
    severity=Severity.WARNING,
)
def change_plausible(cluster: Cluster) -> Iterator[Finding]:
    """More than everything in a day: mostly the two are exchanged."""
    for index, backup in enumerate(cluster.backups):
        if backup.daily_change > backup.size > type(backup.size).of(0):
            message = f"{backup.daily_change} of {backup.size} change in a day"
            at, also = ("backups", index, "dailyChange"), ("backups", index, "size")
            yield Finding(at=at, also=also, message=message, fix="what is written anew in a day")


@rule(
    "GEN-BKP-018",
    "backup names are unique and short",
    wrong="- {name: datasets, ...}\n- {name: datasets, ...}\n",
    right="- {name: datasets, ...}\n- {name: checkpoints, ...}\n",
)
def names_good(cluster: Cluster) -> Iterator[Finding]:
    """A backup is an object of its name, of which the controller makes the names of runs: it takes 52 characters,
    seven of which are `backup-`.
    """
    items = [(backup.name, ("backups", index, "name")) for index, backup in enumerate(cluster.backups)]
    for name, at, first in repeats(items):
        yield Finding(at=at, also=first, message=f"two backups are named {name}", fix="rename one")
    for name, at in items:
        if len(name) > LONGEST:
            message = f"the name has {len(name)} characters, and a backup's may have {LONGEST}"
            yield Finding(at=at, message=message, fix=name[:LONGEST].rstrip("-"))
