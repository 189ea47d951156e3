"""How findings are shown: for people, for programs, and on the lines of a pull request."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from generator.model.finding import Finding, Position, Severity, dotted
from generator.model.plural import plural
from generator.repository.project import Loaded
from generator.spec.document import Document

if TYPE_CHECKING:
    from generator.build.faults import Fault
    from generator.build.objects import Problem
    from generator.rules.places import Place

OUTPUT = click.option(
    "--output",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="How findings are printed.",
)
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


class Shown(Struct, frozen=True, kw_only=True):
    """One finding as it is shown: `line` is the text it points into, `note` what stands behind the carets, `more` what
    JSON says beside.
    """

    file: str
    at: Position
    line: str
    severity: Severity
    code: str
    message: str
    fix: str = ""
    note: str = ""
    more: dict[str, object] = {}


def show_findings(loaded: Sequence[Loaded], output: str) -> None:
    """Print every finding of every cluster file to standard output."""
    found = list(of_loaded(loaded))
    if output == "json":
        click.echo(json.dumps({"findings": [data(one) for one in found]}, indent=2, ensure_ascii=False))
    else:
        show(found, output)


def show(found: Iterable[Shown], output: str) -> None:
    """Print findings as text or as GitHub's annotations."""
    for one in found:
        (_github if output == "github" else _text)(one)


def of_loaded(loaded: Sequence[Loaded]) -> Iterator[Shown]:
    """Yield what is wrong with cluster files."""
    return (of_finding(one.document, finding) for one in loaded for finding in one.findings)


def of_finding(document: Document, finding: Finding) -> Shown:
    """Return a finding of a cluster file as it is shown."""
    at, also = document.locate(finding)
    pointed = finding.at and not isinstance(finding.at, Position)
    return Shown(
        file=document.file,
        at=at,
        line=document.line(at.line),
        severity=finding.severity,
        code=finding.code,
        message=finding.message,
        fix=finding.fix,
        note=_also(finding, also),
        more={
            **({"path": dotted(finding.at)} if pointed else {}),
            **({"also": {"line": also.line, "column": also.column}} if also else {}),
        },
    )


def of_problem(problem: "Problem", place: "Place") -> Shown:
    """Return a problem of an object as it is shown."""
    return Shown(
        file=place.file,
        at=place.position,
        line=place.line,
        severity=problem.severity,
        code=problem.code,
        message=f"{problem.object.told}: {problem.message}",
        fix=problem.fix,
        more={"object": problem.object.told, **({"path": dotted(problem.at)} if problem.at else {})},
    )


def of_fault(fault: "Fault") -> Shown:
    """Return what could not be read or built as it is shown; it is always an error."""
    return Shown(
        file=fault.file,
        at=fault.position,
        line=fault.line,
        severity=Severity.ERROR,
        code=fault.code,
        message=fault.message,
        fix=fault.fix,
    )


def summary(loaded: Sequence[Loaded]) -> str:
    """Return `2 errors, 1 warning in 3 files`."""
    return f"{tally(of_loaded(loaded))} in {plural(len(loaded), 'file')}"


def tally(found: Iterable[Shown]) -> str:
    """Return `2 errors, 1 warning`."""
    severities = [one.severity for one in found]
    errors = severities.count(Severity.ERROR)
    return f"{plural(errors, 'error')}, {plural(len(severities) - errors, 'warning')}"


def _text(one: Shown) -> None:
    place = click.style(f"{one.file}:{one.at.line}:{one.at.column}", bold=True)
    severity = click.style(one.severity, fg=COLOURS[one.severity])
    click.echo(f"{place} {severity} {one.code}: {_visible(one.message)}")
    if one.line:
        click.echo(_excerpt(one.line, one.at, one.note))
    if one.fix:
        click.echo(f"   fix: {_visible(one.fix)}")
    click.echo()


def _excerpt(line: str, at: Position, also: str) -> str:
    """Show the line with carets below; a very long one is cut to what stands around the place."""
    start = max(0, at.column - 60) if len(line) > 160 else 0
    piece = _visible(line[start : start + 160])
    number = f"{at.line:5}"
    carets = "^" * max(1, min(at.end - at.column, 160 - (at.column - 1 - start)))
    return f"{number} | {piece}\n{' ' * len(number)} | {' ' * (at.column - 1 - start)}{carets}{also}"


def _visible(text: str) -> str:
    """Return text that cannot command a terminal, each character still one column."""
    return "".join(
        char if char.isprintable() else " " if char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def _also(finding: Finding, also: Position | None) -> str:
    if also is None:
        return ""
    named = "" if isinstance(finding.also, Position) or not finding.also else f", {dotted(finding.also)}"
    return f" also: line {also.line}{named}"


def _github(one: Shown) -> None:
    text = f"{one.message}\nfix: {one.fix}" if one.fix else one.message
    place = f"file={one.file},line={one.at.line},col={one.at.column},endColumn={one.at.end},title={one.code}"
    click.echo(f"::{one.severity} {place}::{for_github(text)}")


def for_github(text: str) -> str:
    """Return a message with GitHub's own escapes: a line feed would end the command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def data(one: Shown) -> dict[str, object]:
    """Return a finding for JSON."""
    return {
        "file": one.file,
        "line": one.at.line,
        "column": one.at.column,
        "endColumn": one.at.end,
        "severity": one.severity,
        "code": one.code,
        "message": one.message,
        **one.more,
        **({"fix": one.fix} if one.fix else {}),
    }
