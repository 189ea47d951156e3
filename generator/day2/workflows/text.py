"""Operations and their runs, for a terminal."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from textwrap import wrap

from generator.day2.workflows.operations import Operation, Parameter
from generator.day2.workflows.runs import Run, Step
from generator.live.messages import printed
from generator.live.times import moment

MARKS = {"Succeeded": "✔", "Failed": "✖", "Error": "✖", "Running": "●", "Skipped": "○", "Omitted": "○"}
WIDTH = 100
"""Columns that what is told of an operation takes."""
FEW = 10
"""Runs of one operation that are listed; the others are counted."""


def listed(known: Sequence[Operation], runs: Sequence[Run], now: datetime) -> Iterator[str]:
    """Yield what can be run, and what ran, as they come: the newest first."""
    columns = ("operation", "namespace", "schedule", "what it does", "must be given")
    yield from map(printed, _table(columns, map(_operation, known)))
    yield ""
    if not runs:
        yield "nothing runs, and no run is kept"
        return
    heads = ("run", "phase", "steps", "began", "took", "")
    yield from map(printed, _table(heads, (_cells(one, now) for one in runs[:FEW])))
    if len(runs) > FEW:
        yield f"and {len(runs) - FEW} older ones: --output json lists all"


def _operation(one: Operation) -> tuple[str, ...]:
    words = [each.name for each in one.parameters if each.value is None]
    schedule = f"{one.schedule} (suspended)" if one.suspended else one.schedule
    return one.name, one.namespace, schedule or "-", one.title or "-", " ".join(words)


def _cells(one: Run, now: datetime) -> tuple[str, ...]:
    return one.name, one.phase, one.progress, _ago(one.started or one.created, now), took(one, now), one.message


def _table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    cells = [heads, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def operation(one: Operation) -> Iterator[str]:
    """Yield what an operation does, and what it can be told: first by people."""
    yield printed(f"{one.name}: runs {one.template} in namespace {one.namespace}")
    yield from _wrapped(f"{one.title}. {one.description}" if one.title else one.description, "  ")
    for each in one.parameters:
        if not each.of_cluster:
            yield from _parameter(each)
    if known := [each for each in one.parameters if each.of_cluster]:
        yield "of the cluster, seldom given:"
        for each in known:
            yield from _parameter(each)
    missing = "".join(f" -p {each.name}=..." for each in one.parameters if each.value is None)
    yield printed(f"next: gen workflow submit {one.name}{missing}")


def _parameter(one: Parameter) -> Iterator[str]:
    value = " (must be given)" if one.value is None else f" = {one.value}" if one.value else " (empty)"
    yield printed(f"  {one.name}{value}")
    if one.choices:
        yield printed(f"    one of {', '.join(one.choices)}")
    yield from _wrapped(one.description, "    ")


def _wrapped(text: str, indent: str) -> Iterator[str]:
    return map(printed, wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False))


def seldom_given(one: Operation, names: Collection[str]) -> Iterator[str]:
    """Yield which of the parameters that somebody gives are the cluster's own."""
    for each in one.parameters:
        if each.of_cluster and each.name in names:
            yield printed(f"note: {each.name} is of the cluster, and seldom given: {each.description}")


def tree(one: Run, now: datetime) -> Iterator[str]:
    """Yield a run and its steps."""
    yield printed(headline(one, now))
    for step in one.steps:
        yield from map(printed, _step(step, now, "  "))


def headline(one: Run, now: datetime) -> str:
    """Return a run in one line."""
    stopping = ", asked to stop" if one.stopping and not one.ended else ""
    message = f": {one.message}" if one.message else ""
    steps = f", {one.progress} steps" if one.progress else ""
    return f"{one.name} {one.phase}{stopping}{steps}, {took(one, now)}{message}"


def _step(one: Step, now: datetime, indent: str) -> Iterator[str]:
    length = f" {lasted(one.started, one.finished, now)}" if one.started else ""
    yield f"{indent}{MARKS.get(one.phase, '◌')} {one.name}{length} {_state(one)}"
    for within in one.steps:
        yield from _step(within, now, f"{indent}  ")


def changes(old: Run | None, new: Run) -> Iterator[str]:
    """Yield a line for each step that is in another phase than before, or says something else of itself."""
    before = {step.id: _state(step) for step in _all(old.steps)} if old else {}
    for step in _all(new.steps):
        if before.get(step.id) != _state(step):
            yield printed(f"{MARKS.get(step.phase, '◌')} {step.name} {_state(step)}")


def _state(step: Step) -> str:
    said = step.message and step.phase not in {"Succeeded", "Skipped"}
    return f"{step.phase}: {step.message}" if said else step.phase


def _all(steps: Sequence[Step]) -> Iterator[Step]:
    for one in steps:
        yield one
        yield from _all(one.steps)


def took(one: Run, now: datetime) -> str:
    """Return how long a run lasts or lasted."""
    return lasted(one.started, one.finished, now) if one.started else "not begun"


def lasted(began: str, ended: str, now: datetime) -> str:
    """Return a length of time: `45 s`, `12 min`, `3 h 20 min`."""
    first = moment(began)
    if first is None:
        return "?"
    seconds = max(0, round(((moment(ended) or now) - first).total_seconds()))
    if seconds < 90:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _ago(time: str, now: datetime) -> str:
    return f"{lasted(time, '', now)} ago"
