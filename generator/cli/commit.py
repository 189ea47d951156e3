"""`gen commit`."""

import os
from pathlib import Path

import click

from generator.cli.diff import APPROVAL
from generator.cli.options import ROOT, root_of
from generator.cli.output import show_findings
from generator.cli.render import vendoring
from generator.cli.terminal import bold, say, say_all, tell
from generator.model.plural import plural
from generator.publish.committing import Asked, Result, StoppedError, commit_change
from generator.publish.linking import Link, link
from generator.publish.prepare import Prepared
from generator.repository.hand_edits import refusals, several
from generator.review.text import lines

BRANCH = click.option(
    "--branch", metavar="NAME", help="The branch to commit on: a new one, or the one that is checked out."
)
ALLOW = click.option(
    "--allow",
    metavar="'CODE:OBJECT reason'",
    multiple=True,
    help="Approve one effect on one object, and say why; may be repeated.",
)
PUSH = click.option(
    "--push", is_flag=True, help="Push the branch; with a token in the environment open a pull request."
)


@click.command("commit")
@ROOT
@BRANCH
@click.option(
    "-m",
    "--message",
    "said",
    metavar="TEXT",
    default="",
    help="Your words; the first line is the subject. Default: what the change is.",
)
@ALLOW
@PUSH
def command(directory: Path, branch: str | None, said: str, allow: tuple[str, ...], *, push: bool) -> int:
    """Render, check and commit a change, with a message that says what it does to the running clusters.

    Commits cluster files, what is generated of them, and custom/ folders; other changed files stay as they are. Without
    --branch the commit is made on the branch that is checked out; on the main branch a new one is made. What loses data
    or is refused needs --allow: exit code 3 before anything is written.

    With --push, commits of others are fetched, this one is put on top of them, rendered and checked again.

    Needs Kustomize (`gen doctor`).
    """
    root = root_of(directory)
    asked = Asked(branch=branch, allow=allow, said=said, push=push)
    try:
        result = commit_change(root, asked, tell)
    except StoppedError as error:
        code = show_stopped(error.prepared)
        say("nothing was pushed: on top of others' commits this is so; your commit stays here as it was", err=True)
        return code
    if result.prepared.stopped:
        return show_stopped(result.prepared)
    show_result(result)
    return show_link(link(root, result, os.environ)) if result.pushed else 0


def show_stopped(prepared: Prepared, verb: str = "gen commit") -> int:
    """Tell why nothing was committed, and return the exit code."""
    show_findings(prepared.loaded, "text")
    outcome = prepared.outcome
    say_all((*refusals(outcome.edits), *vendoring(outcome)) if outcome else (), err=True)
    found = prepared.report
    if found is None or not found.unapproved:
        say("nothing was committed", err=True)
        return 1
    say_all(lines(found))
    say(f"nothing was committed; approve: {verb} --allow '{found.unapproved[0]} the reason'", err=True)
    return APPROVAL


def show_result(result: Result) -> None:
    """Tell what was committed and pushed."""
    if result.prepared.outcome:
        for note in result.prepared.outcome.notes:
            say(f"note: {note}", err=True)
    if result.others:
        count = plural(len(result.others), "file")
        say(f"left alone: {count} that gen does not own: {several(result.others)}", err=True)
    made = result.commit
    if made is None:
        say("nothing to commit: the repository is what its cluster files say")
    elif result.message:
        say(f"{bold(made.name[:9])} on {'the new branch ' if made.new_branch else ''}{made.branch}")
        for line in result.message.text.rstrip().split("\n"):
            say(f"  {line}".rstrip())
    if made and not result.pushed:
        say(f"next: git push --set-upstream {result.remote or 'origin'} {made.branch}")
    if result.pushed:
        where = f"{result.remote}/{result.pushed.branch}"
        over = f", on top of {result.pushed.over[:9]}" if result.pushed.over else ""
        say(f"pushed {result.pushed.commit[:9]} to {where}{over}")


def show_link(found: Link) -> int:
    """Tell where it can be looked at, and return the exit code."""
    if found.compare:
        say(f"compare: {found.compare}")
    if found.request:
        say(f"opened: {found.request}")
    say_all(found.notes, err=True)
    if found.error:
        say(f"no pull request was opened: {found.error}", err=True)
    return int(bool(found.error))
