"""`gen rollback`."""

import os
from pathlib import Path

import click

from generator.cli.commit import ALLOW, BRANCH, PUSH, show_link, show_result, show_stopped
from generator.cli.live_options import refuse_beside
from generator.cli.options import ROOT, root_of
from generator.cli.terminal import bold, say, say_all
from generator.errors import UsageError
from generator.model.plural import plural
from generator.publish.committing import Asked, StoppedError
from generator.publish.linking import link
from generator.publish.prepare import Prepared
from generator.publish.rolling_back import STAYS, RolledBack, roll_back
from generator.repository.hand_edits import several
from generator.review.text import lines


@click.command("rollback")
@click.argument("commit", required=False)
@ROOT
@click.option("--last", is_flag=True, help="Take back the last commit of the branch.")
@click.option("--dry-run", is_flag=True, help="Only tell what it would do to the running clusters.")
@BRANCH
@click.option(
    "-m",
    "--message",
    "said",
    metavar="TEXT",
    default="",
    help="Your words; the first line is the subject. Default: what is taken back.",
)
@ALLOW
@PUSH
def command(  # noqa: PLR0913 - the options of the verb
    commit: str | None,
    directory: Path,
    branch: str | None,
    said: str,
    allow: tuple[str, ...],
    *,
    last: bool,
    dry_run: bool,
    push: bool,
) -> int:
    """Take a commit back, by a new commit in Git: the running cluster follows as with any change.

    COMMIT is the one that is undone, a merge with all that it brought; what came after it stays. The result is rendered
    anew, by this gen, and judged as a change of its own: what it does is told first, what loses data or is refused
    needs --allow (exit code 3). Nothing is written where it stops. Data does not come back.

    Without --branch the commit is made on the branch that is checked out; on the main branch a new one is made. Needs
    Kustomize (`gen doctor`).
    """
    if (commit is None) == (not last):
        raise UsageError("name the COMMIT to take back, or --last for the last one of the branch")
    asked = Asked(branch=branch, allow=allow, said=said, push=push)
    if dry_run:
        _refuse_idle(asked)
    root = root_of(directory)
    try:
        done = roll_back(root, commit or "HEAD", asked, _Teller(), dry=dry_run)
    except StoppedError as error:
        code = show_stopped(error.prepared, "gen rollback")
        say("nothing was pushed: on top of others' commits this is so; the commit stays here as it was", err=True)
        return code
    return _show(root, done, dry=dry_run)


def _show(root: Path, done: RolledBack, *, dry: bool) -> int:
    if done.others:
        count = plural(len(done.others), "file")
        say(f"stays as it is: {count} of that commit that gen does not own: {several(done.others)}", err=True)
    if done.result.prepared.stopped:
        return show_stopped(done.result.prepared, f"gen rollback {done.commit[:9]}")
    if dry:
        return 0
    show_result(done.result)
    return show_link(link(root, done.result, os.environ)) if done.result.pushed else 0


def _refuse_idle(asked: Asked) -> None:
    """Refuse what says how to commit where nothing is committed."""
    without = {"--push": asked.push, "--branch": asked.branch is not None, "--message": bool(asked.said)}
    refuse_beside("--dry-run", without, "a dry run makes no commit; leave one of them")


class _Teller:
    """Tells of a rollback before it is made."""

    def __call__(self, text: str) -> None:
        """Tell what is waited for."""
        say(text, err=True)

    def judged(self, commit: str, subject: str, prepared: Prepared) -> None:
        """Tell what it does to the running clusters."""
        say(f"takes back {bold(commit[:9])}: {subject}")
        if prepared.report and not prepared.stopped:
            say_all(lines(prepared.report))
            say(f"note: {STAYS}", err=True)
