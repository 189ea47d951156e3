"""Reading commits."""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from generator.errors import UsageError
from generator.repository.git_folder import LEADING, GitFolder

if TYPE_CHECKING:
    from git import Repo
    from git.exc import GitCommandError

USUAL = ("main", "master")
"""Names of the branch that others merge into, where nobody says."""


class Trailer(Struct, frozen=True):
    """What a commit's message says behind a key, in its last paragraph."""

    commit: str
    author: str
    value: str


class History:
    """The commits of one repository; paths are relative to the folder that `place` was located for.

    `head` is the full name of HEAD's commit, None before the first. Every method raises `UsageError` with Git's own
    words when Git cannot or will not read. Used with `with`: it keeps a Git process running.
    """

    def __init__(self, place: GitFolder) -> None:
        self._place = place
        self._repo = open_repository(place)
        try:
            self.head = self._head()
        except BaseException:
            self._repo.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._repo.close()

    def read(self, commit: str, path: str) -> bytes | None:
        """Return a file as it was at `commit`, None where there was none."""
        try:
            _, kind, _, content = self._repo.git.get_object_data(f"{commit}:{self._place.prefix}{path}")
        except (ValueError, OSError) as error:
            if " missing" in str(error):
                return None
            raise UsageError(f"{self._place.top}: Git cannot read {path} at {commit}: {error}") from None
        # GitPython says text and returns bytes.
        return content if kind in {"blob", b"blob"} else None

    def files(self, commit: str, folder: str) -> list[str]:
        """List the files below `folder` at `commit`."""
        prefix = self._place.prefix
        listing = self._git("ls-tree", "-r", "-z", "--name-only", commit, "--", f"{prefix}{folder}/")
        return [name.removeprefix(prefix) for name in listing.split("\0") if name]

    def content(self, identity: str) -> bytes:
        """Return the content that Git knows by this name. Raises `UsageError` where it does not have it."""
        try:
            _, kind, _, content = self._repo.git.get_object_data(identity)
        except (ValueError, OSError) as error:
            raise UsageError(f"{self._place.top}: Git cannot read {identity}: {error}") from None
        return content if kind in {"blob", b"blob"} else b""

    def identities(self, commit: str, places: Iterable[str]) -> dict[str, str]:
        """Return the names that Git gives to the contents of files at `commit`, by path, in some files and folders."""
        prefix = self._place.prefix
        listing = self._git("ls-tree", "-r", "-z", commit, "--", *(f"{prefix}{place}" for place in places))
        rows = (row.partition("\t") for row in listing.split("\0") if row)
        found = {path.removeprefix(prefix): about.split()[2] for about, _, path in rows}
        if odd := next((path for path in found if not {"", ".", ".."}.isdisjoint(path.split("/"))), None):
            raise UsageError(f"{odd}: no file of a repository may lie there; `git fsck` tells more")
        return found

    def saying(self, commit: str, pattern: str, places: Iterable[str], but: str = "^$") -> set[str]:
        """Return the files at `commit` in which a line matches an extended regular expression, and not another one;
        `places` are patterns of paths, in which `**` stands for any folders.
        """
        prefix = self._place.prefix
        globs = (f":(top,glob){prefix}{place}" for place in places)
        words = ("-z", "-l", "-E", "-e", pattern, "--and", "--not", "-e", but)
        listing = self._ask("grep", *words, commit, "--", *globs)
        return {name.removeprefix(f"{commit}:{prefix}") for name in listing.split("\0") if name}

    def differing(self, one: str, other: str) -> set[str]:
        """Return the files that are not the same at two commits. What folders have in common is not even looked at."""
        prefix = self._place.prefix
        words = ("-r", "-z", "--no-renames", "--name-only", one, other)
        listing = self._git("diff-tree", *words, "--", f":(top){prefix}")
        return {name.removeprefix(prefix) for name in listing.split("\0") if name}

    def changed_since(self, commit: str) -> set[str]:
        """Return the files of the working tree that are not as at `commit`, those that Git does not know yet too, but
        for what it is told to ignore.
        """
        prefix, top = self._place.prefix, f":(top){self._place.prefix}"
        listings = (
            self._git("diff", "--name-only", "--no-renames", "-z", commit, "--", top),
            self._git("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", top),
        )
        return {name.removeprefix(prefix) for listing in listings for name in listing.split("\0") if name}

    def commit(self, name: str) -> str:
        """Return the full name of a branch, tag or commit. Raises `UsageError` where there is none."""
        from git.exc import GitCommandError  # noqa: PLC0415 - slow to import

        try:
            return str(self._repo.git.rev_parse("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"))
        except GitCommandError:
            shallow = (Path(self._repo.common_dir) / "shallow").exists()
            fetch = "git fetch --unshallow" if shallow else f"git fetch origin {name}"
            raise UsageError(f"{name}: Git knows no such commit here; `{fetch}` may bring it") from None

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the newest commit that both come from, None where there is none here."""
        from git.exc import GitCommandError  # noqa: PLC0415 - slow to import

        try:
            return str(self._repo.git.merge_base(one, other)) or None
        except GitCommandError:
            return None

    def ahead(self, old: str, new: str) -> int | None:
        """Return how many commits of `new` are not in `old`, None where Git does not know one of them here."""
        from git.exc import GitCommandError  # noqa: PLC0415 - slow to import

        try:
            return int(self._repo.git.rev_list("--count", "--end-of-options", f"{old}..{new}"))
        except GitCommandError:
            return None

    def main_branch(self) -> str | None:
        """Return the name of the branch that others merge into: what the remote says, else `main` or `master`."""
        for name in ("origin/HEAD", *(f"origin/{each}" for each in USUAL), *USUAL):
            with suppress(UsageError):
                self.commit(name)
                return name
        return None

    def trailers(self, base: str, head: str, key: str) -> list[Trailer]:
        """Return what the commits after `base` up to `head` say behind a key, where Git looks for such lines: in the
        last paragraph of the message.
        """
        values = f"%(trailers:key={key},valueonly,unfold,separator=%x01)"
        listing = self._git("log", f"--format=%H%x00%an%x00{values}%x02", f"{base}..{head}")
        rows = (row.strip("\n").split("\0") for row in listing.split("\2"))
        found = (
            (commit, author, value)
            for commit, author, values in (row for row in rows if len(row) == 3)
            for value in values.split("\1")
        )
        return [Trailer(*each) for each in found if each[2].strip()]

    def touched(self, commit: str, path: str) -> str | None:
        """Return the last commit up to `commit` that changed `path`.

        It is a merge only when the file differs from all its parents'.
        """
        return self._git("rev-list", "-1", commit, "--", f":(literal){self._place.prefix}{path}") or None

    def parents(self, commit: str) -> list[str]:
        """Return the commits that `commit` came from."""
        return [parent.hexsha for parent in self._repo.commit(commit).parents]

    def author(self, commit: str) -> str:
        """Return the author's name, empty where none is written."""
        return self._repo.commit(commit).author.name or ""

    def cut_off(self, commit: str) -> bool:
        """Whether this is where a shallow clone ends: its parents exist, but not here."""
        shallow = Path(self._repo.common_dir) / "shallow"
        return shallow.exists() and commit in shallow.read_text(encoding="ascii").split()

    def others(self) -> list[str] | None:
        """Return the commits that HEAD is being combined with (merge, rebase, cherry-pick), None when it is not."""
        combining = [one for one in self._place.under_way if one.combines]
        if not combining:
            return None
        named = [self._place.git_dir / one.other for one in combining if one.other]
        named = [file for file in named if file.exists()]
        return [commit for file in named for commit in file.read_text(encoding="ascii").split()]

    def _head(self) -> str | None:
        from git.exc import GitCommandError  # noqa: PLC0415 - slow to import

        try:
            head = str(self._repo.git.rev_parse("--verify", "--quiet", "HEAD"))
        except GitCommandError as error:
            if not error.stderr:
                return None
            raise _refusal(self._place, error) from None
        if len(head) != 40:
            raise UsageError(f"{self._place.top}: the repository uses SHA-256 names, which gen cannot read")
        return head

    def _ask(self, command: str, *words: str) -> str:
        """Return what Git says; nothing where it finds nothing, which it tells by its status."""
        from git.exc import GitCommandError  # noqa: PLC0415 - slow to import

        try:
            return str(getattr(self._repo.git, command)(*words))
        except GitCommandError as error:
            if error.status == 1 and not error.stderr:
                return ""
            raise _refusal(self._place, error) from None

    def _git(self, command: str, *words: str) -> str:
        from git.exc import GitCommandError  # noqa: PLC0415 - slow to import

        try:
            return str(getattr(self._repo.git, command.replace("-", "_"))(*words))
        except GitCommandError as error:
            raise _refusal(self._place, error) from None


class Snapshot:
    """The files of one commit, for rendering it again."""

    def __init__(self, history: History, commit: str) -> None:
        self._history = history
        self.commit = commit

    def read(self, path: str) -> bytes | None:
        """Return a file, None where there was none."""
        return self._history.read(self.commit, path)

    def files(self, folder: str) -> list[str]:
        """List the files below `folder`, all their folders included in the names."""
        return self._history.files(self.commit, folder)


def open_repository(place: GitFolder) -> "Repo":
    """Open a repository, whatever the environment says of others. Raises UsageError where there is no Git, or nothing
    that it can read.
    """
    for name in LEADING:
        os.environ.pop(name, None)
    try:
        from git import Repo  # noqa: PLC0415 - slow to import
        from git.exc import InvalidGitRepositoryError  # noqa: PLC0415
    except ImportError:
        raise UsageError("`git` was not found; install it or put it on PATH") from None
    try:
        return Repo(place.top)
    except InvalidGitRepositoryError:
        raise UsageError(f"{place.top}: {place.git_dir} is not a Git folder that can be read") from None


def _refusal(place: GitFolder, error: "GitCommandError") -> UsageError:
    words = str(error.stderr)
    if "dubious ownership" in words:
        return UsageError(
            f"{place.top}: Git does not read a repository that belongs to another user; if you trust it, run "
            f"`git config --global --add safe.directory {place.top}`"
        )
    text = re.search(r"'(.*)'", words, re.DOTALL)
    return UsageError(f"{place.top}: Git cannot read the repository: {text[1].strip() if text else words}")
