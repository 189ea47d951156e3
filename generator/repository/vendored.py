"""What stands beside the cluster files and decides what is rendered: `gen.lock` and what is vendored."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from generator.errors import UsageError
from generator.layout.lock import LOCK, LockFile
from generator.layout.upstream import (
    DEFINITION,
    FOUND,
    INPUTS,
    KUSTOMIZATION,
    Found,
    Upstream,
    folder,
    kustomized,
    seal,
)
from generator.repository.folders import inside, stands
from generator.repository.lines import with_line_feeds
from generator.spec.reader import read

_BASE = re.compile(rb"/(base/[^/\s]+/[^/\s]+/crds)$", re.MULTILINE)

Read = Callable[[str], bytes | None]
"""Returns the content of a file by its path in the repository, None where there is none."""


class OwnFileError(UsageError):
    """Without this file of gen's own nothing can be rendered, and it cannot be read: mostly a conflict of a merge. Like
    a wrong cluster file it is a finding, and no wrong usage.
    """

    exit_code = 1

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"{self.path}{self.why}"


class OvertakenError(UsageError):
    """Another process has vendored since the files to write were made: they may not fit what stands now."""


Standing = dict[str, tuple[int, int, int]]
"""The files that say what is vendored, by path, each with its inode, time of change and size."""


def standing(root: Path) -> Standing:
    """Return what stands vendored, to be compared with what stands later."""
    found = (root / LOCK, *root.glob("overlays/*/*/upstream/*"), *root.glob("base/*/*/crds/*"))
    stats = {path: path.stat() for path in found if path.is_file()}
    return {str(path): (one.st_ino, one.st_mtime_ns, one.st_size) for path, one in stats.items()}


def on_disk(root: Path) -> Read:
    """Return a reader of files below `root`; their line endings may be Git's (core.autocrlf)."""

    def content(path: str) -> bytes | None:
        try:
            # Whatever else stands there, as a named pipe that would be waited for, is none of gen's files.
            return with_line_feeds((root / path).read_bytes()) if (root / path).is_file() else None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from None

    return content


def locked(content: Read) -> LockFile:
    """Return `gen.lock` as it stands, an empty one where there is none. Raises `OwnFileError`."""
    found = content(LOCK)
    if found is None:
        return LockFile()
    document = read(found, LOCK)
    try:
        if not document.findings:
            return msgspec.convert(document.value, LockFile)
    except msgspec.ValidationError:
        pass
    where = f":{document.locate(document.findings[0])[0].line}" if document.findings else ""
    raise OwnFileError(
        LOCK,
        f"{where}: cannot be read as what gen writes; take one side of a conflict whole, or restore the file "
        f"(`git checkout HEAD -- {LOCK}`), and run `gen vendor`",
    )


def vendored_names(root: Path, cluster: str) -> list[str]:
    """Return the components of a cluster that have a vendored folder on disk. Raises UsageError where a closed folder
    hides which.
    """
    there = inside(root, f"overlays/{cluster}")
    return [name for name in there if stands(root, f"{folder(cluster, name)}/{INPUTS}")]


def vendored(content: Read, cluster: str, components: Iterable[str]) -> dict[str, Upstream]:
    """Return what is vendored of these components. What cannot be read counts as stale."""
    found: dict[str, Upstream] = {}
    for component in components:
        place = folder(cluster, component)
        inputs = content(f"{place}/{INPUTS}")
        if inputs is not None:
            base = _base(content(f"{place}/{KUSTOMIZATION}") or b"")
            found[component] = _upstream(inputs, content(f"{place}/{FOUND}"), base)
    return found


def _base(content: bytes) -> str:
    """Return the folder that a kustomization of `upstream/` takes CRDs from."""
    found = _BASE.search(content)
    return found[1].decode() if found else ""


def _upstream(inputs: bytes, found: bytes | None, base: str) -> Upstream:
    try:
        return Upstream(inputs, msgspec.json.decode(found or b"", type=Found), base)
    except msgspec.DecodeError:
        # A merge may leave conflict markers in it.
        return Upstream(b"", Found(), base)


def intact(root: Path, cluster: str, component: str, found: Found) -> bool:
    """Tell whether a component's vendored files are all there and as `gen vendor` wrote them. Reads every one."""
    files = _files(root / folder(cluster, component))
    base = _base(files.get(KUSTOMIZATION, b""))
    definitions = _files(root / base) if base else {}
    shared = {name: content for name, content in definitions.items() if name.startswith(DEFINITION)}
    own = {name: content for name, content in files.items() if name not in {INPUTS, FOUND, KUSTOMIZATION}}
    listed = files.get(KUSTOMIZATION) == kustomized(own, base)
    whole = not base or definitions.get(KUSTOMIZATION) == kustomized(definitions)
    return listed and whole and seal({**own, **shared}) == found.seal


def _files(place: Path) -> dict[str, bytes]:
    try:
        return {path.name: with_line_feeds(path.read_bytes()) for path in place.iterdir() if path.is_file()}
    except OSError:
        return {}
