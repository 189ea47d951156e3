"""The states of a repository that can be compared: a commit, or the working tree as `gen render` would leave it."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha1
from pathlib import Path

from generator.layout.files import KUSTOMIZATION_NAMES
from generator.model.cluster import cluster_file
from generator.repository.history import History
from generator.repository.plan import Change
from generator.repository.vendored import on_disk

FOLDERS = ("clusters", "overlays", "base", "workflows")
"""What decides what is applied, and by hand done; `gen.lock` beside them."""

WORKING_TREE = "the working tree"
"""What the side is called that is not committed."""

PARENT = r"""\.\.([]"',}/]|[[:space:]]*(#|$))"""
"""An extended regular expression for what names a folder above, but not for the `..` between texts in Lua."""

_SHARED = r"^ *- (\.\./)+(base|workflows)(/[^ ,./][^ ,/]*)+$"
"""The like for what gen writes: a folder that clusters share."""

List = Callable[[Iterable[str]], Mapping[str, str]]
Read = Callable[[str], bytes]
Find = Callable[[], Iterable[str]]


class Side:
    """One state: files below folders, and what they say. A file's identity is the name that Git gives to its content:
    equal ones are equal, on whichever side. Nothing is listed before somebody asks: a repository may hold a million
    files, of which a change needs a few hundred.

    `leading_out` returns files that users wrote and that may name what lies outside of what gen writes: kustomizations,
    and files with Applications. There may be more, which name no such thing.
    """

    def __init__(self, label: str, listed: List, content: Read, leading_out: Find = tuple) -> None:
        self.label = label
        self.leading_out = cache(leading_out)
        self._list = listed
        self._content = content
        self._known: dict[str, dict[str, str]] = {}

    def gather(self, *places: str) -> None:
        """List some files and folders at once: each time takes as long as many."""
        if missing := [place for place in places if self._holding(place) is None]:
            found = self._list(missing)
            for place in missing:
                prefix = f"{place}/"
                self._known[place] = {
                    path: one for path, one in found.items() if path == place or path.startswith(prefix)
                }

    def below(self, place: str) -> dict[str, str]:
        """Return the identities of the files at or below a place, by path."""
        self.gather(place)
        holding = self._holding(place) or place
        if holding == place:
            return self._known[place]
        prefix = f"{place}/"
        found = {path: one for path, one in self._known[holding].items() if path == place or path.startswith(prefix)}
        self._known[place] = found
        return found

    def has(self, path: str) -> bool:
        """Tell whether there is such a file."""
        return path in self.below(path)

    def identity(self, path: str) -> str | None:
        """Return a file's identity, None where there is none."""
        return self.below(path).get(path)

    def read(self, path: str) -> bytes:
        """Return what a file says, nothing where there is none."""
        return self._content(path)

    def _holding(self, place: str) -> str | None:
        """Return the place that was listed and holds this one."""
        while place:
            if place in self._known:
                return place
            place = place.rpartition("/")[0]
        return None


def commit_side(history: History, commit: str, label: str, at_hand: Side | None = None) -> Side:
    """Return a commit's state; files that are the same `at_hand` are read there. Its methods raise UsageError where
    Git cannot read it.
    """

    def content(path: str) -> bytes:
        if at_hand is not None and (one := at_hand.identity(path)) and one == side.identity(path):
            return at_hand.read(path)
        one = side.identity(path)
        return history.content(one) if one else b""

    side = Side(
        label, lambda places: history.identities(commit, places), content, lambda: _leading_out(history, commit)
    )
    return side


def working_side(root: Path, history: History, touched: Iterable[str], changes: Iterable[Change]) -> Side:
    """Return the state of the working tree: HEAD, the files `touched` since, and over that the `changes` of a render
    that is not written. Its methods raise UsageError where Git cannot read it.
    """
    head = history.head or ""
    disk = on_disk(root)
    contents = {path: disk(path) for path in touched} | {change.path: change.new for change in changes}
    gone = {path.split("/")[1] for path, content in contents.items() if content is None and _is_cluster(path)}

    def listed(places: Iterable[str]) -> Mapping[str, str]:
        places = tuple(places)
        found = history.identities(head, places)
        prefixes = tuple(f"{place}/" for place in places)
        for path, content in contents.items():
            if content is None:
                found.pop(path, None)
            elif path in places or path.startswith(prefixes):
                found[path] = identity(content)
        return {path: one for path, one in found.items() if not _goes_with(gone, path)}

    def content(path: str) -> bytes:
        there = contents.get(path)
        # What was not touched stands on the disk as it is at HEAD, but for what Git converts.
        # In a sparse checkout some of it stands in Git alone.
        return there if there is not None else disk(path) or history.read(head, path) or b""

    def leading_out() -> set[str]:
        mine = {path for path in contents if "/custom/" in path or path.endswith(KUSTOMIZATION_NAMES)}
        return _leading_out(history, head) | mine

    return Side(WORKING_TREE, listed, content, leading_out)


def _leading_out(history: History, commit: str) -> set[str]:
    overlays, roots = (
        [f"{place}/**/{name}" for name in KUSTOMIZATION_NAMES] for place in ("overlays", "clusters/*/argocd")
    )
    # A backslash, too: in quotes it may stand for what one looks for.
    said = rf"{PARENT}|\\"
    named = history.saying(commit, said, overlays, but=_SHARED) | history.saying(commit, said, roots)
    return named | history.saying(commit, "repoURL|/spec/source", ["clusters/*/argocd/custom/**"])


def _is_cluster(path: str) -> bool:
    parts = path.split("/")
    return len(parts) == 3 and path == cluster_file(parts[1])


def _goes_with(gone: set[str], path: str) -> bool:
    """Tell whether the next render removes a file: the file of its cluster stands no longer."""
    top, name, rest = (*path.split("/", 2), "", "")[:3]
    mine = top == "overlays" or (top == "clusters" and rest.startswith(("argocd/", "bootstrap/")))
    return mine and name in gone


def identity(content: bytes) -> str:
    """Return the name that Git gives to a file's content."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
