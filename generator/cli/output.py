"""How findings are shown: for people, for programs, and on the lines of a pull request."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from generator.cli.options import output_as
from generator.cli.terminal import annotate, one_line, say, say_json, styled, visible, width
from generator.model.finding import Edit, Finding, Position, Severity, dotted
from generator.model.plural import plural
from generator.spec.document import from_the_top

if TYPE_CHECKING:
    from generator.repository.cluster_files import Loaded
    from generator.repository.locate import Located

OUTPUT = output_as("text", "json", "github", help="How findings are printed.")
REPORTED = output_as(
    "text", "json", "github", "gitlab", help="How findings are printed; gitlab: as a code quality report."
)
MOST = 1000
"""Findings that are printed; beyond that only JSON has them."""
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def show_findings(loaded: Sequence["Loaded"], output: str, *, written: bool = True) -> None:
    """Print every finding of every cluster file to standard output; of files that are not `written` so without lines
    and columns, which nobody could look up.
    """
    found = located(loaded)
    if output == "json":
        say_json({"findings": [data(one) for one in found]})
    elif output == "gitlab":
        from generator.cli.gitlab import entries, show_report  # noqa: PLC0415 - only when it is asked for

        show_report(entries(found))
    else:
        show(found, output, written=written)


def without_accepted(one: "Loaded") -> "Loaded":
    """Return a cluster file without the warnings that its waivers accept today."""
    if not one.cluster or not one.cluster.waivers:
        return one
    from generator.cli.accepted import accept_idle  # noqa: PLC0415 - for the few clusters with waivers

    return accept_idle(one)


def located(loaded: Sequence["Loaded"]) -> list["Located"]:
    """Return what is wrong with cluster files, with its places."""
    findings = [finding for one in loaded for finding in one.findings]
    if not findings:
        return []
    from generator.repository.locate import Locator  # noqa: PLC0415 - not for files that are right

    return Locator(loaded).locate(findings)


def show(found: Sequence["Located"], output: str, *, written: bool = True) -> None:
    """Print findings as text or as GitHub's annotations: `MOST` of them, and as text only the first few of those that
    have one cause.
    """
    if output == "github":
        for one in found[:MOST]:
            _github(one)
    elif found:
        from generator.cli.groups import grouped  # noqa: PLC0415 - not for files that are right

        groups = grouped(found)
        for group in groups[:MOST]:
            if group.more:
                say(f"{len(group.members)} findings have one cause: {one_line(group.cause)}\n")
            for one in group.shown:
                _text(one, written=written)
            if group.more:
                say(f"... and {group.more} more with that cause (all of them: --output json)\n")
        found = [one for group in groups for one in group.members[:1]]
    if len(found) > MOST:
        say(f"... and {len(found) - MOST} more findings (all of them: --output json)", err=True)


def nothing_written(loaded: Sequence["Loaded"], output: str) -> int:
    """Show what is wrong, and say that therefore nothing was written. Returns the exit code."""
    show_findings(loaded, output)
    say(f"{summary(loaded)}: nothing was written", err=True)
    return 1


def mend_first(loaded: Sequence["Loaded"]) -> int:
    """Show what is wrong with cluster files of which nothing can be made. Returns the exit code."""
    show_findings(loaded, "text")
    say(f"{summary(loaded)}: mend them first", err=True)
    return 1


def summary(loaded: Sequence["Loaded"]) -> str:
    """Return `2 errors, 1 warning in 3 files`."""
    return f"{tally(finding for one in loaded for finding in one.findings)} in {plural(len(loaded), 'file')}"


def tally(found: Iterable[Finding]) -> str:
    """Return `2 errors, 1 warning`."""
    severities = [one.severity for one in found]
    errors = severities.count(Severity.ERROR)
    return f"{plural(errors, 'error')}, {plural(len(severities) - errors, 'warning')}"


def _message(finding: Finding) -> str:
    return f"{finding.about}: {finding.message}" if finding.object else finding.message


def _text(one: "Located", *, written: bool) -> None:
    finding = one.finding
    key = "" if isinstance(finding.at, Position) or not finding.at else f", {dotted(finding.at)}:"
    at = f":{one.at.line}:{one.at.column}" if written else f" as it would be{key}"
    severity = styled(finding.severity, COLOURS[finding.severity])
    say(f"{styled(f'{finding.file}{at}', 'bold')} {severity} {finding.code}: {one_line(_message(finding))}")
    if one.line:
        number, also = (str(one.at.line), _also(one)) if written else ("", "")
        say(_excerpt(one.line, one.at, number, also))
    if finding.fix:
        say(f"   fix: {one_line(finding.fix)}")
    say()


def _excerpt(line: str, at: Position, number: str, also: str) -> str:
    """Show the line with carets below; a very long one is cut to what stands around the place."""
    start = max(0, at.column - 60) if len(line) > 160 else 0
    piece = visible(line[start : start + 160])
    number = f"{number:>5}"
    before, shown = piece[: at.column - 1 - start], piece[at.column - 1 - start : at.end - 1 - start]
    carets = "^" * max(1, width(shown))
    return f"{number} | {piece}\n{' ' * len(number)} | {' ' * width(before)}{carets}{also}"


def _also(one: "Located") -> str:
    if one.also is None:
        return ""
    path = one.finding.also
    named = "" if isinstance(path, Position) or not path else f", {dotted(path)}"
    return f" also: line {one.also.line}{named}"


def _github(one: "Located") -> None:
    finding, at = one.finding, one.at
    text = f"{_message(finding)}\nfix: {finding.fix}" if finding.fix else _message(finding)
    annotate(
        finding.severity, text, file=finding.file, line=at.line, col=at.column, endColumn=at.end, title=finding.code
    )


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
        **({"cause": finding.cause} if finding.cause else {}),
        **({"fix": finding.fix} if finding.fix else {}),
        **({"edits": [_edit(each) for each in finding.edits]} if finding.edits else {}),
    }


def _edit(edit: Edit) -> dict[str, object]:
    """Return a change for JSON, with its path from the beginning of the file."""
    path = from_the_top(edit.at)
    return {"do": edit.do, "path": path, **({} if edit.do == "remove" else {"value": edit.value})}
