"""The use of a month, as people read it: a table, and what must be known of it."""

from collections.abc import Iterator, Sequence

from generator.day2.use.use import LONGEST_WAIT, NEARLY_ALL, TeamUse, Use

HEADS = ("team", "allocated", "busy", "idle", "of quota", "jobs", "median wait", "95 % wait")


def text(use: Use) -> str:
    """Return it for a terminal: columns under each other, names left, numbers right."""
    rows = [HEADS, *map(_cells, use.teams)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    lines = ["  ".join((row[0].ljust(widths[0]), *_right(row[1:], widths[1:]))) for row in rows]
    return "\n".join([*_about(use), "", *lines])


def _right(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    return (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def markdown(use: Use) -> str:
    """Return it as Markdown, for a wiki or an issue."""
    rule = ("---", *["---:"] * (len(HEADS) - 1))
    lines = [f"| {' | '.join(row)} |" for row in (HEADS, rule, *map(_cells, use.teams))]
    title, *more = _about(use)
    return "\n".join([f"## {title}", "", *more, "", *lines])


def _about(use: Use) -> Iterator[str]:
    """Yield a title, and sentences on what the numbers are of."""
    whole = use.until == use.month.end
    yield f"Use of GPUs on {use.cluster} in {use.month}{'' if whole else f', up to {use.until:%Y-%m-%d %H:%M} UTC'}"
    yield f"GPU-hours of {use.capacity:,.0f} that the nodes offered; a part of a GPU counts as a part."
    if use.recorded < NEARLY_ALL:
        yield (
            f"Prometheus has {_percent(use.recorded)} of this time, and the numbers are of that part alone: it keeps "
            f"samples for {use.retention} (monitoring.prometheus.retention), and records nothing while it is away."
        )
    if any(one.busy is None for one in use.teams):
        yield "A team without a number under busy has GPUs that the exporter of GPU metrics says nothing of."


def nothing(use: Use) -> str:
    """Return why there is no table, where nothing was recorded at all."""
    return (
        f"Prometheus has nothing of {use.month}: it keeps samples for {use.retention} "
        "(monitoring.prometheus.retention), and the use of GPUs is recorded only since its rules gpu-use are there"
    )


def _cells(one: TeamUse) -> tuple[str, ...]:
    return (
        one.name if one.team else f"{one.name} (no team)",
        _hours(one.allocated),
        _hours(one.busy),
        _hours(one.idle),
        "-" if one.of_quota is None else _percent(one.of_quota),
        f"{one.jobs:,.0f}",
        _wait(one.median_wait),
        _wait(one.long_wait),
    )


def _hours(hours: float | None) -> str:
    return "-" if hours is None else f"{hours:,.1f}"


def _percent(part: float) -> str:
    return f"{part * 100:.0f} %"


def _wait(seconds: float | None) -> str:
    """Return a time of waiting by its two largest units."""
    if seconds is None:
        return "-"
    longest = "> " if seconds >= LONGEST_WAIT else ""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{longest}{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"
