"""Where Git keeps its files for a folder, found without starting Git."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from generator.errors import UsageError

LEADING = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_CONFIG"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE"),
    *("GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"),
)
"""Variables by which Git, in a hook for example, would take another repository than the one that is meant, another
index, or paths for something else (git(1), "Environment Variables").
"""


class Operation(Struct, frozen=True):
    """Something that Git does in steps: what it is, how to end it, how to leave it. It `combines` two histories, or
    not; `other` is the file that names the commit of the other one, None where there is none to look at.
    """

    name: str
    end: str
    leave: str
    combines: bool = True
    other: str | None = None

    @property
    def ways(self) -> str:
        """How to be done with it."""
        end = f"end it with `{self.end}`"
        return end if self.end == self.leave else f"{end} or leave it with `{self.leave}`"


UNDER_WAY: Mapping[str, Operation] = {
    "MERGE_HEAD": Operation("a merge", "git commit", "git merge --abort", other="MERGE_HEAD"),
    "rebase-merge": Operation("a rebase", "git rebase --continue", "git rebase --abort", other="REBASE_HEAD"),
    "rebase-apply": Operation("a rebase", "git rebase --continue", "git rebase --abort", other="REBASE_HEAD"),
    "CHERRY_PICK_HEAD": Operation(
        "a cherry-pick", "git cherry-pick --continue", "git cherry-pick --abort", other="CHERRY_PICK_HEAD"
    ),
    "REVERT_HEAD": Operation("a revert", "git revert --continue", "git revert --abort"),
    "BISECT_LOG": Operation("a bisection", "git bisect reset", "git bisect reset", combines=False),
}
"""What stands in Git's folder while it does something in steps."""


class GitFolder(Struct, frozen=True):
    """A folder in a Git working tree.

    `top` is the working tree's root, `prefix` the way from there to the folder ("" or ending in a slash) and
    `git_dir` Git's own folder (of a linked worktree: its part of it).
    """

    top: Path
    git_dir: Path
    prefix: str

    @property
    def common_dir(self) -> Path:
        """Git's own folder, of all linked worktrees together."""
        parted = self.git_dir / "commondir"
        return self.git_dir / parted.read_text(encoding="utf-8").strip() if parted.exists() else self.git_dir

    @property
    def under_way(self) -> list[Operation]:
        """What Git does there in steps and has not ended."""
        return [operation for sign, operation in UNDER_WAY.items() if (self.git_dir / sign).exists()]


def locate(root: Path) -> GitFolder | None:
    """Find the working tree that holds `root`, None outside of Git.

    Raises `UsageError` in a bare repository and for a `.git` file that leads nowhere.
    """
    root = root.resolve()
    for top in (root, *root.parents):
        git_dir = _git_dir(top)
        if git_dir is not None:
            prefix = "" if top == root else f"{root.relative_to(top).as_posix()}/"
            return GitFolder(top, git_dir, prefix)
        if _holds_git(top):
            raise UsageError(f"{top}: this is a bare Git repository; run gen in a clone with a working tree")
    return None


def unborn(place: GitFolder) -> bool:
    """Tell whether the branch that is checked out has no commit yet, as far as that can be told without Git."""
    branch = (place.git_dir / "HEAD").read_text(encoding="utf-8", errors="replace").removeprefix("ref: ").strip()
    common = place.common_dir
    packed = common / "packed-refs"
    known = packed.read_text(encoding="utf-8", errors="replace") if packed.exists() else ""
    in_tables = (common / "reftable").exists()
    return branch.startswith("refs/") and not in_tables and not (common / branch).exists() and branch not in known


def _git_dir(top: Path) -> Path | None:
    git = top / ".git"
    if git.is_dir():
        return git if _holds_git(git) else None
    try:
        text = git.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{git}: cannot be read: {error.strerror}") from None
    git_dir = top / text.removeprefix("gitdir:").strip()
    if not text.startswith("gitdir:") or not (git_dir / "HEAD").exists():
        raise UsageError(f"{git}: does not lead to a Git folder; `git worktree repair` may mend it")
    return git_dir.resolve()


def _holds_git(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
