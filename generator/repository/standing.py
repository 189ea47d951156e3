"""What stands beside the cluster files and decides what is rendered: `gen.lock` and what is vendored."""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from generator.errors import UsageError
from generator.layout.lock import LOCK, Lock
from generator.layout.upstream import FOUND, INPUTS, Found, Upstream, folder
from generator.spec.reader import read

__all__ = ["Read", "locked", "on_disk", "vendored", "vendored_names"]

Read = Callable[[str], bytes | None]
"""Returns the content of a file by its path in the repository, None where there is none."""


def on_disk(root: Path) -> Read:
    """Return a reader of files below `root`."""

    def content(path: str) -> bytes | None:
        try:
            return (root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from None

    return content


def locked(content: Read) -> Lock:
    """Return `gen.lock` as it stands, an empty one where there is none. Raises UsageError."""
    found = content(LOCK)
    if found is None:
        return Lock()
    document = read(found, LOCK)
    try:
        if not document.findings:
            return msgspec.convert(document.value, Lock)
    except msgspec.ValidationError:
        pass
    where = f":{document.locate(document.findings[0])[0].line}" if document.findings else ""
    raise UsageError(
        f"{LOCK}{where}: cannot be read as what gen writes; take one side of a conflict whole, or restore the file "
        f"(`git checkout HEAD -- {LOCK}`), and run `gen vendor`"
    )


def vendored_names(root: Path, cluster: str) -> list[str]:
    """Return the components of a cluster that have a vendored folder on disk."""
    return sorted(path.parent.parent.name for path in (root / "overlays" / cluster).glob(f"*/upstream/{INPUTS}"))


def vendored(content: Read, cluster: str, components: Iterable[str]) -> dict[str, Upstream]:
    """Return what is vendored of these components. What cannot be read counts as stale."""
    found: dict[str, Upstream] = {}
    for component in components:
        place = folder(cluster, component)
        inputs = content(f"{place}/{INPUTS}")
        if inputs is not None:
            found[component] = _upstream(inputs, content(f"{place}/{FOUND}"))
    return found


def _upstream(inputs: bytes, found: bytes | None) -> Upstream:
    try:
        return Upstream(inputs, msgspec.json.decode(found or b"", type=Found))
    except msgspec.DecodeError:
        # A merge may leave conflict markers in it.
        return Upstream(b"", Found())
