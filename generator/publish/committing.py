"""`gen commit`: one commit that holds a change and says what it does; pushed, on top of what others pushed before."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from generator.errors import UsageError
from generator.publish.message import Allowed, Message, allowed, branch_name, message
from generator.publish.prepare import Prepared, Tell, prepare, write_change
from generator.publish.pushing import Pushed, push_on_top
from generator.repository.commits import Commit, amend, commit, free_name, is_empty, is_main, refuse_branch
from generator.repository.git_commands import GitCommands
from generator.repository.git_folder import locate
from generator.repository.remotes import refuse_no_remote, remote_of
from generator.repository.working_tree import branch, head, refuse_unready, status


class Asked(Struct, frozen=True, kw_only=True):
    """What the user wants: the `branch` (None: gen chooses), approvals with reasons, own words for the message."""

    branch: str | None = None
    allow: tuple[str, ...] = ()
    said: str = ""
    push: bool = False


class Result(Struct, frozen=True, kw_only=True):
    """What was done. `commit` is None where nothing was to be committed, or where `prepared` is stopped; `others` are
    changed files that were left alone.
    """

    prepared: Prepared
    commit: Commit | None = None
    message: Message | None = None
    pushed: Pushed | None = None
    remote: str = ""
    others: tuple[str, ...] = ()


class StoppedError(Exception):
    """On top of what others pushed, the change may not be committed; `prepared` says why."""

    def __init__(self, prepared: Prepared) -> None:
        super().__init__()
        self.prepared = prepared


def commit_change(root: Path, asked: Asked, waiting: Tell, judged: Callable[[Prepared], None] | None = None) -> Result:
    """Render, check, commit and, where asked, push; `judged` hears what the change means before anything is written.
    Raises UsageError for a state of Git in which nothing can be
    committed, and GitRefusalError where Git, a hook or the remote refuses; StoppedError.
    """
    approved = allowed(asked.allow)
    place = locate(root)
    if place is None:
        raise UsageError(f"{root}: this is not a Git repository; `git init` makes one of it")
    with GitCommands(place) as git:
        refuse_unready(git)
        remote = remote_of(git, branch(git))
        if asked.push:
            refuse_no_remote(git, remote)
        if asked.branch:
            refuse_branch(git, asked.branch)
        prepared = prepare(git, "HEAD", [one.text for one in approved], waiting)
        if judged:
            judged(prepared)
        if prepared.stopped:
            return Result(prepared=prepared)
        _refuse_unused(prepared, approved)
        result = _commit(git, prepared, asked, remote, waiting)
        return _push(git, result, asked, waiting) if asked.push else result


def _refuse_unused(prepared: Prepared, approved: Sequence[Allowed]) -> None:
    unused = {one.text for one in (prepared.report.unused if prepared.report else approved)}
    # What commits of the branch approved before may be more than this change does.
    for one in approved:
        if one.text in unused:
            raise UsageError(f"--allow {one.text}: nothing in this change needs it; leave it out, or see `gen diff`")


def _commit(git: GitCommands, prepared: Prepared, asked: Asked, remote: str, waiting: Tell) -> Result:
    if prepared.report is None:
        return Result(prepared=prepared, remote=remote, others=tuple(status(git).others))
    told = message(prepared.report, prepared.clusters, allowed(asked.allow), asked.said)
    on = asked.branch or _branch(git, prepared, remote)
    files = write_change(git, prepared, waiting)
    made = commit(git, files, told.text, on)
    return Result(prepared=prepared, commit=made, message=told, remote=remote, others=tuple(status(git).others))


def _branch(git: GitCommands, prepared: Prepared, remote: str) -> str:
    """Return the branch that is checked out, unless others merge into it or Argo CD syncs it: then a new one, called by
    the change.
    """
    now = branch(git)
    synced = {one.cluster.repository.branch for one in prepared.loaded if one.cluster}
    if prepared.report is None or not (now in synced or is_main(git, now, remote)):
        return now
    return free_name(git, branch_name(prepared.report, prepared.clusters), remote)


def _push(git: GitCommands, result: Result, asked: Asked, waiting: Tell) -> Result:
    on = branch(git)
    if result.commit is None and asked.branch is None and is_main(git, on, result.remote):
        return result

    mine, own = head(git), result.commit is not None
    empty = is_empty(git, mine)

    def again(there: GitCommands) -> str:
        made = _again(there, mine, asked, waiting, own=own)
        # Others made the same change; a commit that was empty from the start says something.
        return made if empty or not is_empty(there, made) else there.value("rev-parse", "HEAD^")

    pushed = push_on_top(git, result.remote, on, again, waiting)
    return Result(
        prepared=result.prepared,
        commit=result.commit,
        message=result.message,
        pushed=pushed,
        remote=result.remote,
        others=result.others,
    )


def _again(there: GitCommands, mine: str, asked: Asked, waiting: Tell, *, own: bool) -> str:
    """Make the commit `mine` anew on top of others' commits; with a new message where the old one was gen's `own`."""
    approved = allowed(asked.allow)
    prepared = prepare(there, "HEAD^", [one.text for one in approved], waiting, before=mine)
    if prepared.stopped or prepared.report is None:
        raise StoppedError(prepared)
    files = write_change(there, prepared, waiting)
    unused = {one.text for one in prepared.report.unused}
    used = [one for one in approved if one.text not in unused]
    told = message(prepared.report, prepared.clusters, used, asked.said)
    return amend(there, files, told.text if own else None)
