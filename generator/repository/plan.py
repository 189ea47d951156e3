"""What stands on disk beside what should stand there."""

import errno
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import translate
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from msgspec import Struct

from generator.errors import UsageError

Tree: TypeAlias = Mapping[str, bytes]
"""POSIX path relative to the repository root -> content."""

TEMPORARY = re.compile(r"\.gen-\d+~")
"""The whole name of a file that is being written; one that stands there was left by a killed run."""

_LEADS_OUT = re.compile(r"(^|/)\.{0,2}(/|$)")
"""An empty step, `.` or `..` in a path: names come from outside, too."""

_WRONG = {
    errno.ELOOP: "is a link, but gen writes plain files; remove it",
    errno.EISDIR: "is a folder, but a file belongs here; move it away",
}


class Owned(Struct, frozen=True, kw_only=True):
    """What rendering owns.

    A file below `folders`, or named in `files`, that is neither in the tree nor among those `standing` nor matched by
    a pattern of `kept` (fnmatch, where `*` crosses slashes) nor in a folder of `held` is stale.
    """

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()
    standing: frozenset[str] = frozenset()


class Change(Struct, frozen=True):
    """One file that is to change; None is a file that does not exist. A script that only lacks its run bit has the same
    content before and after.
    """

    path: str
    old: bytes | None
    new: bytes | None

    @property
    def kind(self) -> Literal["create", "update", "delete"]:
        """What happens to the file."""
        if self.old is None:
            return "create"
        return "delete" if self.new is None else "update"


class Plan(Struct, frozen=True, kw_only=True):
    """What would change, sorted by path, and how many files already stand as they should, or at all where they are made
    once.

    `temporaries` and `empty` are files and folders that a killed run left: no change, but `write` removes them.
    """

    changes: tuple[Change, ...]
    unchanged: int
    temporaries: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()


class _Found(Struct):
    """What stands below the owned folders, and which folders, these or others, do not stand at all."""

    files: list[str] = []
    temporaries: list[str] = []
    empty: list[str] = []
    walked: set[str] = set()
    absent: set[str] = set()


def runs(content: bytes) -> bool:
    """Tell whether a file is a script, which is written so that it can be run."""
    return content.startswith(b"#!")


def plan(root: Path, tree: Tree, once: Tree, owned: Owned) -> Plan:
    """Compare `tree` with what stands below `root`.

    A file of `once` is made where nothing stands and is never changed or deleted. Raises `UsageError` where a
    link leads outside `root`, where a link or a folder stands in a file's place, and for what cannot be read.
    """
    base = os.path.realpath(root)
    kept = re.compile("|".join(map(translate, owned.kept)) or r"(?!)")
    found = _find(base, owned.folders, kept, owned.held)
    _find_temporaries(base, (*tree, *once, *owned.files), found)
    rendered = list(_rendered(base, tree, found.absent))
    stale = {*found.files, *owned.files}.difference(tree, once, owned.standing)
    first = list(_first(base, once))
    changes = [*rendered, *first, *_stale(base, stale, kept)]
    _stay_inside(base, (*(change.path for change in changes), *found.temporaries, *found.empty))
    return Plan(
        changes=tuple(sorted(changes, key=lambda change: change.path)),
        unchanged=len(tree) + len(once) - len(rendered) - len(first),
        temporaries=tuple(found.temporaries),
        empty=tuple(found.empty),
    )


def _rendered(base: str, tree: Tree, absent: Collection[str]) -> Iterator[Change]:
    for path, new in tree.items():
        if _LEADS_OUT.search(path):
            raise ValueError(f"{path}: no path within a repository")
        old = None if path.rpartition("/")[0] in absent else _read(base, path, len(new))
        if old != new or (runs(new) and not os.access(f"{base}/{path}", os.X_OK)):
            yield Change(path, old, new)


def _first(base: str, once: Tree) -> Iterator[Change]:
    return (Change(path, None, new) for path, new in once.items() if not os.path.lexists(f"{base}/{path}"))


def _stale(base: str, paths: Iterable[str], kept: re.Pattern[str]) -> Iterator[Change]:
    for path in paths:
        # With the slash: a link to a folder of the user's is the user's.
        if kept.match(path) or kept.match(f"{path}/"):
            continue
        old = _read(base, path)
        if old is not None:
            yield Change(path, old, None)


def _find(base: str, folders: Iterable[str], kept: re.Pattern[str], held: Collection[str]) -> _Found:
    """Walk the owned folders without following links and without entering what is kept."""
    found = _Found()
    pending = list(folders)
    while pending:
        folder = pending.pop()
        if folder in found.walked:
            continue
        entries = _entries(base, folder)
        if entries == []:
            found.empty.append(folder)
        if entries is None:
            found.absent.add(folder)
        found.walked.add(folder)
        for entry in entries or ():
            path = f"{folder}/{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                _file(path, entry.name, found)
            elif path not in held and not kept.match(f"{path}/"):
                pending.append(path)
    return found


def _file(path: str, name: str, found: _Found) -> None:
    if not name.isprintable():
        raise UsageError(f"{path!r}: the name cannot be shown or written to a list; rename or remove the file")
    (found.temporaries if TEMPORARY.fullmatch(name) else found.files).append(path)


def _find_temporaries(base: str, paths: Iterable[str], found: _Found) -> None:
    """Look for leftovers beside files that lie outside the folders already walked."""
    for folder in {path.rpartition("/")[0] for path in paths} - found.walked:
        entries = _entries(base, folder)
        if entries is None:
            found.absent.add(folder)
        for entry in entries or ():
            if TEMPORARY.fullmatch(entry.name):
                found.temporaries.append(f"{folder}/{entry.name}".lstrip("/"))


def _entries(base: str, folder: str) -> list["os.DirEntry[str]"] | None:
    """Return what lies in `folder`, None where there is no such folder."""
    try:
        with os.scandir(f"{base}/{folder}") as entries:
            return list(entries)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refusal(base, folder, error) from None


def _read(base: str, path: str, expected: int = 0) -> bytes | None:
    """Return the content of a file, None where there is none; `expected` bytes are read at once."""
    try:
        # Without O_NONBLOCK a named pipe would be waited for.
        file = os.open(f"{base}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if stat.S_IFMT(os.fstat(file).st_mode) not in {stat.S_IFREG, stat.S_IFDIR}:
                raise UsageError(f"{path}: is a named pipe or a device, but gen writes plain files; remove it")
            content = b""
            while more := os.read(file, max(expected, len(content)) + 4096):
                content += more
            return content
        finally:
            os.close(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refusal(base, path, error) from None


def _refusal(base: str, path: str, error: OSError) -> UsageError:
    if error.errno == errno.ENOTDIR:
        above = (str(folder) for folder in (PurePosixPath(path), *PurePosixPath(path).parents))
        path = next((name for name in above if Path(base, name).is_file()), path)
        return UsageError(f"{path}: is a file, but a folder belongs here; move it away")
    wrong = _WRONG.get(error.errno or 0)
    return UsageError(f"{path}: {wrong}" if wrong else f"{path}: cannot be read: {error.strerror}")


def _stay_inside(base: str, paths: Iterable[str]) -> None:
    """Refuse a folder that a link leads out of the repository."""
    folders = {path.rpartition("/")[0] for path in paths}
    steps = {step for folder in folders for step in accumulate(folder.split("/"), "{}/{}".format)}
    links = {step for step in steps if os.path.islink(f"{base}/{step}")}  # noqa: PTH114 - a tenth of Path's time
    for link in sorted(links):
        real = os.path.realpath(f"{base}/{link}")
        if os.path.commonpath((base, real)) != base:
            raise UsageError(
                f"{link}: a link leads outside the repository, to {real}, and gen would write there; "
                "replace the link by a folder"
            )
