"""Rules about how fast backups of buckets come to where they go."""

from collections.abc import Iterator
from contextlib import suppress

from generator.checks.elsewhere import going, places
from generator.checks.own_backups import own
from generator.checks.places import human
from generator.checks.tiers import OBJECTS
from generator.model.backup import Backup, EtcdBackup, ZabbixBackup
from generator.model.cluster import Cluster
from generator.model.cron import parse
from generator.model.finding import Finding, Path
from generator.model.rule import rule, warning
from generator.model.storage import Copying

# Below this a listing of a large bucket takes hours, and servers give requests up.
LEAST = 10**6
HOUR, DAY = 3600, 86400
# As long as a run may take (`activeDeadlineSeconds` of backup.yaml).
LONGEST = 7 * DAY
# The same of etcd_backup/template.yaml and zabbix_backup/step.yaml.
OWN_LONGEST = {EtcdBackup: 2 * HOUR, ZabbixBackup: DAY}


def _shares(cluster: Cluster) -> Iterator[tuple[Path, Copying, int, str | None]]:
    """Yield each target with a bandwidth: its place, the share of one backup, and its name where it is no MinIO."""
    objects = cluster.storage.objects
    found: list[tuple[Path, Copying, str | None]] = [(at, one.copying, one.name) for at, one in places(cluster)]
    found += [(OBJECTS, objects.copying, None)] if objects else []
    for at, copying, place in found:
        if copying.share is not None:
            yield (*at, "copying", "bandwidth"), copying, copying.share, place


def _bounded(cluster: Cluster) -> Iterator[tuple[Path, Copying, int, list[tuple[Path, Backup]]]]:
    """Yield the same with the backups of buckets that go there and do not rest."""
    for at, copying, share, place in _shares(cluster):
        yield at, copying, share, [each for each in going(cluster, place) if not each[1].suspended]


@rule("GEN-BKP-060", "a bandwidth that something comes through with")
def bandwidth_enough(cluster: Cluster) -> Iterator[Finding]:
    """`bandwidth` is bytes a second, of all backups that run into a target at once; each has an equal share. With less
    than a megabyte a second already the lists of what is there take hours.

    Wrong:
        copying: {bandwidth: 100k}
    Right:
        copying: {bandwidth: 100M}
    """
    for at, copying, share, _ in _bounded(cluster):
        if share < LEAST:
            shared = f", and {copying.at_once} share it" if copying.at_once > 1 else ""
            message = f"{copying.bandwidth} is {human(share * copying.at_once)} a second{shared}"
            yield Finding(at=at, message=message, fix=f"at least {copying.at_once}M, or no bandwidth")


@rule("GEN-BKP-061", "what changes comes through before the next backup")
def changes_carried(cluster: Cluster) -> Iterator[Finding]:
    """What is written in the source between two runs has to come to the target in the time between them, with the
    share of the bandwidth that one backup has, and what is compared is read from both sides with the same share.
    Otherwise the copy falls behind for ever.

    Wrong:
        copying: {bandwidth: 20M}
        # and, to it
        schedule: "0 17 * * *"
        dailyChange: 2T
    Right:
        copying: {bandwidth: 100M}
        # and, to it
        schedule: "0 17 * * *"
        dailyChange: 2T
    """
    for at, copying, share, items in _bounded(cluster):
        for also, one in items:
            gap, carried = _carried(one)
            if share >= LEAST and carried > gap * share:
                takes = f"{human(carried)} each time, which takes {_time(carried, share)} with {human(share)} a second"
                message = f"backup {one.name} brings and reads {takes}, and the next one begins after {gap // HOUR} h"
                yield Finding(at=at, also=also, message=message, fix=_at_least(carried, gap, copying.at_once))
                break
        else:
            yield from _together(at, copying, items)


def _together(at: Path, copying: Copying, items: list[tuple[Path, Backup]]) -> Iterator[Finding]:
    """Yield where backups of which each has time enough have not together: they wait for each other."""
    bandwidth = copying.bandwidth.value if copying.bandwidth else 0
    daily = sum(carried * DAY // gap for gap, carried in (_carried(one) for _, one in items) if gap)
    if bandwidth >= LEAST * copying.at_once and daily > DAY * bandwidth:
        message = f"{len(items)} backups bring and read {human(daily)} a day, and {human(DAY * bandwidth)} come through"
        yield Finding(at=at, also=items[-1][0], message=message, fix=_at_least(daily, DAY))


def _at_least(carried: int, seconds: int, at_once: int = 1) -> str:
    """Say which bandwidth brings so many bytes in a time, when it is shared."""
    fewer = ", or fewer `atOnce`" if at_once > 1 else ""
    return f"at least {-(-carried * at_once // (seconds * 10**6))}M{fewer}"


def _carried(one: Backup) -> tuple[int, int]:
    """Return the longest time between two runs in seconds, and how many bytes a run brings and reads; (0, 0) where it
    never runs, or nobody can read when.
    """
    with suppress(ValueError):
        gap = parse(one.schedule).longest_gap
        compared = 2 * one.size.value * one.compare.percent // 100 if one.compare else 0
        return gap, one.daily_change.value * gap // DAY + compared
    return 0, 0


def _time(carried: int, share: int) -> str:
    hours = carried // share // HOUR
    return f"{hours} h" if hours < 2 * DAY // HOUR else f"{hours * HOUR // DAY} days"


@warning("GEN-BKP-062", "a first copy that is whole within a week")
def first_copy_soon(cluster: Cluster) -> Iterator[Finding]:
    """The first run copies everything. It is ended after a week, and the next one goes on where it was: until one has
    come to the end there is no backup, and an alert.

    Wrong:
        copying: {bandwidth: 100M}
        # and, to it
        size: 150T
    Right:
        copying: {atOnce: 1, bandwidth: 300M}
        # and, to it
        size: 150T
    """
    for at, copying, share, items in _bounded(cluster):
        for also, one in items:
            if share >= LEAST and one.size.value > LONGEST * share:
                took = _time(one.size.value, share)
                message = f"the first copy of backup {one.name} takes {took} with {human(share)} a second"
                fix = f"until it is whole {_at_least(one.size.value, LONGEST, copying.at_once)}"
                yield Finding(at=at, also=also, message=f"{message}, and a run is ended after a week", fix=fix)


@rule("GEN-BKP-064", "snapshots and dumps come through before their run ends")
def own_carried(cluster: Cluster) -> Iterator[Finding]:
    """A snapshot of etcd is as large as `etcd.quota` at most, a dump of Zabbix' database as its `storage`. Each is
    brought and read back with the share of one backup; who takes longer than a run may is ended each time.

    Wrong:
        copying: {atOnce: 1, bandwidth: 2M}
        # and, to it, snapshots of
        etcd: {quota: 8Gi}
    Right:
        copying: {atOnce: 1, bandwidth: 20M}
        # and, to it, snapshots of
        etcd: {quota: 8Gi}
    """
    for at, copying, share, place in _shares(cluster):
        for one in own(cluster):
            twice, seconds = 2 * one.most, OWN_LONGEST[type(one.backup)]
            if share >= LEAST and one.backup.target.at == place and twice > seconds * share:
                slow = f"{one.copies} of up to {human(one.most)} come there and back with {human(share)} a second"
                message = f"{slow}, and a run is ended after {seconds // HOUR} h"
                fix = _at_least(twice, seconds, copying.at_once)
                yield Finding(at=at, also=one.at, message=message, fix=fix)
