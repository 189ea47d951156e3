"""What an Application is built from besides its own folder: what its kustomizations name, and theirs."""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator

from generator.components import CATALOGUE
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.layout.lock import LOCK
from generator.model.cluster import cluster_file
from generator.repository.sides import PARENT, Side
from generator.spec.pyyaml import yaml

_LEADING_OUT = re.compile(r"\.\.(?:/[\w@:.+/-]*)?")
_PLAIN = re.compile(rf"\s*(?:- +)?(?:[A-Za-z]+: +)?({_LEADING_OUT.pattern})\s*")
"""A line with a path that leads out and stands there as it is."""
_MAYBE = re.compile(PARENT.replace("[:space:]", "\\s"))
_SHARED = ("base/", "workflows/")
_WRITTEN = {"argocd", "bootstrap", "cluster.yaml"}
"""What of a cluster's folder is gen's, or the file that gen reads."""


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
    found = [_PLAIN.fullmatch(line) for line in content.splitlines() if _MAYBE.search(line)]
    if all(found) and "\\" not in content:
        return (each[1] for each in found if each)
    return _scalars(content)


def _scalars(content: str) -> Iterator[str]:
    """Yield the same however it is written: in quotes, in one line with others, behind a name and `=`."""
    return (each.rpartition("=")[2] for text in _strings(content) if ".." in text for each in text.splitlines())


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
        meant, candidates = {*paths}, {*applications(side.below("overlays")), *_roots(side)}
    else:
        meant = _of_users(side, paths)
        candidates = {*applications(side.leading_out()), *_roots(side)} if meant else set()
    reach, touched = Reach(side), _with_folders(meant)
    for folder in sorted(candidates):
        if not touched.isdisjoint(reach.of(folder) - {folder}):
            yield folder


def holding(side: Side, paths: Collection[str]) -> Iterator[str]:
    """Yield the folders of clusters' Applications, one of which, a user's own, may hold one of these files."""
    touched, reach = _with_folders(_of_users(side, paths)), Reach(side)
    for root in sorted(_roots(side)) if touched else ():
        texts = (side.read(file).decode(errors="replace") for file in _of_root(side, root, reach))
        said = (each for text in texts for each in _strings(text) if each and "\n" not in each)
        if not touched.isdisjoint(posixpath.normpath(each.strip("/") or ".") for each in said):
            yield root


def _roots(side: Side) -> set[str]:
    """Return the folders of clusters' Applications in which users wrote some, or name what lies elsewhere."""
    return {"/".join(file.split("/")[:3]) for file in side.leading_out() if file.startswith("clusters/")}


def _of_root(side: Side, root: str, reach: Reach) -> set[str]:
    """Return the files in which a user's own Applications may stand: below the folder, and where it leads."""
    mine = {file for file in side.leading_out() if file.startswith(f"{root}/")}
    return mine | {file for place in reach.of(root) - {root} for file in side.below(place)}


def _with_folders(paths: Iterable[str]) -> set[str]:
    """Return paths, and every folder that one of them lies in, the whole repository too."""
    split = [path.split("/") for path in paths]
    found = {"/".join(parts[:depth]) for parts in split for depth in range(1, len(parts) + 1)}
    return found | {"."} if found else found


def _of_users(side: Side, paths: Iterable[str]) -> set[str]:
    """Return those of the files that users wrote. What gen writes for a cluster is not looked for in others: it would
    take longer than all the rest in a repository of a thousand clusters.
    """
    return {path for path in paths if path != LOCK and not _of_gen(side, path)}


def _of_gen(side: Side, path: str) -> bool:
    top, cluster, below, *rest = (*path.split("/"), "", "", "")
    if top not in {"clusters", "overlays"}:
        return False
    known = below in ({*CATALOGUE, "namespaces"} if top == "overlays" else _WRITTEN)
    return known and "custom" not in rest and side.has(cluster_file(cluster))


def applications(paths: Iterable[str]) -> Iterator[str]:
    """Yield the folder of the Application for each file that lies in one."""
    for path in paths:
        parts = path.split("/")
        if parts[0] == "overlays" and len(parts) > 3:
            yield "/".join(parts[:3])
