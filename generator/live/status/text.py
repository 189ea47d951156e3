"""How a running cluster does, for a terminal."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from generator.live.messages import printed, shortened
from generator.live.status.application_causes import SHORT
from generator.live.status.causes import Cause
from generator.live.status.last_backups import LastRun
from generator.live.status.status import Row, Status
from generator.live.times import moment

CELL = 48
"""Characters of a cell of the table."""
HEADS = ("wave", "component", "health", "sync", "revision")


def lines(found: Status, now: datetime) -> Iterator[str]:
    """Yield what is told: one line for all of it, the table, then what is stuck and what needs a hand."""
    yield from map(printed, _lines(found, now))


def _lines(found: Status, now: datetime) -> Iterator[str]:
    good = sum(one.well for one in found.rows)
    wanted = f"; Argo CD has seen {found.wanted[:SHORT]}" if found.wanted else ""
    yield f"{found.cluster} at {found.host}: {good} of {len(found.rows)} components are well{wanted}"
    yield ""
    yield from _table(found.rows)
    yield from _section("stuck, the first cause first:", found.causes)
    yield from _section("held by somebody:", found.held)
    yield from _section("nodes:", found.nodes)
    yield from _backups(found, now)
    yield from _section("needs a hand soon:", found.soon)
    for one in found.unread:
        yield f"not seen: {one}"
    if found.state == "unknown":
        yield "whether all is well is unknown: ask for the right to read what was not seen"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    cells = [HEADS, *(_cells(one) for one in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADS))]
    for row in cells:
        first, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join([first.strip().rjust(widths[0]), *rest]).rstrip()


def _cells(one: Row) -> tuple[str, ...]:
    revision = one.revision[:SHORT]
    if one.behind:
        revision += f" ({one.behind} behind)"
    elif one.behind is None and one.revision:
        revision += " (another commit)"
    if one.waits:
        revision = "  ".join(filter(None, (revision, f"waits for {', '.join(one.waits)}")))
    return (
        str(one.wave),
        *(printed(shortened(text, CELL)) for text in (one.component, one.health, one.sync)),
        revision,
    )


def _section(title: str, causes: Sequence[Cause]) -> Iterator[str]:
    if causes:
        yield ""
        yield title
    for one in causes:
        named = ": ".join(filter(None, (one.component, one.named)))
        yield f"  {named}: {one.why}"
        if one.command:
            yield f"    next: {one.command}"


def _backups(found: Status, now: datetime) -> Iterator[str]:
    if found.backups:
        yield ""
        yield "backups:"
    for one in found.backups:
        yield f"  {one.name}: {_last(one.copy, now)}"
        yield from _why(one.copy)
        if one.drill:
            yield f"    drill: {_last(one.drill, now)}"
            yield from _why(one.drill)


def _last(one: LastRun, now: datetime) -> str:
    good = f"last good one of {one.good} ({_ago(one.good, now)})" if one.good else "no good one"
    return f"{good}, one runs since {one.running}" if one.running else good


def _why(one: LastRun) -> Iterator[str]:
    for cause in one.causes:
        yield f"    {cause.why}"
        if cause.command:
            yield f"      next: {cause.command}"


def _ago(time: str, now: datetime) -> str:
    began = moment(time)
    if began is None:
        return "no time that can be read"
    hours = (now - began).total_seconds() / 3600
    return f"{hours:.0f} hours ago" if hours < 48 else f"{hours / 24:.0f} days ago"
