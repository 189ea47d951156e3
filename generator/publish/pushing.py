"""Pushing a branch that others push to as well."""

from collections.abc import Callable

from msgspec import Struct

from generator.publish.prepare import Tell
from generator.repository.commits import between
from generator.repository.git_commands import GitCommands, GitRefusalError
from generator.repository.hand_edits import several
from generator.repository.rebasing import ConflictError, beside, rebase
from generator.repository.remotes import fetch, follow, push
from generator.repository.working_tree import dirty, head

TRIES = 5


class Pushed(Struct, frozen=True, kw_only=True):
    """What the remote has now: the commit as it was pushed, and `over`, the commit of others that it was put on top of
    (None: nobody pushed meanwhile).
    """

    commit: str
    branch: str
    over: str | None = None


def push_on_top(
    git: GitCommands, remote: str, branch: str, again: Callable[[GitCommands], str], waiting: Tell
) -> Pushed:
    """Push HEAD. Where others pushed before, put the commits on top of theirs in a working tree of their own, have them
    made `again` there, and retry; then the user's branch follows. Raises GitRefusalError, ConflictError; nothing was
    pushed then, and branch and files are as they were.
    """
    mine = candidate = head(git)
    over = None
    for _ in range(TRIES):
        if push(git, remote, candidate, branch):
            _catch_up(git, mine, candidate)
            follow(git, remote, branch)
            return Pushed(commit=candidate, branch=branch, over=over)
        over = fetch(git, remote, branch)
        waiting(f"{remote}/{branch} has commits that are not here; putting yours on top of {over[:9]}")
        candidate = _on_top(git, mine, over, f"{remote}/{branch}", again)
    raise GitRefusalError(
        f"{remote}/{branch}: others pushed before each of {TRIES} tries; nothing was pushed, the commit stays here; "
        "run `gen commit --push` again"
    )


def _on_top(git: GitCommands, mine: str, over: str, place: str, again: Callable[[GitCommands], str]) -> str:
    with beside(git, mine) as there:
        try:
            rebase(there, over)
        except ConflictError as error:
            raise ConflictError(
                f"{error}: your commits and those on {place} change the same lines; nothing was pushed, your commit "
                f"{mine[:9]} stays here as it was; `git pull --rebase {place.replace('/', ' ', 1)}` shows both: settle "
                "them, then `gen commit --push`"
            ) from None
        candidate = again(there)
    if both := sorted(between(git, mine, candidate) & dirty(git)):
        raise GitRefusalError(
            f"{several(both)}: changed here and not committed, and on {place} as well; nothing was pushed; `git stash` "
            "puts it aside, then `gen commit --push`, then `git stash pop`"
        )
    return candidate


def _catch_up(git: GitCommands, mine: str, pushed: str) -> None:
    """Move the branch to what was pushed; what the user changed and did not commit stays."""
    if pushed != mine:
        git.run("it is pushed, but your branch could not follow; `git pull --rebase`", "reset", "--keep", pushed)
