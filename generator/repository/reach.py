"""What an Application is built from besides its own folder: what its kustomizations name, and theirs."""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator

from generator.components import CATALOGUE
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.layout.lock import LOCK
from generator.model.cluster import cluster_file
from generator.repository.sides import Side
from generator.spec.pyyaml import yaml

_LEADING_OUT = re.compile(r"(?:\.\./)+[\w@:.+/-]*")
_PLAIN = re.compile(r"\s*(?:- +)?(?:[A-Za-z]+: +)?((?:\.\./)+[\w@:.+/-]*)\s*")
"""A line with a path that leads out and stands there as it is."""
_SHARED = ("base/", "workflows/")


class Reach:
    """The files and folders outside its own that a folder's kustomizations read, on one side."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._texts: dict[str, list[str]] = {}

    def of(self, folder: str) -> set[str]:
        """Return them; the folder itself is one."""
        found, waiting = {folder}, [folder]
        while waiting:
            for place in self._leading_out(waiting.pop()):
                if place not in found:
                    found.add(place)
                    waiting.append(place)
        return found

    def _leading_out(self, place: str) -> Iterator[str]:
        for path, key in self._side.below(place).items():
            if posixpath.basename(path) in KUSTOMIZATION_NAMES:
                for text in self._texts_of(path, key):
                    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
                    # What leads out of the repository is Kustomize's to refuse.
                    if found != "." and not found.startswith(".."):
                        yield found

    def _texts_of(self, path: str, key: str) -> list[str]:
        if key not in self._texts:
            self._texts[key] = [*_paths(self._side.read(path).decode(errors="replace"))]
        return self._texts[key]


def _paths(content: str) -> Iterator[str]:
    """Yield what a kustomization says that leads out of its folder."""
    found = [_PLAIN.fullmatch(line) for line in content.splitlines() if "../" in line]
    if all(found) and "\\" not in content:
        return (each[1] for each in found if each)
    return _scalars(content)


def _scalars(content: str) -> Iterator[str]:
    """Yield the same however it is written: in quotes, in one line with others, behind a name and `=`."""
    return (each.rpartition("=")[2] for text in _strings(content) if "../" in text for each in text.splitlines())


def _strings(content: str) -> list[str]:
    try:
        events = [*yaml.parse(content, Loader=yaml.CSafeLoader)]
    except yaml.YAMLError:
        return _LEADING_OUT.findall(content)
    return [event.value for event in events if isinstance(event, yaml.ScalarEvent)]


def sharing(side: Side, paths: Collection[str]) -> Iterator[str]:
    """Yield the folders of Applications that are built from one of these files, which lies elsewhere: in a folder that
    clusters share, or in one of a user's own.
    """
    if any(path.startswith(_SHARED) for path in paths):
        meant, candidates = {*paths}, {*applications(side.below("overlays"))}
    else:
        meant = _of_users(side, paths)
        candidates = {*applications(side.leading_out())} if meant else set()
    reach, touched = Reach(side), _with_folders(meant)
    for folder in sorted(candidates):
        if not touched.isdisjoint(reach.of(folder) - {folder}):
            yield folder


def holding(side: Side, paths: Collection[str]) -> Iterator[str]:
    """Yield the folders of clusters' Applications, one of which, a user's own, may hold one of these files."""
    touched = _with_folders(_of_users(side, paths))
    for file in sorted(side.leading_out()) if touched else ():
        top, cluster, *_ = file.split("/")
        if top == "clusters":
            said = _strings(side.read(file).decode(errors="replace"))
            if not touched.isdisjoint(posixpath.normpath(each.strip("/")) for each in said if "\n" not in each):
                yield f"clusters/{cluster}/argocd"


def _with_folders(paths: Iterable[str]) -> set[str]:
    """Return paths, and every folder that one of them lies in."""
    split = [path.split("/") for path in paths]
    return {"/".join(parts[:depth]) for parts in split for depth in range(1, len(parts) + 1)}


def _of_users(side: Side, paths: Iterable[str]) -> set[str]:
    """Return those of the files that users wrote. What gen writes for a cluster is not looked for in others: it would
    take longer than all the rest in a repository of a thousand clusters.
    """
    return {path for path in paths if path != LOCK and not _of_gen(side, path)}


def _of_gen(side: Side, path: str) -> bool:
    top, cluster, below, *rest = (*path.split("/"), "", "", "")
    if top not in {"clusters", "overlays"}:
        return path.startswith((*_SHARED, "schemas/"))
    known = below in {*CATALOGUE, "namespaces"} if top == "overlays" else True
    return known and "custom" not in rest and side.has(cluster_file(cluster))


def applications(paths: Iterable[str]) -> Iterator[str]:
    """Yield the folder of the Application for each file that lies in one."""
    for path in paths:
        parts = path.split("/")
        if parts[0] == "overlays" and len(parts) > 3:
            yield "/".join(parts[:3])
