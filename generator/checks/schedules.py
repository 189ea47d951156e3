"""Rules about when backups run, and how much they say they copy."""

from collections.abc import Iterator
from contextlib import suppress

from generator.checks.places import entries, given_twice, human
from generator.model.backup import Backup, Tried, ZabbixBackup
from generator.model.cluster import Cluster
from generator.model.cron import Schedule, parse
from generator.model.finding import Finding, Path, put
from generator.model.rule import rule, warning

# `backup-` before the name, and Argo's limit for the name of a schedule: 11 characters follow for each run.
LONGEST = 52 - len("backup-")
DAILY = '"0 17 * * *": each day at 17:00 UTC'
# What a pod reads in a second at most, of each side.
READ_A_SECOND = 10**9
# Half of the folder of its pod (`sizeLimit` of backup.yaml): an object is beside the one before it while it comes.
DRILL_MOST = 16 * 2**30


def _timed(cluster: Cluster) -> Iterator[tuple[Path, Backup | ZabbixBackup]]:
    """Yield the backups of which the file says when they run."""
    yield from entries(cluster.backups, "backups")
    yield from _dumps(cluster)


def _dumps(cluster: Cluster) -> Iterator[tuple[Path, ZabbixBackup]]:
    if cluster.monitoring.zabbix and (dumps := cluster.monitoring.zabbix.backup):
        yield ("monitoring", "zabbix", "backup"), dumps


def _tried(cluster: Cluster) -> list[tuple[Path, Tried]]:
    """Return the backups that drills try."""
    places = entries(cluster.backups, "backups"), entries(cluster.volume_backups, "volumeBackups"), _dumps(cluster)
    return [one for each in places for one in each]


def _schedules(cluster: Cluster) -> Iterator[tuple[Path, Backup | ZabbixBackup, Schedule]]:
    """Yield the backups whose schedule can be read."""
    for at, backup in _timed(cluster):
        with suppress(ValueError):
            yield (*at, "schedule"), backup, parse(backup.schedule)


@rule("GEN-BKP-008", "schedules that can be read")
def schedule_valid(cluster: Cluster) -> Iterator[Finding]:
    """Five fields: minute, hour, day of the month, month, day of the week, in UTC. What the controller cannot read
    never runs, and it says so only in its log.

    Wrong:
        schedule: "0 25 * * *"
    Right:
        schedule: "0 2 * * *"
    """
    for place, backup in _timed(cluster):
        yield from wrong_schedule((*place, "schedule"), backup.schedule, DAILY)
    for place, tried in _tried(cluster):
        if tried.drill.schedule is not None:
            yield from wrong_schedule((*place, "drill", "schedule"), tried.drill.schedule, DAILY)


def wrong_schedule(at: Path, schedule: str, example: str) -> Iterator[Finding]:
    """Yield what is wrong with five fields of cron; `example` is a right one, in words as well."""
    try:
        never = parse(schedule).never
    except ValueError as wrong:
        yield Finding(at=at, message=str(wrong), fix=f"as in {example}")
    else:
        if never:
            message = f"`{schedule}` never comes: there is no such day"
            yield Finding(at=at, message=message, fix="take a day that the month has")


@warning("GEN-BKP-009", "backups an hour apart")
def schedule_rare(cluster: Cluster) -> Iterator[Finding]:
    """Each run lists both buckets whole and compares them; while one still copies, the next is left out.

    Wrong:
        schedule: "*/15 * * * *"
    Right:
        schedule: "0 * * * *"
    """
    for at, backup, schedule in _schedules(cluster):
        if (runs := len(schedule.minutes)) > 1:
            message = f"backup {backup.name} starts {runs} times an hour"
            hours = " ".join(backup.schedule.split()[1:])
            edits = put(at, f"{min(schedule.minutes)} {hours}")
            yield Finding(at=at, message=message, fix=f'"{edits[0].value}"', edits=edits)


@warning("GEN-BKP-010", "backups start one after the other")
def schedules_apart(cluster: Cluster) -> Iterator[Finding]:
    """Two copies at once share the gateways and the drives, and both take longer.

    Wrong:
        - {name: a, schedule: "0 17 * * *", ...}
        - {name: b, schedule: "0 17 * * *", ...}
    Right:
        - {name: a, schedule: "0 17 * * *", ...}
        - {name: b, schedule: "0 19 * * *", ...}
    """
    active = [each for each in _schedules(cluster) if not each[1].suspended]
    for number, (at, backup, schedule) in enumerate(active):
        for also, other, earlier in active[:number]:
            if schedule.meets(earlier):
                message = f"backups {other.name} and {backup.name} start at the same minute"
                yield Finding(at=at, also=also, message=message, fix="take another hour for one")
                break


@rule("GEN-BKP-016", "backups of something")
def size_given(cluster: Cluster) -> Iterator[Finding]:
    """`size` is what the source may hold: the room for its copies is counted with it.

    Wrong:
        size: 0
    Right:
        size: 150T
    """
    for at, backup in entries(cluster.backups, "backups"):
        if not backup.size.value:
            message = f"backup {backup.name} is of nothing: its size is 0"
            yield Finding(at=(*at, "size"), message=message, fix="what the bucket may hold, as in 150T")


@warning("GEN-BKP-017", "a day changes no more than there is")
def change_plausible(cluster: Cluster) -> Iterator[Finding]:
    """More than everything in a day: mostly the two are exchanged.

    Wrong:
        size: 2T
        dailyChange: 150T
    Right:
        size: 150T
        dailyChange: 2T
    """
    for at, backup in entries(cluster.backups, "backups"):
        if backup.daily_change.milli > backup.size.milli > 0:
            message = f"{backup.daily_change} of {backup.size} change in a day"
            where, also = (*at, "dailyChange"), (*at, "size")
            yield Finding(at=where, also=also, message=message, fix="what is written anew in a day")


@rule("GEN-BKP-018", "backup names are unique and short")
def names_good(cluster: Cluster) -> Iterator[Finding]:
    """A backup is an object of its name, of which the controller makes the names of runs: it takes 52 characters,
    seven of which are `backup-`.

    Wrong:
        - {name: datasets, ...}
        - {name: datasets, ...}
    Right:
        - {name: datasets, ...}
        - {name: checkpoints, ...}
    """
    items = [(backup.name, (*at, "name")) for at, backup in entries(cluster.backups, "backups")]
    yield from given_twice(items, "two backups are named {}", "rename one")
    taken = {name for name, _ in items}
    for name, at in items:
        if len(name) > LONGEST:
            message = f"the name has {len(name)} characters, and a backup's may have {LONGEST}"
            short = name[:LONGEST].rstrip("-")
            fix, edits = (f"a shorter one; {short} is given", ()) if short in taken else ("", put(at, short))
            taken.add(short)
            yield Finding(at=at, message=message, fix=fix, edits=edits)


@warning("GEN-BKP-026", "drills at another time than backups")
def drills_apart(cluster: Cluster) -> Iterator[Finding]:
    """A drill tries the last good backup. While the next one copies, both share MinIO's drives, and take longer.

    Wrong:
        schedule: "0 17 * * *"
        drill: {schedule: "0 17 * * 0"}
    Right:
        schedule: "0 17 * * *"
        drill: {schedule: "0 5 * * 0"}
    """
    for at, backup in _tried(cluster):
        with suppress(ValueError):
            drill = backup.drill.schedule
            if drill is not None and parse(drill).meets(parse(backup.schedule)):
                message = f"backup {backup.name} and its drill start at the same minute"
                where, also = (*at, "drill", "schedule"), (*at, "schedule")
                yield Finding(at=where, also=also, message=message, fix="take another hour for the drill")


@warning("GEN-BKP-046", "what is compared can be read until the next run")
def compared_in_time(cluster: Cluster) -> Iterator[Finding]:
    """The program that compares reads objects whole, from the source and from the target. One pod reads no more than
    a gigabyte a second, on the best of networks: what takes longer than the schedule's longest interval keeps the next
    backup waiting.

    Wrong:
        schedule: "0 17 * * *"
        size: 150T
        compare: {by: rclone}
    Right:
        schedule: "0 17 * * *"
        size: 150T
        compare: {by: rclone, percent: 10}
    """
    for at, backup in entries(cluster.backups, "backups"):
        with suppress(ValueError):
            most = parse(backup.schedule).longest_gap * READ_A_SECOND
            if backup.compare and 0 < most < (read := backup.size.value * backup.compare.percent // 100):
                where, percent = (*at, "compare", "percent"), max(1, most * 100 // backup.size.value)
                message = (
                    f"to compare backup {backup.name} reads {human(read)}, and before the next one {human(most)} can be"
                )
                yield Finding(at=where, also=(*at, "size"), message=message, edits=put(where, percent))


@rule("GEN-BKP-027", "drills that the pod has room for")
def drill_fits(cluster: Cluster) -> Iterator[Finding]:
    """What a drill brings back goes into a folder of its pod, one object after the other, beside lists of all objects.

    Wrong:
        drill: {bytes: 1T}
    Right:
        drill: {bytes: 10Gi}
    """
    for at, backup in entries(cluster.backups, "backups"):
        if not 0 < (asked := backup.drill.bytes.value) <= DRILL_MOST:
            message = f"the drill of {backup.name} brings back {human(asked)}, and may bring back {human(DRILL_MOST)}"
            yield Finding(at=(*at, "drill", "bytes"), message=message, edits=put((*at, "drill", "bytes"), "10Gi"))
