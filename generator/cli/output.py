"""How findings are shown: for people, for programs, and on the lines of a pull request."""

import json
from collections.abc import Sequence

import click

from generator.model.finding import Finding, Position, Severity, dotted
from generator.repository.project import Loaded
from generator.spec.document import Document

__all__ = ["OUTPUT", "show_findings", "summary"]

OUTPUT = click.option(
    "--output",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="How findings are printed.",
)
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def show_findings(loaded: Sequence[Loaded], output: str) -> None:
    """Print every finding of every file to standard output."""
    if output == "json":
        found = [_data(one.document, finding) for one in loaded for finding in one.findings]
        click.echo(json.dumps({"findings": found}, indent=2, ensure_ascii=False))
        return
    show = _github if output == "github" else _text
    for one in loaded:
        for finding in one.findings:
            show(one.document, finding)


def summary(loaded: Sequence[Loaded]) -> str:
    """Return `2 errors, 1 warning in 3 files`."""
    findings = [finding for one in loaded for finding in one.findings]
    errors = sum(finding.severity == Severity.ERROR for finding in findings)
    return f"{_count(errors, 'error')}, {_count(len(findings) - errors, 'warning')} in {_count(len(loaded), 'file')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _text(document: Document, finding: Finding) -> None:
    at, also = document.locate(finding)
    place = click.style(f"{document.file}:{at.line}:{at.column}", bold=True)
    severity = click.style(finding.severity, fg=COLOURS[finding.severity])
    click.echo(f"{place} {severity} {finding.code}: {_visible(finding.message)}")
    if line := document.line(at.line):
        click.echo(_excerpt(line, at, _also(finding, also)))
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


def _also(finding: Finding, also: Position | None) -> str:
    if also is None:
        return ""
    named = "" if isinstance(finding.also, Position) or not finding.also else f", {dotted(finding.also)}"
    return f" also: line {also.line}{named}"


def _github(document: Document, finding: Finding) -> None:
    at, _ = document.locate(finding)
    text = f"{finding.message}\nfix: {finding.fix}" if finding.fix else finding.message
    place = f"file={document.file},line={at.line},col={at.column},endColumn={at.end},title={finding.code}"
    # GitHub's own escapes: a line feed would end the command.
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    click.echo(f"::{finding.severity} {place}::{escaped}")


def _data(document: Document, finding: Finding) -> dict[str, object]:
    at, also = document.locate(finding)
    return {
        "file": document.file,
        "line": at.line,
        "column": at.column,
        "endColumn": at.end,
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
        **({"path": dotted(finding.at)} if finding.at and not isinstance(finding.at, Position) else {}),
        **({"also": {"line": also.line, "column": also.column}} if also else {}),
        **({"fix": finding.fix} if finding.fix else {}),
    }
