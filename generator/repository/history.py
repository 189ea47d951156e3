"""Reading commits."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

from msgspec import Struct

from generator.errors import CommandError, UsageError
from generator.repository.git_folder import GitFolder
from generator.repository.git_reading import GitReader, Object

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
        self._git = GitReader(place)
        self.head = self._head()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._git.close()

    def read(self, commit: str, path: str) -> bytes | None:
        """Return a file as it was at `commit`, None where there was none."""
        if "\n" in path:  # which would end a name
            identity = self.identities(commit, [path]).get(path)
            return None if identity is None else self.content(identity)
        try:
            found = self._git.object(f"{commit}:{self._place.prefix}{path}")
        except UsageError as error:
            raise UsageError(f"{self._place.top}: Git cannot read {path} at {commit}: {error}") from None
        return found.content if found and found.kind == "blob" else None

    def files(self, commit: str, folder: str) -> list[str]:
        """List the files below `folder` at `commit`."""
        prefix = self._place.prefix
        listing = self._say("ls-tree", "-r", "-z", "--name-only", commit, "--", f"{prefix}{folder}/")
        return [name.removeprefix(prefix) for name in listing.split("\0") if name]

    def content(self, identity: str) -> bytes:
        """Return the content that Git knows by this name. Raises `UsageError` where it does not have it."""
        kind, content = self._object(identity)
        return content if kind == "blob" else b""

    def identities(self, commit: str, places: Iterable[str]) -> dict[str, str]:
        """Return the names that Git gives to the contents of files at `commit`, by path, in some files and folders."""
        prefix = self._place.prefix
        listing = self._say("ls-tree", "-r", "-z", commit, "--", *(f"{prefix}{place}" for place in places))
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
        try:
            listing = self._git.say("grep", *words, commit, "--", *globs)
        except CommandError as error:
            if error.status == 1 and not error.output:  # nothing was found
                return set()
            raise _refusal(self._place, error) from None
        return {name.removeprefix(f"{commit}:{prefix}") for name in listing.split("\0") if name}

    def differing(self, one: str, other: str) -> set[str]:
        """Return the files that are not the same at two commits. What folders have in common is not even looked at."""
        prefix = self._place.prefix
        # `git diff-tree` would read the index as well, which takes longer than all else in a large repository.
        words = ("-z", "--name-only", "--no-renames", "--ignore-submodules=none", one, other)
        listing = self._say("diff", *words, "--", f":(top){prefix}")
        return {name.removeprefix(prefix) for name in listing.split("\0") if name}

    def changed_since(self, commit: str) -> set[str]:
        """Return the files of the working tree that are not as at `commit`, those that Git does not know yet too, but
        for what it is told to ignore.
        """
        prefix, top = self._place.prefix, f":(top){self._place.prefix}"
        listings = (
            self._say("diff", "--name-only", "--no-renames", "-z", commit, "--", top),
            self._say("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", top),
        )
        return {name.removeprefix(prefix) for listing in listings for name in listing.split("\0") if name}

    def differs(self, commit: str, folders: Iterable[Path]) -> bool:
        """Tell whether the files in some folders of the working tree are not as at `commit`, but for what Git is told
        to ignore; False for folders that lie elsewhere.
        """
        top = Path(self._place.top).resolve()
        below = [one.relative_to(top) for one in folders if one.is_relative_to(top)]
        places = [f":(top){one.as_posix()}" for one in below]
        return bool(places) and bool(
            self._say("diff", "--name-only", "--no-renames", commit, "--", *places)
            or self._say("ls-files", "--others", "--exclude-standard", "--full-name", "--", *places)
        )

    def commit(self, name: str) -> str:
        """Return the full name of a branch, tag or commit. Raises `UsageError` where there is none."""
        try:
            return self._git.say("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except CommandError:
            raise UsageError(f"{name}: Git knows no such commit here; {self._elsewhere()}") from None

    def _elsewhere(self) -> str:
        """Say where a commit may be that is not here: by a part of its name no remote gives it."""
        remote = next(iter(self._say("remote").split()), None)
        if remote is None:
            return "`git log --all` lists those that are, and there is no remote to fetch another from"
        shallow = (self._place.common_dir / "shallow").exists()
        fetch = "git fetch --unshallow" if shallow else "git fetch --all --tags"
        return f"`{fetch}` may bring it; a branch that only the remote has is called {remote}/NAME"

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the newest commit that both come from, None where there is none here."""
        try:
            return self._git.say("merge-base", one, other) or None
        except CommandError:
            return None

    def ahead(self, old: str, new: str) -> int | None:
        """Return how many commits of `new` are not in `old`, None where Git does not know one of them here."""
        try:
            return int(self._git.say("rev-list", "--count", "--end-of-options", f"{old}..{new}"))
        except CommandError:
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
        listing = self._say("log", f"--format=%H%x00%an%x00{values}%x02", f"{base}..{head}")
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
        return self._say("rev-list", "-1", commit, "--", f":(literal){self._place.prefix}{path}") or None

    def parents(self, commit: str) -> list[str]:
        """Return the commits that `commit` came from."""
        # As the commit says: to Git's commands a shallow clone's last commit has none.
        lines = self._object(commit).content.partition(b"\n\n")[0].splitlines()
        return [line.removeprefix(b"parent ").decode() for line in lines if line.startswith(b"parent ")]

    def author(self, commit: str) -> str:
        """Return the author's name, empty where none is written."""
        return self._say("show", "--no-patch", "--no-show-signature", "--format=%an", commit)

    def cut_off(self, commit: str) -> bool:
        """Whether this is where a shallow clone ends: its parents exist, but not here."""
        shallow = self._place.common_dir / "shallow"
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
        try:
            head = self._git.say("rev-parse", "--verify", "--quiet", "HEAD")
        except CommandError as error:
            if not error.output:
                return None
            raise _refusal(self._place, error) from None
        if len(head) != 40:
            raise UsageError(f"{self._place.top}: the repository uses SHA-256 names, which gen cannot read")
        return head

    def _say(self, *words: str) -> str:
        try:
            return self._git.say(*words)
        except CommandError as error:
            raise _refusal(self._place, error) from None

    def _object(self, identity: str) -> Object:
        try:
            found = self._git.object(identity)
        except UsageError as error:
            raise UsageError(f"{self._place.top}: Git cannot read {identity}: {error}") from None
        if found is None:
            raise UsageError(f"{self._place.top}: Git cannot read {identity}: it is missing")
        return found


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


def _refusal(place: GitFolder, error: CommandError) -> UsageError:
    words = error.output
    if "dubious ownership" in words:
        return UsageError(
            f"{place.top}: Git does not read a repository that belongs to another user; if you trust it, run "
            f"`git config --global --add safe.directory {place.top}`"
        )
    if "not a git repository" in words:
        return UsageError(f"{place.top}: {place.git_dir} is not a Git folder that can be read")
    return UsageError(f"{place.top}: Git cannot read the repository: {words.strip()}")
