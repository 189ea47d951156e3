"""Putting commits on top of others', beside the user's working tree."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from generator.layout.lock import LOCK
from generator.repository.commits import between
from generator.repository.git_commands import GitCommands, GitRefusalError, listed
from generator.repository.git_folder import GitFolder, locate
from generator.repository.hand_edits import several
from generator.repository.working_tree import belongs, status

# The user's settings may not move other branches, reorder commits or put work aside.
_PLAIN = ("rebase.updateRefs=false", "rebase.autoSquash=false", "rebase.autoStash=false", "rerere.enabled=false")


class ConflictError(GitRefusalError):
    """Two people changed the same lines of a file that only people can settle."""


@contextmanager
def beside(git: GitCommands, commit: str) -> Iterator[GitCommands]:
    """Yield a working tree of its own, with `commit` checked out; it is gone after the block."""
    with TemporaryDirectory(prefix="gen-") as folder:
        place = Path(folder).resolve() / "tree"
        git.run("Git cannot check out the commit beside", "worktree", "add", "--quiet", "--detach", str(place), commit)
        try:
            found = locate(place)
            assert found is not None  # noqa: S101 - Git has just made it
            with GitCommands(GitFolder(found.top, found.git_dir, git.place.prefix)) as there:
                yield there
        finally:
            git.ask("worktree", "remove", "--force", "--force", str(place))


def rebase(git: GitCommands, onto: str) -> None:
    """Put HEAD's commits on top of `onto`. Generated files are then as in `onto`, to be rendered again: what Git merges
    of them as text may be what neither side renders. Raises ConflictError where both changed the same lines of any
    other file; commits stay as they are.
    """
    if git.value("rev-list", "--merges", f"{onto}..HEAD"):
        raise GitRefusalError("the branch has a merge of its own, which gen does not put on top of others' commits")
    settings = [word for each in _PLAIN for word in ("-c", each)]
    answer = git.ask(*settings, "rebase", "--quiet", "--empty=keep", "--reapply-cherry-picks", onto)
    while answer.status:
        now = status(git)
        if not now.unmerged:
            raise GitRefusalError(f"Git cannot put the commits on top of others':\n{answer.words.strip()}")
        if for_people := [path for path in now.unmerged if not _generated(path)]:
            raise ConflictError(several(for_people))
        _take(git, now.unmerged, onto)
        answer = git.ask(*settings, "rebase", "--continue")
    touched = between(git, onto, "HEAD")
    paths = (path.removeprefix(git.place.prefix) for path in touched if path.startswith(git.place.prefix))
    if generated := sorted(filter(_generated, paths)):
        _take(git, generated, onto)
        words = ("commit", "--quiet", "--amend", "--allow-empty", "--no-verify", "--no-edit")
        git.run("Git cannot put the commits on top of others'", *words)


def _take(git: GitCommands, paths: Sequence[str], onto: str) -> None:
    """Take files as they are in `onto`, where some are not."""
    prefix = git.place.prefix
    known = set(git.run("Git cannot list the files", "ls-tree", "-r", "-z", "--name-only", onto).split("\0"))
    names = [f"{prefix}{path}" for path in paths]
    literal = ("-C", str(git.place.top), "--literal-pathspecs")
    if there := [name for name in names if name in known]:
        with listed(there) as words:
            git.run("Git cannot take the file", *literal, "checkout", onto, *words)
    if gone := [name for name in names if name not in known]:
        with listed(gone) as words:
            git.run("Git cannot remove the file", *literal, "rm", "--quiet", "--force", "--ignore-unmatch", *words)


def _generated(path: str) -> bool:
    """Tell whether a render makes a file anew, from cluster files and what stands vendored."""
    parts = path.split("/")
    kept = {"custom", "upstream"} & {*parts[:-1]} or parts[3:4] == ["crds"] or path == LOCK
    return belongs(path, new=False) and not kept and parts[-1] != "cluster.yaml"
