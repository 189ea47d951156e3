"""Cluster files that a user names, also those that are in no repository yet."""

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from msgspec import structs

from generator.errors import UsageError
from generator.layout.lock import LOCK
from generator.model.cluster import cluster_file
from generator.repository.cluster_files import MISNAMED, Loaded, examine, load
from generator.repository.places import RENDERED, names
from generator.spec.reader import SIZE

MOST = 64 * 2**20
"""Bytes of manifests that are read of one file."""


def is_cluster_file(path: Path) -> bool:
    """Tell whether a file says that it is a cluster's, or lies where one does. False for what cannot be read."""
    try:
        if not path.is_file() or path.stat().st_size > SIZE:
            return False
        return path.name == "cluster.yaml" or says_so(path.read_bytes())
    except OSError:
        return False


def place(path: Path) -> tuple[Path, str] | None:
    """Return the repository's root and the cluster's name for `clusters/NAME/cluster.yaml`; None anywhere else."""
    parents = Path(os.path.abspath(path)).parents  # noqa: PTH100 - a link keeps the name by which it is called
    is_one = path.name == "cluster.yaml" and len(parents) > 2 and parents[1].name == "clusters"
    return (parents[2], parents[0].name) if is_one else None


def as_cluster_file(path: Path) -> Path:
    """Return the cluster file that a folder holds, else the path itself."""
    inside = path / "cluster.yaml"
    return inside if is_cluster_file(inside) and says_so(_content(inside)) else path


def generated(path: Path) -> str:
    """Say of what gen makes of cluster files how it is checked; "" for what people bring, as in `custom`."""
    here = Path(os.path.abspath(path))  # noqa: PTH100 - as in `place`
    root = next((one for one in here.parents if (one / LOCK).is_file() and (one / "clusters").is_dir()), None)
    if not root:
        return ""
    first, name, part = (*here.relative_to(root).parts, "", "")[:3]
    if first == "clusters" and not name:
        return "it holds the cluster files of the repository; check them: gen check"
    if first == "base" or (first == "overlays" and not name):
        return "gen makes it of clusters/*/cluster.yaml; check those: gen check --rendered"
    of_one = first == "overlays" or (first == "clusters" and part in RENDERED)
    if not of_one or "custom" in here.parts or name not in names(root):
        return ""
    return f"gen makes it of {cluster_file(name)}; check that: gen check --rendered --cluster {name}"


def load_files(paths: Iterable[Path]) -> list[Loaded]:
    """Read, decode and check cluster files, each once: as parts of their repository, or each by itself where it is in
    none. Raises UsageError for what is no cluster file, and for files of several repositories.
    """
    once = {os.path.abspath(path): path for path in paths}  # noqa: PTH100 - as in `place`
    places = [(path, place(path)) for path in once.values()]
    wanted: defaultdict[Path, list[str]] = defaultdict(list)
    for root, name in (found for _, found in places if found):
        wanted[root].append(name)
    if len(wanted) > 1:
        # Their files have the same names.
        raise UsageError(f"{', '.join(map(str, wanted))}: cluster files of one repository are checked at once")
    known = {one.name: one for root, names in wanted.items() for one in load(root, names)}
    return [known[found[1]] if found else _alone(path) for path, found in places]


def _alone(path: Path) -> Loaded:
    content = _content(path)
    if path.name != "cluster.yaml" and not says_so(content):
        why = "no line of it begins with `apiVersion: gen/`"
        raise UsageError(
            f"{path}: this is no cluster file: {why}; manifests are judged by themselves: gen check {path}"
        )
    alone = examine(content, str(path), "")
    kept = tuple(each for each in alone.findings if each.code != MISNAMED.code)
    return structs.replace(alone, findings=kept, name=alone.cluster.name if alone.cluster else str(path))


def _content(path: Path) -> bytes:
    try:
        if stat.S_ISREG(path.stat().st_mode):
            with path.open("rb") as opened:
                return opened.read(SIZE + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    what = "a folder; its cluster files are checked with -C, its manifests by themselves" if path.is_dir() else ""
    raise UsageError(f"{path}: cannot be read: it is {what or 'no regular file'}")


def read_given(path: Path, most: int = MOST) -> bytes:
    """Return what is in a file, or comes through a pipe, that a user names. Raises UsageError for a device, which may
    never end, and beyond `most` bytes; OSError for what cannot be read.
    """
    if path.is_block_device() or path.is_char_device():
        raise UsageError(f"{path}: it is a device, which may never end; name a file or a pipe")
    with path.open("rb") as opened:
        return capped(opened, str(path), most)


def capped(opened: IO[bytes], name: str, most: int = MOST) -> bytes:
    """Return all that is to be read. Raises UsageError beyond `most` bytes."""
    content = b""
    while len(content) <= most and (block := opened.read(min(MOST, most + 1 - len(content)))):
        content += block
    if len(content) > most:
        raise UsageError(f"{name}: it has more than {most // 2**20} MiB, the most that is read; name another, or parts")
    return content


def says_so(content: bytes) -> bool:
    """Tell whether the text is a cluster's: by its version, or by its kind where it has none. It is looked for and not
    read, as the file may be wrong in any way: of another encoding, or with line ends of another system.
    """
    content = content.replace(b"\0", b"").replace(b"\r", b"\n").lstrip(b"\xef\xbb\xbf\xff\xfe")
    version = re.search(rb"""^['"]?apiVersion['"]?\s*:\s*['"]?(gen/)?""", content, re.MULTILINE)
    if version:
        return version[1] is not None
    return re.search(rb"""^['"]?kind['"]?\s*:\s*['"]?Cluster\b""", content, re.MULTILINE) is not None
