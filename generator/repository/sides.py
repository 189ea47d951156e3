"""The states of a repository that can be compared: a commit, or the working tree as `gen render` would leave it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import sha1
from pathlib import Path

from msgspec import Struct

from generator.model.cluster import cluster_file
from generator.repository.history import History
from generator.repository.lines import with_line_feeds
from generator.repository.plan import Change

FOLDERS = ("clusters", "overlays", "base", "workflows")
LOCK = "gen.lock"


class Side(Struct, frozen=True):
    """One state: the identity of each file that decides what is applied, by path, and how to read one. Files with equal
    identities are equal, on whichever side.
    """

    label: str
    files: Mapping[str, str]
    read: Callable[[str], bytes]

    def differing(self, other: "Side") -> set[str]:
        """Return the paths whose files are not the same on both sides."""
        return {path for path, _ in self.files.items() ^ other.files.items()}


def commit_side(history: History, commit: str, label: str, at_hand: Side | None = None) -> Side:
    """Return a commit's state; files that are the same `at_hand` are read there. Raises UsageError where Git cannot
    read it.
    """
    files = history.identities(commit, (*FOLDERS, LOCK))

    def read(path: str) -> bytes:
        if at_hand is not None and at_hand.files.get(path) == files[path]:
            return at_hand.read(path)
        return history.read(commit, path) or b""

    return Side(label, files, read)


def working_side(root: Path, history: History, touched: Iterable[str], changes: Iterable[Change]) -> Side:
    """Return the state of the working tree: HEAD, the files `touched` since, and over that the `changes` of a render
    that is not written. Raises UsageError where Git cannot read it.
    """
    head = history.head or ""
    files = dict(history.identities(head, (*FOLDERS, LOCK))) if head else {}
    contents: dict[str, bytes | None] = {path: _content(root / path) for path in touched}
    contents |= {change.path: change.new for change in changes}
    for path, content in contents.items():
        if content is None:
            files.pop(path, None)
        elif path.split("/")[0] in (*FOLDERS, LOCK):
            files[path] = identity(content)
    files = {path: name for path, name in files.items() if not _of_a_cluster_that_is_gone(path, files)}

    def read(path: str) -> bytes:
        content = contents.get(path)
        # What was not touched stands on the disk as it is at HEAD, but for what Git converts.
        return content if content is not None else _content(root / path) or b""

    return Side("the working tree", files, read)


def _of_a_cluster_that_is_gone(path: str, files: Collection[str]) -> bool:
    """Tell whether the next render removes a file: its cluster's own file stands no longer."""
    top, name, rest = (*path.split("/", 2), "", "")[:3]
    mine = top == "overlays" or (top == "clusters" and rest.startswith(("argocd/", "bootstrap/")))
    return mine and cluster_file(name) not in files


def _content(file: Path) -> bytes | None:
    return with_line_feeds(file.read_bytes()) if file.is_file() else None


def identity(content: bytes) -> str:
    """Return the name that Git gives to a file's content."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
