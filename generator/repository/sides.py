"""The states of a repository that can be compared: a commit, or the working tree as `gen render` would leave it."""

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha1
from pathlib import Path

from msgspec import Struct

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


def commit_side(history: History, commit: str, label: str) -> Side:
    """Return a commit's state. Raises UsageError where Git cannot read it."""
    return Side(label, history.identities(commit, (*FOLDERS, LOCK)), lambda path: history.read(commit, path) or b"")


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

    def read(path: str) -> bytes:
        content = contents.get(path)
        return content if content is not None else history.read(head, path) or b""

    return Side("the working tree", files, read)


def _content(file: Path) -> bytes | None:
    return with_line_feeds(file.read_bytes()) if file.is_file() else None


def identity(content: bytes) -> str:
    """Return the name that Git gives to a file's content."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
