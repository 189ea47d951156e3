"""Putting commits on top of others', beside the user's working tree."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from generator.layout.lock import LOCK
from generator.repository.commits import commits_after
from generator.repository.git_commands import GitCommands, GitRefusalError, listed
from generator.repository.git_folder import GitFolder, locate
from generator.repository.hand_edits import several
from generator.repository.working_tree import belongs, status

# What was committed before stands as it was: hooks are asked again for what is rendered on top.
_PLAIN = ("-c", "rerere.enabled=false", "-c", "core.hooksPath=/dev/null")

_TREE = "tree"
_OURS = re.compile(rf"^worktree (.+/gen-[^/\n]+/{_TREE})$", re.MULTILINE)


class ConflictError(GitRefusalError):
    """Two people changed the same lines of a file that only people can settle."""


@contextmanager
def beside(git: GitCommands, commit: str) -> Iterator[GitCommands]:
    """Yield a working tree of its own, with `commit` checked out; it is gone after the block."""
    _forget_gone(git)
    with TemporaryDirectory(prefix="gen-") as folder:
        place = Path(folder).resolve() / _TREE
        git.run("Git cannot check out the commit beside", "worktree", "add", "--quiet", "--detach", str(place), commit)
        try:
            found = locate(place)
            assert found is not None  # noqa: S101 - Git has just made it
            with GitCommands(GitFolder(found.top, found.git_dir, git.place.prefix)) as there:
                yield there
        finally:
            git.ask("worktree", "remove", "--force", "--force", str(place))


def _forget_gone(git: GitCommands) -> None:
    """Forget working trees of ours whose folder is gone, as after a kill and a restart; nobody else's, which may lie on
    a disk that is not there now.
    """
    for path in _OURS.findall(git.value("worktree", "list", "--porcelain")):
        if not Path(path).exists():
            # Forced once: one that another gen is making at this moment is locked, and stays.
            git.ask("worktree", "remove", "--force", path)


def rebase(git: GitCommands, onto: str) -> None:
    """Put HEAD's commits on top of `onto`, empty ones as well. Generated files are then as in `onto`, at each of them,
    to be rendered again: what Git merges of them as text may be what neither side renders. Raises ConflictError where
    both changed the same lines of any other file; commits stay as they are.
    """
    if git.value("rev-list", "--merges", f"{onto}..HEAD"):
        raise GitRefusalError("the branch has a merge of its own, which gen does not put on top of others' commits")
    commits = reversed(commits_after(git, onto, "HEAD"))
    git.run("Git cannot check out others' commits beside", "checkout", "--quiet", "--detach", onto)
    for commit in commits:
        _pick(git, commit, onto)


def _pick(git: GitCommands, commit: str, onto: str) -> None:
    answer = git.ask(*_PLAIN, "cherry-pick", "--no-commit", commit)
    now = status(git)
    if answer.status and not now.unmerged:
        raise GitRefusalError(f"Git cannot put the commits on top of others':\n{answer.words.strip()}")
    if for_people := [path for path in now.unmerged if not _generated(path)]:
        raise ConflictError(several(for_people))
    if generated := sorted(filter(_generated, {*now.unmerged, *now.staged})):
        take(git, generated, onto)
    words = ("--no-verify", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim")
    git.run(
        "Git cannot put the commits on top of others'",
        *_PLAIN,
        "commit",
        "--quiet",
        *words,
        f"--reuse-message={commit}",
    )


def revert(git: GitCommands, commit: str) -> None:
    """Take a commit back in the working tree, of a merge all that it brought; nothing is staged after it. Generated
    files are as in HEAD, to be rendered again. Raises ConflictError where later commits changed the same lines of any
    other file.
    """
    merge = git.value("rev-parse", "--verify", "--quiet", f"{commit}^2")
    mainline = ("--mainline", "1") if merge else ()
    answer = git.ask(*_PLAIN, "revert", "--no-commit", *mainline, commit)
    now = status(git)
    if answer.status and not now.unmerged:
        raise GitRefusalError(f"Git cannot take {commit[:9]} back:\n{answer.words.strip()}")
    if for_people := [path for path in now.unmerged if not _generated(path)]:
        raise ConflictError(
            f"{several(for_people)}: later commits changed the same lines as {commit[:9]}, so that only a person can "
            f"take it back: `git revert {commit[:9]}`, settle the conflict, then `gen render` and `gen commit`"
        )
    if generated := sorted(filter(_generated, {*now.unmerged, *now.staged})):
        take(git, generated, "HEAD")
    git.run("Git cannot empty the index", "reset", "--quiet")


def take(git: GitCommands, paths: Sequence[str], onto: str) -> None:
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
