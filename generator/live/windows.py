"""Maintenance windows of Argo CD's projects: when an operation may begin (`spec.syncWindows` of AppProjects; Argo CD
v3.5.3, `SyncWindows.CanSync`). Outside of them Argo CD takes an operation and lets it wait, without an end.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.applications import Application, syncs_by_itself
from generator.live.lists import lists
from generator.live.running import RunningCluster
from generator.model.cron import Schedule, parse
from generator.model.fields import dig, sequence

PROJECTS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects"
LONGEST_LOOK = timedelta(days=366)
MOST_CHANGES = 500
"""Of windows that open and close, in a search for the moment at which nothing is in the way."""
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|ns|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Window(Struct, frozen=True, kw_only=True):
    """One window. `manual`: whether people may sync where it is in the way."""

    kind: str
    text: str
    schedule: Schedule
    length: timedelta
    zone: ZoneInfo
    manual: bool
    said: Manifest

    def open(self, now: datetime) -> bool:
        """Tell whether it is open."""
        local = _local(now, self.zone)
        return any(local - begin < self.length for begin in self._begins(local - self.length, local))

    def next(self, now: datetime, *, opens: bool) -> datetime | None:
        """Return when it opens, or closes, the next time; None where that is not within a year."""
        local = _local(now, self.zone)
        begin = next(self._begins(local - (timedelta(0) if opens else self.length), local + LONGEST_LOOK), None)
        if begin is None:
            return None
        return now + (begin - local) + (timedelta(0) if opens else self.length)

    def _begins(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Yield the minutes at which it opens, after a moment and up to another one."""
        days = (until.date() - after.date()).days
        for day in (after.date() + timedelta(days=number) for number in range(days + 1)):
            if self.schedule.on(day):
                first = after.hour if day == after.date() else 0
                for hour in sorted(each for each in self.schedule.hours if each >= first):
                    for minute in sorted(self.schedule.minutes):
                        moment = datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001 - as its zone has it
                        if after < moment <= until:
                            yield moment


class Blocked(Struct, frozen=True, kw_only=True):
    """Why nothing may begin now, when it may again (None: not in sight), and whether a person may all the same."""

    why: str
    opens: datetime | None
    manual: bool


def _local(now: datetime, zone: ZoneInfo) -> datetime:
    # As Argo CD reckons: the zone's present distance from UTC counts for every moment.
    return now.astimezone(zone).replace(tzinfo=None)


def windows(project: Manifest) -> list[Window]:
    """Return the windows of a project. Raises UsageError for one that cannot be read: Argo CD then syncs nothing."""
    return [_window(one, project) for one in sequence(dig(project, "spec", "syncWindows"))]


def _window(one: Manifest, project: Manifest) -> Window:
    kind, when, length = (str(one.get(key) or "") for key in ("kind", "schedule", "duration"))
    try:
        schedule, seconds = parse(when), _seconds(length)
    except ValueError as error:
        name = project["metadata"]["name"]
        raise UsageError(
            f"project {name}: its window `{when}` for `{length}` cannot be read ({error}), and Argo CD syncs nothing "
            "in that project; mend it in Git"
        ) from None
    zone = str(one.get("timeZone") or "UTC")
    about = f" ({one['description']})" if one.get("description") else ""
    return Window(
        kind=kind,
        text=f"{kind} `{when}` {zone} for {length} of project {project['metadata']['name']}{about}",
        schedule=schedule,
        length=timedelta(seconds=seconds),
        zone=_zone(zone),
        manual=one.get("manualSync") is True,
        said=one,
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")  # as Argo CD does


def _seconds(text: str) -> float:
    """Read a duration as Go writes it: `1h30m`."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"`{text}` is no duration")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def about(found: Iterable[Window], one: Application) -> list[Window]:
    """Return those of a project's windows that are for an Application."""
    return [window for window in found if _matches(window.said, one)]


def _matches(said: Manifest, one: Application) -> bool:
    aims = dig(one.manifest, "spec", "destination") or {}
    asked = (
        (sequence(said.get("applications")), [one.name]),
        (sequence(said.get("clusters")), [str(aims[key]) for key in ("name", "server") if aims.get(key)]),
        (sequence(said.get("namespaces")), [str(aims.get("namespace") or "")]),
    )
    answers = [_any(patterns, names) for patterns, names in asked if patterns]
    return bool(answers) and (all(answers) if said.get("andOperator") is True else any(answers))


def _any(patterns: Sequence[object], names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, str(pattern)) for name in names for pattern in patterns)


def blocked(found: Sequence[Window], now: datetime, *, person: bool) -> Blocked | None:
    """Tell what keeps an operation from beginning now; None where nothing does. `person`: it counts as by hand."""
    in_the_way = _in_the_way(found, now)
    manual = all(one.manual for one in in_the_way)
    if not in_the_way or (person and manual):
        return None
    why = "; ".join(one.text for one in in_the_way)
    state = "is open" if in_the_way[0].kind == "deny" else "is closed"
    return Blocked(why=f"the window {why} {state}", opens=_opens(found, now), manual=manual)


def _opens(found: Sequence[Window], now: datetime) -> datetime | None:
    """Return the next moment at which nothing is in the way: it is one at which some window opens or closes."""
    moment = now
    for _ in range(MOST_CHANGES):
        ends = [one.next(moment, opens=opens) for one in found for opens in (True, False)]
        later = [end for end in ends if end and end > moment]
        if not later:
            return None
        moment = min(later)
        if not _in_the_way(found, moment):
            return moment.astimezone(UTC)
    return None


def _in_the_way(found: Sequence[Window], moment: datetime) -> list[Window]:
    """Return what keeps Argo CD itself from beginning an operation: windows that deny, else all of those that allow."""
    denies = [one for one in found if one.kind == "deny" and one.open(moment)]
    allows = [one for one in found if one.kind == "allow"]
    return denies or ([] if any(one.open(moment) for one in allows) else allows)


def blocking(running: RunningCluster, one: Application, *, by_hand: bool) -> Blocked | None:
    """Return what keeps an operation of an Application from beginning now: a window of its project."""
    name = project_of(one)
    return _blocking(running.get(f"{PROJECTS}/{name}") or {"metadata": {"name": name}}, one, by_hand=by_hand)


def _blocking(project: Manifest, one: Application, *, by_hand: bool) -> Blocked | None:
    return blocked(about(windows(project), one), datetime.now(UTC), person=by_hand)


def project_of(one: Application) -> str:
    """Return the name of the project that an Application is in."""
    return str(dig(one.manifest, "spec", "project") or "default")


def shut_out(running: RunningCluster, found: Sequence[Application]) -> dict[str, str]:
    """Return which Applications a window keeps from what Git says, to which Argo CD would bring them by itself, with
    what there is to say of it: Argo CD says nothing. Who may not read projects is told of none.
    """
    late = [one for one in found if one.sync == "OutOfSync" and not one.acting and syncs_by_itself(one.manifest)]
    projects = {each["metadata"]["name"]: each for each in (lists(running, [PROJECTS])[0].items if late else ())}
    return {one.name: why for one in late if (why := _closed(projects.get(project_of(one)), one))}


def _closed(project: Manifest | None, one: Application) -> str:
    try:
        found = _blocking(project, one, by_hand=False) if project else None
    except UsageError as error:
        return str(error)
    if not found:
        return ""
    at_once = f", or at once by `gen sync {one.name} --now`" if found.manual else ""
    return f"{found.why}; {_when(found)}{at_once}"


def told(one: Application, found: Blocked, *, by_hand: bool) -> str:
    """Say which window is in the way, when it is not any more, and what can be done."""
    anyway = "; --now syncs all the same, the window lets people" if found.manual and not by_hand else ""
    return f"{one.name}: {found.why}; {_when(found)}{anyway}"


def _when(found: Blocked) -> str:
    return f"it may be synced again from {found.opens:%Y-%m-%d %H:%M} UTC" if found.opens else "no end is in sight"
