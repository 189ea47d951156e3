"""How findings are shown: for people, for programs, and on the lines of a pull request."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from generator.model.finding import Edit, Finding, Position, Severity, dotted
from generator.model.plural import plural
from generator.repository.cluster_files import Loaded
from generator.spec.document import from_the_top

if TYPE_CHECKING:
    from generator.repository.locate import Located

OUTPUT = click.option(
    "--output",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="How findings are printed.",
)
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def show_findings(loaded: Sequence[Loaded], output: str) -> None:
    """Print every finding of every cluster file to standard output."""
    found = located(loaded)
    if output == "json":
        click.echo(json.dumps({"findings": [data(one) for one in found]}, indent=2, ensure_ascii=False))
    else:
        show(found, output)


def located(loaded: Sequence[Loaded]) -> list["Located"]:
    """Return what is wrong with cluster files, with its places."""
    findings = [finding for one in loaded for finding in one.findings]
    if not findings:
        return []
    from generator.repository.locate import Locator  # noqa: PLC0415 - not for files that are right

    return Locator(loaded).locate(findings)


def show(found: Iterable["Located"], output: str) -> None:
    """Print findings as text or as GitHub's annotations."""
    for one in found:
        (_github if output == "github" else _text)(one)


def summary(loaded: Sequence[Loaded]) -> str:
    """Return `2 errors, 1 warning in 3 files`."""
    return f"{tally(finding for one in loaded for finding in one.findings)} in {plural(len(loaded), 'file')}"


def tally(found: Iterable[Finding]) -> str:
    """Return `2 errors, 1 warning`."""
    severities = [one.severity for one in found]
    errors = severities.count(Severity.ERROR)
    return f"{plural(errors, 'error')}, {plural(len(severities) - errors, 'warning')}"


def _message(finding: Finding) -> str:
    return f"{finding.about}: {finding.message}" if finding.object else finding.message


def _text(one: "Located") -> None:
    finding = one.finding
    place = click.style(f"{finding.file}:{one.at.line}:{one.at.column}", bold=True)
    severity = click.style(finding.severity, fg=COLOURS[finding.severity])
    click.echo(f"{place} {severity} {finding.code}: {_visible(_message(finding))}")
    if one.line:
        click.echo(_excerpt(one.line, one.at, _also(one)))
    if finding.fix:
        click.echo(f"   fix: {_visible(finding.fix)}")
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


def _also(one: "Located") -> str:
    if one.also is None:
        return ""
    path = one.finding.also
    named = "" if isinstance(path, Position) or not path else f", {dotted(path)}"
    return f" also: line {one.also.line}{named}"


def _github(one: "Located") -> None:
    finding, at = one.finding, one.at
    text = f"{_message(finding)}\nfix: {finding.fix}" if finding.fix else _message(finding)
    place = f"file={finding.file},line={at.line},col={at.column},endColumn={at.end},title={finding.code}"
    click.echo(f"::{finding.severity} {place}::{for_github(text)}")


def for_github(text: str) -> str:
    """Return a message with GitHub's own escapes: a line feed would end the command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def data(one: "Located") -> dict[str, object]:
    """Return a finding for JSON."""
    finding, at, also = one.finding, one.at, one.also
    pointed = finding.at and not isinstance(finding.at, Position)
    return {
        "file": finding.file,
        "line": at.line,
        "column": at.column,
        "endColumn": at.end,
        "severity": finding.severity,
        "code": finding.code,
        "message": _message(finding),
        **({"object": finding.about} if finding.object else {}),
        **({"path": dotted(finding.at)} if pointed else {}),
        **({"also": {"line": also.line, "column": also.column}} if also else {}),
        **({"fix": finding.fix} if finding.fix else {}),
        **({"edits": [_edit(each) for each in finding.edits]} if finding.edits else {}),
    }


def _edit(edit: Edit) -> dict[str, object]:
    """Return a change for JSON, with its path from the beginning of the file."""
    path = from_the_top(edit.at)
    return {"do": edit.do, "path": path, **({} if edit.do == "remove" else {"value": edit.value})}
