"""What state a working tree is in, and whether something can be committed there."""

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct

from generator.errors import UsageError
from generator.repository.git_commands import GitCommands
from generator.repository.git_folder import GitFolder
from generator.repository.hand_edits import several
from generator.repository.scaffold import SCHEMA, scaffold

_ENTRY = re.compile(r"(.)(.) (.*)", re.DOTALL)
_UNMERGED = {"DD", "AU", "UD", "UA", "DU", "AA", "UU"}
_MINE = re.compile(
    r"(?:base|overlays|workflows)/.+|clusters/[^/]+/(?:cluster\.yaml|(?:argocd|bootstrap)/.+)"
    rf"|gen\.lock|{re.escape(SCHEMA)}"
)


class Status(Struct, frozen=True):
    """What differs from HEAD, as paths from the repository's root: what is `staged`, what has an unsettled conflict
    (`unmerged`), and what the working tree holds otherwise (`changed`); those of `changed` that Git does not know yet
    are `new`.
    """

    staged: tuple[str, ...]
    unmerged: tuple[str, ...]
    changed: tuple[str, ...]
    new: frozenset[str]

    @property
    def mine(self) -> list[str]:
        """What belongs into a commit of gen's."""
        return [path for path in self.changed if belongs(path, new=path in self.new)]

    @property
    def others(self) -> list[str]:
        """What stays as it is."""
        return [path for path in self.changed if not belongs(path, new=path in self.new)]


def belongs(path: str, *, new: bool) -> bool:
    """Tell whether a changed file belongs into a commit of gen's: cluster files, what is generated of them with what
    users keep in `custom/` there, and files that gen makes once, when it has just made them.
    """
    return _MINE.fullmatch(path) is not None or (new and path in scaffold())


def status(git: GitCommands) -> Status:
    """Compare the working tree with HEAD. Raises UsageError where Git cannot."""
    found = [*_entries(git, git.place.prefix)]
    return Status(
        staged=tuple(path for both, path in found if both not in _UNMERGED and (both[0] not in " ?" or both[1] == "A")),
        unmerged=tuple(path for both, path in found if both in _UNMERGED),
        changed=tuple(path for both, path in found if both[1] != " "),
        new=frozenset(path for both, path in found if both == "??"),
    )


def dirty(git: GitCommands) -> set[str]:
    """Return all that differs from HEAD, as paths from the working tree's top."""
    return {path for _, path in _entries(git, "")}


def untracked(git: GitCommands, paths: Collection[str]) -> set[str]:
    """Return those of some paths, from the working tree's top, where something stands that HEAD does not have, ignored
    or not.
    """
    listing = git.run("Git cannot list the files", "ls-tree", "-r", "-z", "--full-tree", "--name-only", "HEAD")
    known = {*listing.split("\0")}
    return {path for path in {*paths} - known if _stands(git.place.top, path)}


def _stands(top: Path, path: str) -> bool:
    """Tell whether a file, or another one in the place of one of its folders, would be overwritten."""
    above = (top / folder for folder in PurePosixPath(path).parents)
    return os.path.lexists(top / path) or any(folder.is_symlink() or folder.is_file() for folder in above)


def _entries(git: GitCommands, prefix: str) -> Iterator[tuple[str, str]]:
    words = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    for entry in filter(None, git.run("Git cannot tell what was changed", *words).split("\0")):
        if (found := _ENTRY.fullmatch(entry)) and found[3].startswith(prefix):
            yield found[1] + found[2], found[3].removeprefix(prefix)


def refuse_unready(git: GitCommands) -> None:
    """Raise UsageError where nothing can be committed as it stands: something is under way or staged, no branch is
    checked out, or nobody is named as the author.
    """
    now = status(git)
    _refuse_under_way(git.place, now)
    if not branch(git):
        raise UsageError(
            "HEAD is detached: a commit would be on no branch; `git switch -c NAME` makes a branch of what is checked "
            "out, `git switch NAME` goes back to one of those that `git branch` lists"
        )
    if not head(git):
        raise UsageError("nothing was committed yet; make the first commit yourself: `git add --all && git commit`")
    if now.staged:
        raise UsageError(
            f"{several(now.staged)}: staged, and gen commit makes a commit of its own; `git commit` commits what is "
            "staged, `git restore --staged .` takes it back, files stay as they are"
        )
    _refuse_nobody(git)


def _refuse_under_way(place: GitFolder, now: Status) -> None:
    found = next(iter(place.under_way), None)
    if now.unmerged:
        end = f"then {found.ways}" if found else "then run again"
        raise UsageError(
            f"{several(now.unmerged)}: has a conflict that is not settled; settle it, `git add` the file, {end}"
        )
    if found:
        raise UsageError(f"{found.name} is in progress; {found.ways}")


def _refuse_nobody(git: GitCommands) -> None:
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        # Git would guess a name from the machine's: nobody could be asked later.
        if git.ask("-c", "user.useConfigOnly=true", "var", who).status:
            raise UsageError(
                "Git does not know who commits here; tell it: `git config --global user.name 'Your Name'` and "
                "`git config --global user.email you@example.org`"
            )


def branch(git: GitCommands) -> str:
    """Return the branch that is checked out, "" with a detached HEAD."""
    return git.value("symbolic-ref", "--quiet", "--short", "HEAD")


def head(git: GitCommands) -> str:
    """Return the full name of HEAD's commit, "" before the first."""
    return git.value("rev-parse", "--verify", "--quiet", "HEAD")


def ignored(git: GitCommands) -> list[str]:
    """Return the generated files that stand and that Git is told to ignore: Argo CD would miss them."""
    top = f":(top,literal){git.place.prefix}"
    words = ("ls-files", "--others", "--ignored", "--exclude-standard", "--full-name", "-z", "--")
    places = [f"{top}{name}" for name in ("base", "overlays", "clusters", "workflows", "gen.lock")]
    listing = git.run("Git cannot tell what it ignores", *words, *places)
    paths = (path.removeprefix(git.place.prefix) for path in listing.split("\0") if path)
    return [path for path in paths if belongs(path, new=True) and "/custom/" not in path]
