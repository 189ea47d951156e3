"""Rules about the times in which Argo CD may change the cluster."""

from collections.abc import Iterator
from heapq import merge

from generator.checks.places import entries, listed_twice, unknown
from generator.checks.schedules import wrong_schedule
from generator.checks.site import wrong_zone
from generator.components import absent, catalogue
from generator.model.cluster import Cluster
from generator.model.cron import Schedule, parse
from generator.model.finding import Finding, Path, remove
from generator.model.gitops import Window
from generator.model.rule import rule, warning

Span = tuple[float, float]
# Days: what is denied may have begun in the year before, and each fourth has a 29th of February.
YEAR, YEARS = 366, 5 * 366


def _windows(cluster: Cluster) -> list[tuple[Path, Window]]:
    return entries(cluster.gitops.windows, "gitops", "windows")


def _read(window: Window) -> Schedule | None:
    """Return when a window opens; None where that cannot be read, or never comes."""
    try:
        schedule = parse(window.schedule)
    except ValueError:
        return None
    return None if schedule.never else schedule


@rule("GEN-WIN-001", "windows that open")
def windows_open(cluster: Cluster) -> Iterator[Finding]:
    """Five fields: minute, hour, day of the month, month, day of the week. Argo CD syncs nothing at all of a project
    that has a window which it cannot read.

    Wrong:
        gitops: {windows: [{kind: allow, schedule: "0 25 * * sat", duration: 4h}]}
    Right:
        gitops: {windows: [{kind: allow, schedule: "0 22 * * sat", duration: 4h}]}
    """
    for place, window in _windows(cluster):
        yield from wrong_schedule((*place, "schedule"), window.schedule, '"0 22 * * sat": each Saturday at 22:00')


@rule("GEN-WIN-002", "a timezone of windows by its IANA name")
def timezones_named(cluster: Cluster) -> Iterator[Finding]:
    """Argo CD takes UTC instead of a name that it does not know, and says so only in its log: changes come at another
    time of the day.

    Wrong:
        gitops: {windows: [{kind: allow, schedule: "0 22 * * sat", duration: 4h, timezone: KST}]}
    Right:
        gitops: {windows: [{kind: allow, schedule: "0 22 * * sat", duration: 4h, timezone: Asia/Seoul}]}
    """
    for place, window in _windows(cluster):
        if window.timezone is not None:
            yield from wrong_zone((*place, "timezone"), window.timezone)


@rule("GEN-WIN-003", "windows open and close")
def windows_close(cluster: Cluster) -> Iterator[Finding]:
    """A window that opens again before it closes is open always: one of kind `deny` then stops every change for good,
    and one of kind `allow` holds back none.

    Wrong:
        gitops: {windows: [{kind: deny, schedule: "0 8 * * *", duration: 24h}]}
    Right:
        gitops: {windows: [{kind: deny, schedule: "0 8 * * *", duration: 10h}]}
    """
    for place, window in _windows(cluster):
        at = (*place, "duration")
        schedule = _read(window)
        if not window.seconds:
            yield Finding(at=at, message="it is over when it begins", fix="as in 4h or 30m")
        elif schedule and window.seconds >= schedule.longest_gap:
            what = {"deny": "nothing is ever synced", "allow": "it holds nothing back"}[window.kind]
            message = f"it begins again before its {window.duration} are over: it never closes, and {what}"
            yield Finding(at=at, also=(*place, "schedule"), message=message, fix="a shorter one, or none")


@rule("GEN-WIN-004", "changes have a time")
def some_time_left(cluster: Cluster) -> Iterator[Finding]:
    """What has `allow` windows is synced in these alone, and never while a `deny` window is open: where these take all
    of that time, nothing of the component is ever synced again. Only windows of one timezone are compared.

    Wrong:
        - {kind: allow, schedule: "0 2 * * sat", duration: 2h}
        - {kind: deny, schedule: "0 0 * * sat,sun", duration: 24h}
    Right:
        - {kind: allow, schedule: "0 2 * * mon", duration: 2h}
        - {kind: deny, schedule: "0 0 * * sat,sun", duration: 24h}
    """
    found: dict[tuple[Path, Path], list[str]] = {}
    known: dict[tuple[Window, ...], bool] = {}
    without = absent(cluster)
    for name, one in catalogue(cluster).items():
        if name in without:
            continue
        mine = [(at, each) for at, each in _windows(cluster) if each.about(name, one.tier.value) and _read(each)]
        windows = tuple(window for _, window in mine)
        if windows not in known:
            known[windows] = _never(cluster, windows)
        if known[windows]:
            allow, deny = (next(at for at, each in mine if each.kind == kind) for kind in ("allow", "deny"))
            found.setdefault((allow, deny), []).append(name)
    for (at, also), names in found.items():
        whom = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
        message = f"windows of kind deny take all the time that is allowed: never synced are {whom}"
        yield Finding(at=at, also=also, message=message, fix="allow another time, or deny less")


@rule("GEN-WIN-005", "windows name components that exist")
def windows_known(cluster: Cluster) -> Iterator[Finding]:
    """A window of a name that no component has closes nothing: what was meant changes at any time.

    Wrong:
        gitops: {windows: [{kind: allow, schedule: "0 22 * * sat", duration: 4h, components: [ceph]}]}
    Right:
        gitops: {windows: [{kind: allow, schedule: "0 22 * * sat", duration: 4h, components: [ceph-cluster]}]}
    """
    known = catalogue(cluster)
    for place, window in _windows(cluster):
        named = entries(window.components, *place, "components")
        for at, name in named:
            if name not in known:
                message = f"there is no component {name}"
                yield unknown(at, name, known, message, "docs/components.md lists them")
        tiers = entries(window.tiers, *place, "tiers")
        yield from listed_twice([(name, at) for at, name in (*named, *tiers)], "{} is listed twice")


@warning("GEN-WIN-006", "windows of what is installed")
def windows_of_something(cluster: Cluster) -> Iterator[Finding]:
    """A window of a component that this cluster does not have, or that somebody else installs, closes nothing.

    Wrong:
        gitops: {windows: [{kind: allow, schedule: "0 22 * * sat", duration: 4h, components: [calico]}]}
        # and cni: cilium
    Right:
        gitops: {windows: [{kind: allow, schedule: "0 22 * * sat", duration: 4h, components: [cilium]}]}
    """
    without, known = absent(cluster), catalogue(cluster)
    for place, window in _windows(cluster):
        for at, name in entries(window.components, *place, "components"):
            if name in known and (name in without or not cluster.settings(name).managed):
                why = without.get(name, "somebody else installs it")
                yield Finding(at=at, message=f"{name} is not installed here: {why}", edits=remove(at))


def _never(cluster: Cluster, windows: tuple[Window, ...]) -> bool:
    """Tell whether windows of kind deny, and of one timezone, take all the time that is allowed."""
    allowed = [window for window in windows if window.kind == "allow"]
    denied = [window for window in windows if window.kind == "deny"]
    places = {window.timezone or cluster.site.timezone for window in windows}
    return (
        bool(allowed and denied)
        and len(places) == 1
        and _covered(_spans(allowed, YEAR, YEARS), _spans(denied, 0, YEARS))
    )


def _spans(windows: list[Window], first: int, last: int) -> Iterator[Span]:
    """Yield the times that windows are open, in minutes and in order, those that meet as one."""
    schedules = [(parse(window.schedule), window.seconds) for window in windows]
    opened = merge(*(_open(schedule, seconds, first, last) for schedule, seconds in schedules))
    start, end = next(opened, (0, 0))
    for begins, ends in opened:
        if begins > end:
            yield start, end
            start = begins
        end = max(end, ends)
    yield start, end


def _open(schedule: Schedule, seconds: int, first: int, last: int) -> Iterator[tuple[float, float]]:
    return ((start, start + seconds / 60) for start in schedule.starts(first, last))


def _covered(spans: Iterator[Span], by: Iterator[Span]) -> bool:
    """Tell whether each of these spans lies within one of the others; both come in order."""
    start, end = next(by)
    for begins, ends in spans:
        while end < ends:
            if (following := next(by, None)) is None:
                return False
            start, end = following
        if begins < start:
            return False
    return True
