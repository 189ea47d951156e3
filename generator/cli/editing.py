"""What the verbs that edit a cluster file share: make the edit, show it, write it."""

from collections.abc import Callable
from difflib import SequenceMatcher
from ipaddress import IPv4Address
from pathlib import Path

import click

from generator.cli.options import ROOT, root_of, together
from generator.cli.output import show_findings, tally
from generator.cli.terminal import bold, say, styled, tell
from generator.edits.gains import gains
from generator.edits.source import Source
from generator.errors import UsageError
from generator.model.node_sets import names_of
from generator.repository.edited import Outcome, edited, write_edit
from generator.repository.write_lock import exclusive

HARDWARE = ("cpu", "memory", "gpus", "gpu_model", "gpu_memory")
"""What `hardware` gives a verb, beside `disks`."""
LISTED = 6


class Names(click.ParamType[list[str]]):
    """A set of names as `gpu-[016-120]`."""

    name = "names"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Unfold the set."""
        try:
            return names_of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Address(click.ParamType[IPv4Address]):
    """An IPv4 address."""

    name = "address"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> IPv4Address:
        """Read the address."""
        try:
            return IPv4Address(value)
        except ValueError:
            self.fail(f"`{value}` is no address such as 10.10.0.116", param, ctx)


class Share(click.ParamType[tuple[str, int]]):
    """A team and a number, as `vision=8`."""

    name = "share"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Read both."""
        team, _, count = value.partition("=")
        if not (team and count.isdecimal() and int(count)):
            self.fail(f"{value}: write TEAM=N, as in vision=8", param, ctx)
        return team, int(count)


RACKS = click.option(
    "--rack", "racks", type=Names(),
    help="Where they stand, or a set of racks that they take in turn. Default: the rack of what they are like.",
)  # fmt: skip
EDIT = together(
    click.option("--cluster", metavar="NAME", help="The cluster. Default: the one that has it."),
    ROOT,
    click.option("--dry-run", is_flag=True, help="Only tell what would be written."),
    click.option("--despite-warnings", is_flag=True, help="Write it also where it brings a warning."),
)
"""What `make` is told beside the edit."""
hardware = together(
    click.option("--cpu", type=click.IntRange(1), help="Hardware threads of a node. Default: unchanged."),
    click.option("--memory", metavar="AMOUNT", help="Memory of a node, as in 1Ti. Default: unchanged."),
    click.option("--gpus", type=click.IntRange(0), help="GPUs of a node. Default: unchanged."),
    click.option("--gpu-model", metavar="MODEL", help="Model of the GPUs. Default: unchanged."),
    click.option("--gpu-memory", metavar="AMOUNT", help="Memory of one GPU, as in 80Gi. Default: unchanged."),
    click.option(
        "--disk",
        "disks",
        metavar="DISK",
        multiple=True,
        help="More disks, as an entry of the file; may be repeated. Default: none.",
    ),
)
"""The options that say what a node has."""


def make(  # noqa: PLR0913 - what a verb was given
    edit: Callable[[Source], str],
    *,
    holds: str,
    cluster: str | None,
    directory: Path,
    dry_run: bool,
    despite_warnings: bool,
) -> int:
    """Make an edit, show what it changes and what the cluster gains or loses, and write the file. Nothing is written
    when the edited file would have a finding that it has not now.
    """
    with exclusive(root_of(directory), tell) as lock:
        outcome = edited(lock.root, cluster, holds, edit)
        refused = outcome.errors or (outcome.after.findings and not despite_warnings)
        show_findings([outcome.after], "text", written=not (refused or dry_run))
        if refused:
            return _refused(outcome)
        if outcome.new == outcome.old:
            raise UsageError(f"{outcome.after.document.file} says so already: nothing was written")
        _show(outcome)
        if not dry_run:
            write_edit(lock, outcome)
    _show_named(outcome.named)
    file = outcome.after.document.file
    say(f"would write {file}" if dry_run else f"wrote {file}")
    say(f"next: gen render --cluster {outcome.after.name}")
    return 0


def _refused(outcome: Outcome) -> int:
    told = tally(outcome.after.findings)
    way = "" if outcome.errors else "; --despite-warnings writes it all the same"
    say(f"{outcome.after.document.file} would have {told} more: nothing was written{way}", err=True)
    return 1


def _show(outcome: Outcome) -> None:
    show_lines(outcome.old, outcome.new)
    cluster = outcome.after.cluster
    rows = gains(outcome.before, cluster) if cluster else []
    wide = max((len(row.what) for row in rows), default=0)
    if rows:
        say(f"\nwhat {bold(outcome.after.name)} gains or loses:")
    for row in rows:
        say(f"  {row.what:{wide}}  {row.before} -> {row.after}")
    say()


def _show_named(named: tuple[str, ...]) -> None:
    for text in named[:LISTED]:
        say(f"note: {text}; change that as well", err=True)
    if len(named) > LISTED:
        say(f"note: {len(named) - LISTED} more lines name them", err=True)


def show_lines(before: str, after: str) -> None:
    """Show the lines of a text that go and those that come, each with its number; of many the first and the last."""
    taken, added = _lines(before, after)
    for sign, colour, lines in (("-", "red", taken), ("+", "green", added)):
        shown = lines if len(lines) <= LISTED else [*lines[: LISTED - 2], (0, ""), lines[-1]]
        indent = min((len(line) - len(line.lstrip()) for _, line in lines if line.strip()), default=0)
        for number, line in shown:
            say(styled(f"{number:5} {sign} {line[indent:].rstrip()}", colour) if number else f"      {sign} ...")


def _lines(before: str, after: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return the lines that go and those that come, each with its number."""
    old, new = before.split("\n"), after.split("\n")
    taken, added = list[tuple[int, str]](), list[tuple[int, str]]()
    for how, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how != "equal":
            down = _further_down(new, first, last) if how == "insert" else 0
            taken += enumerate(old[start:end], start + 1)
            added += enumerate(new[first + down : last + down], first + down + 1)
    return taken, added


def _further_down(lines: list[str], first: int, last: int) -> int:
    """Return how far lines that are like others can be moved: of a copy the later ones are the new ones."""
    down = 0
    while last + down < len(lines) and lines[first + down] == lines[last + down]:
        down += 1
    return down
