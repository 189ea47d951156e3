"""`gen migrate`."""

from collections import Counter
from pathlib import Path

import click

from generator.cli.editing import show_lines
from generator.cli.options import CLUSTER, DISCARD, ROOT, after_writing, discarded, root_of
from generator.cli.output import show_findings, summary
from generator.cli.render import LISTED, WORDS, in_words, vendoring
from generator.cli.terminal import bold, say, say_all, tell
from generator.model.plural import plural
from generator.repository.hand_edits import refusals
from generator.repository.migrating import MigratedFile, migrated
from generator.repository.outcome import Outcome
from generator.repository.render import VendoredChange, render
from generator.review.overwritten import MOST, consequences
from generator.review.text import brief
from generator.spec.reader import read


@click.command("migrate")
@CLUSTER
@ROOT
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit code 1 when something would change.")
@click.option("--dry-run", is_flag=True, help="Write nothing, tell what would change.")
@DISCARD
def command(
    clusters: tuple[str, ...], directory: Path, *, only_check: bool, dry_run: bool, discard: tuple[str, ...]
) -> int:
    """Bring a repository that an older gen wrote to this one: cluster files and all that is rendered of them.

    Keys that stand elsewhere today are moved; every other line of a cluster file stays as it is, comments too. Told is
    what running clusters feel of it. All is written, or nothing: nothing where a cluster file is wrong after it, or a
    hand edit would be lost (exit code 1).
    """
    root = root_of(directory)
    found = migrated(root, clusters)
    for one in found.files:
        _show(one)
    if any(one.wrong for one in found.loaded):
        show_findings(found.loaded, "text")
        say(f"{summary(found.loaded)}: nothing was written; mend these first", err=True)
        return 1
    outcome = render(
        root,
        found.loaded,
        dry_run=dry_run or only_check,
        # The cluster files are written together with what is rendered of them.
        fresh=VendoredChange(files=found.contents),
        discard={*found.contents, *discarded(root, discard)},
        waiting=tell,
    )
    written = not (dry_run or only_check or outcome.refused)
    _tell(root, outcome, written=written)
    return int(outcome.refused or (only_check and bool(outcome.plan.changes)))


def _show(one: MigratedFile) -> None:
    """Show the lines of one file that change, and why."""
    document = read(one.old, one.path)
    say(bold(one.path))
    for line, message in sorted((document.locate(step)[0].line, step.message) for step in one.steps):
        say(f"{line:5}   {message}")
    show_lines(one.old, one.new)
    say()


def _tell(root: Path, outcome: Outcome, *, written: bool) -> None:
    changes = outcome.plan.changes
    notes = (f"note: {note}" for note in outcome.notes)
    say_all((*vendoring(outcome), *notes, *refusals(outcome.edits)), err=True)
    if outcome.refused:
        say("nothing was written", err=True)
        return
    for change in changes if len(changes) <= LISTED else ():
        say(f"  {WORDS[change.kind]:8} {change.path}")
    # What edits of a cluster file mean is what is rendered of them.
    rendered = [change for change in changes if not change.path.endswith("/cluster.yaml")]
    say_all(brief(consequences(root, rendered)))
    if len(rendered) > MOST and any(change.old for change in rendered):
        say(f"what it does: `gen diff` tells it; {len(rendered)} files are more than are compared here")
    if not changes:
        say(f"nothing to migrate: {plural(outcome.plan.unchanged, 'file')} as this gen writes them")
        return
    said = in_words(Counter(str(change.kind) for change in changes))
    say(f"{said}, {outcome.plan.unchanged} unchanged" if written else f"would change: {said}; `gen migrate` writes it")
    if written:
        say(after_writing(root))
