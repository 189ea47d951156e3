"""Making one commit, whole or not at all."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from generator.errors import UsageError
from generator.repository.git_commands import GitCommands, GitRefusalError, listed, written
from generator.repository.hand_edits import several
from generator.repository.history import USUAL
from generator.repository.remotes import main_told
from generator.repository.vendored import on_disk
from generator.repository.working_tree import belongs, branch, head


class Commit(Struct, frozen=True, kw_only=True):
    """A commit that was made: its full name, its branch, and whether that is new."""

    name: str
    branch: str
    new_branch: bool = False


def is_main(git: GitCommands, name: str, remote: str) -> bool:
    """Tell whether others merge into this branch: the remote says so, or its name does."""
    told = main_told(git, remote) if remote else ""
    usual = {*USUAL, git.value("config", "init.defaultBranch")}
    return name == told if told else name in usual


def free_name(git: GitCommands, name: str, remote: str) -> str:
    """Return the name for a new branch, with a number where it is taken, here or on the remote as last seen."""
    listing = git.value("for-each-ref", "--format=%(refname)", "refs/heads", f"refs/remotes/{remote or 'origin'}")
    # On a remote the name comes after the remote's.
    taken = {line.split("/", 2)[2] for line in listing.splitlines() if line.startswith("refs/heads/")}
    taken |= {line.split("/", 3)[3] for line in listing.splitlines() if line.startswith("refs/remotes/")}
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found


def refuse_branch(git: GitCommands, name: str) -> None:
    """Raise UsageError for a name that no branch can have, or that another branch has."""
    if git.ask("check-ref-format", "--branch", name).status or name.startswith("-"):
        raise UsageError(f"--branch {name}: no branch can be called so; take letters, digits, hyphens and slashes")
    if name != branch(git) and git.value("rev-parse", "--verify", "--quiet", f"refs/heads/{name}"):
        raise UsageError(f"--branch {name}: there is such a branch; `git switch {name}` goes to it, or take another")


def commit(git: GitCommands, files: Mapping[str, bytes | None], message: str, on: str) -> Commit:
    """Commit these files on the branch `on`, which is the one checked out or a new one; hooks run. Raises
    GitRefusalError where Git or a hook refuses, or where a file does not say what is given for it (None: it is gone):
    branch and index are then as before.
    """
    before, start = branch(git), head(git)
    try:
        if on != before:
            git.run(f"the branch {on} cannot be made", "switch", "--quiet", "--no-track", "--create", on)
        name = _committed(git, files, message, ())
    except BaseException:
        _undo(git, start, before, on)
        raise
    return Commit(name=name, branch=on, new_branch=on != before)


def amend(git: GitCommands, files: Mapping[str, bytes | None], message: str | None) -> str:
    """Make these files part of HEAD's commit, with another message where one is given. Raises as `commit`."""
    return _committed(git, files, message, ("--amend", "--allow-empty"))


def _committed(git: GitCommands, files: Mapping[str, bytes | None], message: str | None, how: tuple[str, ...]) -> str:
    prefix = git.place.prefix
    if files:
        with listed(f"{prefix}{path}" for path in files) as words:
            top = ("-C", str(git.place.top), "--literal-pathspecs")
            git.run("Git does not take the files", *top, "add", "--all", "--force", *words)
    now = on_disk(git.place.top / prefix)
    refuse_changed_meanwhile(path for path, content in files.items() if now(path) != content)
    staged = git.run("Git cannot write the commit", "write-tree")
    with written(message or "") as file:
        text = ("--cleanup=whitespace", f"--file={file}") if message else ("--no-edit",)
        git.run("Git or a hook refused the commit, and nothing was committed", "commit", "--quiet", *how, *text)
    _refuse_changed_by_hooks(git, staged)
    return head(git)


def refuse_changed_meanwhile(paths: Iterable[str]) -> None:
    """Raise GitRefusalError for files that are not what was judged."""
    if changed := [*paths]:
        raise GitRefusalError(
            f"{several(changed)}: changed after gen had looked at it, so that nobody knows what it does; nothing was "
            "committed; run again"
        )


def _refuse_changed_by_hooks(git: GitCommands, staged: str) -> None:
    """Raise GitRefusalError where a hook changed what gen wrote, as formatters do; other files it may."""
    changed = git.run("Git cannot read the commit", "diff", "--name-only", "--no-renames", "-z", staged, "HEAD")
    prefix = git.place.prefix
    names = [name.removeprefix(prefix) for name in changed.split("\0") if name.startswith(prefix) and name]
    if mine := [name for name in names if belongs(name, new=False)]:
        raise GitRefusalError(
            f"{several(mine)}: a hook changed it on the way into the commit, so that it is not what gen wrote; nothing "
            "was committed; leave generated folders out of that hook, as .prettierignore and .yamllint do"
        )


def _undo(git: GitCommands, start: str, before: str, on: str) -> None:
    """Put branch and index back; the working tree stays as it was rendered."""
    if on != before:
        git.ask("symbolic-ref", "HEAD", f"refs/heads/{before}")
        git.ask("update-ref", "-d", f"refs/heads/{on}")
    elif head(git) != start:
        git.ask("reset", "--quiet", "--soft", start)
    git.ask("reset", "--quiet")


def between(git: GitCommands, old: str, new: str) -> set[str]:
    """Return the paths, from the working tree's top, that differ between two commits."""
    listing = git.run("Git cannot compare", "diff", "--name-only", "--no-renames", "-z", old, new)
    return {name for name in listing.split("\0") if name}


def is_empty(git: GitCommands, commit: str) -> bool:
    """Tell whether a commit changes nothing."""
    return git.value("rev-parse", f"{commit}^{{tree}}") == git.value("rev-parse", f"{commit}^^{{tree}}")


def stands_on(git: GitCommands, commit: str, base: str) -> bool:
    """Tell whether a commit is another one, or came from it."""
    return not git.ask("merge-base", "--is-ancestor", base, commit).status


def commits_after(git: GitCommands, old: str, new: str) -> list[str]:
    """Return the commits up to `new` that `old` did not come from, the newest first."""
    return git.run("Git cannot compare", "rev-list", f"{old}..{new}").split()
