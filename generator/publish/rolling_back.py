"""`gen rollback`: a commit that takes an earlier one back, rendered, judged and committed as any other change."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct, structs

from generator.errors import UsageError
from generator.layout.lock import LOCK
from generator.publish.committing import Asked, Result, commit_change
from generator.publish.message import allowed
from generator.publish.prepare import Prepared, prepare
from generator.repository.commits import stands_on
from generator.repository.git_commands import GitCommands
from generator.repository.git_folder import locate
from generator.repository.hand_edits import several
from generator.repository.rebasing import beside, revert, take
from generator.repository.vendored import on_disk
from generator.repository.working_tree import head, refuse_unready, status

STAYS = "data does not come back: this takes back what Git says, not what was deleted, overwritten or written since"


class Teller(Protocol):
    """Hears what is waited for, and what a rollback means before it is made."""

    def __call__(self, text: str) -> None:
        """Hear what is waited for."""

    def judged(self, commit: str, subject: str, prepared: Prepared) -> None:
        """Hear what taking back a commit does."""


class RolledBack(Struct, frozen=True, kw_only=True):
    """What was taken back: the commit, and `others`, files of it that are not gen's and stay as they are; `result` is
    as of a commit.
    """

    commit: str
    others: tuple[str, ...]
    result: Result


def roll_back(root: Path, name: str, asked: Asked, teller: Teller, *, dry: bool = False) -> RolledBack:
    """Take a commit back in a new one. Where that is stopped or fails, files are as they were; with `dry` they are in
    any case. Raises as `commit_change`; ConflictError where later commits changed the same lines, UsageError where
    there is nothing to take back, or where changes are not committed.
    """
    place = locate(root)
    if place is None:
        raise UsageError(f"{root}: this is not a Git repository, so there is no commit to take back")
    with GitCommands(place) as git:
        refuse_unready(git)
        _refuse_dirty(git)
        commit, subject = _meant(git, name)
        files, others = _taken_back(git, commit)
        if not files:
            raise UsageError(f"{commit[:9]} ({subject}): nothing of it is left that a rollback would change")
        said = asked.said or f"Roll back {commit[:9]}: {subject}"
        wanted = structs.replace(asked, said=f"{said}\n\nThis takes back commit {commit}.")
        judged = partial(teller.judged, commit, subject)
        with _written(git, files):
            result = (
                _foretold(git, judged, [one.text for one in allowed(asked.allow)], teller)
                if dry
                else commit_change(root, wanted, teller, judged)
            )
        return RolledBack(commit=commit, others=others, result=result)


def _foretold(git: GitCommands, judged: Callable[[Prepared], None], approved: Sequence[str], teller: Teller) -> Result:
    prepared = prepare(git, "HEAD", approved, teller)
    judged(prepared)
    return Result(prepared=prepared)


def _refuse_dirty(git: GitCommands) -> None:
    if mine := status(git).mine:
        raise UsageError(
            f"{several(mine)}: changed and not committed, and a rollback is a commit of its own; `gen commit` commits "
            "it, `git restore` drops it"
        )


def _meant(git: GitCommands, name: str) -> tuple[str, str]:
    """Return the full name and the subject of the commit to take back."""
    commit = git.value("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not commit:
        raise UsageError(f"{name}: Git knows no such commit here; `git log` lists them, `git fetch` may bring it")
    if not stands_on(git, head(git), commit):
        raise UsageError(
            f"{name}: {commit[:9]} is not on the branch that is checked out: there is nothing to take back"
        )
    if not git.value("rev-parse", "--verify", "--quiet", f"{commit}^"):
        raise UsageError(
            f"{name}: {commit[:9]} is the first commit, or this clone ends there (`git fetch --unshallow`)"
        )
    return commit, git.value("show", "--no-patch", "--format=%s", commit)


def _taken_back(git: GitCommands, commit: str) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
    """Return what the files of people and what stands vendored say without a commit (None: gone), and the files that
    are not gen's, which stay. What a render makes is left out.
    """
    with beside(git, head(git)) as there:
        revert(there, commit)
        now = status(there)
        disk = on_disk(there.place.top / there.place.prefix)
        files = {path: disk(path) for path in now.mine}
        standing = on_disk(git.place.top / git.place.prefix)
        if LOCK in files:
            files[LOCK] = _of_this_gen(files[LOCK], standing(LOCK))
        return {path: content for path, content in files.items() if content != standing(path)}, tuple(now.others)


def _of_this_gen(lock: bytes | None, standing: bytes | None) -> bytes | None:
    """Return what was locked before, with the line that says which gen wrote it as it stands: it has not changed."""
    if lock is None or standing is None:
        return standing
    line = next((each for each in standing.splitlines(keepends=True) if each.startswith(b"gen:")), b"")
    return b"".join(line if each.startswith(b"gen:") else each for each in lock.splitlines(keepends=True))


@contextmanager
def _written(git: GitCommands, files: Mapping[str, bytes | None]) -> Iterator[None]:
    """Have the files say so as long as the block; what it did not commit is as before after it."""
    root = git.place.top / git.place.prefix
    for path, content in files.items():
        if content is None:
            (root / path).unlink(missing_ok=True)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
    try:
        yield
    finally:
        _restore(git)


def _restore(git: GitCommands) -> None:
    """Put back what differs from HEAD of what is gen's: before, nothing did."""
    now = status(git)
    for path in {*now.mine} & {*now.new}:
        (git.place.top / git.place.prefix / path).unlink(missing_ok=True)
    take(git, [path for path in now.mine if path not in now.new], "HEAD")
