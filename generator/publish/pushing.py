"""Pushing a branch that others push to as well."""

from collections.abc import Callable

from msgspec import Struct

from generator.publish.prepare import Tell
from generator.repository.commits import between, commits_after, stands_on
from generator.repository.git_commands import GitCommands, GitRefusalError
from generator.repository.hand_edits import several
from generator.repository.rebasing import ConflictError, beside, rebase
from generator.repository.remotes import ever_seen, fetch, follow, has_one_address, last_seen, push
from generator.repository.working_tree import branch, dirty, head, untracked

TRIES = 5


class Pushed(Struct, frozen=True, kw_only=True):
    """What the remote has now: the commit as it was pushed, and `over`, the commit of others that it was put on top of
    (None: nobody pushed meanwhile).
    """

    commit: str
    branch: str
    over: str | None = None


def push_on_top(git: GitCommands, remote: str, on: str, again: Callable[[GitCommands], str], waiting: Tell) -> Pushed:
    """Push HEAD. Where others pushed before, put the commits on top of theirs in a working tree of their own, have them
    made `again` there, and retry; then the user's branch follows. Raises GitRefusalError, ConflictError; nothing was
    pushed then, and branch and files are as they were.
    """
    mine = candidate = head(git)
    place, expected, over = f"{remote}/{on}", last_seen(git, remote, on), None
    # Where commits are pushed to another place than they come from, a commit that is missing there says nothing.
    seen = ever_seen(git, remote, on) if has_one_address(git, remote) else set[str]()
    if expected:
        _refuse_rewritten(git, mine, expected, seen, place)
    for _ in range(TRIES):
        below = expected if expected and stands_on(git, candidate, expected) else ""
        if push(git, remote, candidate, on, below):
            _catch_up(git, remote, Pushed(commit=candidate, branch=on), mine, waiting)
            return Pushed(commit=candidate, branch=on, over=over)
        theirs = expected = fetch(git, remote, on)
        _refuse_rewritten(git, mine, theirs, seen, place)
        if not stands_on(git, candidate, theirs):
            waiting(f"{place} has commits that are not here; putting yours on top of {theirs[:9]}")
            candidate, over = _on_top(git, mine, theirs, place, again), theirs
    raise GitRefusalError(
        f"{place}: others pushed before each of {TRIES} tries; nothing was pushed, the commit stays here; "
        "run `gen commit --push` again"
    )


def _refuse_rewritten(git: GitCommands, mine: str, theirs: str, seen: set[str], place: str) -> None:
    """Raise GitRefusalError where a push would put back what others have taken out of the branch."""
    gone = [name for name in commits_after(git, theirs, mine) if name in seen]
    if gone:
        raise GitRefusalError(
            f"{place}: its history was rewritten: {gone[0][:9]} was there and is there no longer, and would come back "
            f"with yours; nothing was pushed; `git pull --rebase {place.replace('/', ' ', 1)}` leaves it out"
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
    fresh = between(git, mine, candidate)
    if both := sorted(fresh & dirty(git) | untracked(git, fresh)):
        raise GitRefusalError(
            f"{several(both)}: changed here and not committed, and on {place} as well; nothing was pushed; `git stash` "
            "puts it aside, then `gen commit --push`, then `git stash pop`; move away what Git ignores"
        )
    return candidate


def _catch_up(git: GitCommands, remote: str, pushed: Pushed, mine: str, waiting: Tell) -> None:
    """Move the branch to what was pushed, where it is still what it was; what the user changed and did not commit
    stays.
    """
    if (branch(git), head(git)) != (pushed.branch, mine):
        waiting(f"pushed; your branch moved meanwhile and stays as it is: `git pull --rebase {remote} {pushed.branch}`")
        return
    if pushed.commit != mine:
        git.run("it is pushed, but your branch could not follow; `git pull --rebase`", "reset", "--keep", pushed.commit)
    follow(git, remote, pushed.branch)
