"""Folders of the repository that cluster files name for components of the user's own."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from generator.layout.argocd import watched
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.rule import Explained
from generator.repository.reach import Reach
from generator.repository.sides import Side
from generator.repository.vendored import on_disk

NO_FOLDER = Explained(
    code="GEN-EXT-006",
    title="the folder of a component of your own is there, and Argo CD sees all that it is built of",
    text="""
    Kustomize builds a folder by its `kustomization.yaml`. Without one Argo CD can build nothing of the component, and
    whatever needs it waits. Argo CD looks for changes below the first folder of the path: what a kustomization takes
    from elsewhere, or what a link leads to, could change and would never be synced.

    Wrong:
        extras: {tools: {namespace: tools, folder: apps/tool}}
        # and a folder apps/tools
    Right:
        extras: {tools: {namespace: tools, folder: apps/tools}}
    """,
)


def folder_findings(root: Path, cluster: Cluster) -> Iterator[Finding]:
    """Yield an error for each folder that a cluster file names and that Argo CD could not build, or not watch."""
    side = Side("", lambda places: _below(root, places), lambda path: on_disk(root)(path) or b"")
    for name, extra in cluster.extras.items():
        if extra.folder and extra.installed and (found := _wrong(root, side, extra.folder)):
            at = ("extras", name, "folder")
            yield NO_FOLDER.complete(Finding(at=at, message=found[0], fix=found[1]))


def _wrong(root: Path, side: Side, folder: str) -> tuple[str, str] | None:
    """Return what is wrong with a folder, and what to do."""
    place = root / folder
    if link := _link_on_the_way(root, folder):
        return f"{link} is a symbolic link", f"name the folder that it leads to, or put the files into {link}"
    if not any((place / file).is_file() for file in KUSTOMIZATION_NAMES):
        what = "has no kustomization.yaml" if place.is_dir() else "is not there"
        return f"{folder} {what}", f"write {folder}/kustomization.yaml, with its files as `resources`"
    reached = sorted(Reach(side).of(folder))
    top = watched(folder)
    if away := next((one for one in reached if watched(one) != top), None):
        message = f"{folder} is built of {away}, and Argo CD looks for its changes only below {top}"
        return message, f"put both below one folder, as in apps/{folder} and apps/{away}"
    if within := next((each for one in reached for each in _links(root, one)), None):
        return f"{within} is a symbolic link, and {folder} is built of it", "put the file itself there"
    return None


def _link_on_the_way(root: Path, path: str) -> str:
    """Return the first folder or file on the way that is a link, itself one of them."""
    parts = path.split("/")
    ways = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return next((way for way in ways if (root / way).is_symlink()), "")


def _links(root: Path, place: str) -> Iterator[str]:
    """Yield the links on the way to a file or folder, and below it."""
    if link := _link_on_the_way(root, place):
        yield link
    for folder, folders, files in os.walk(root / place):
        paths = (Path(folder, name) for name in sorted((*folders, *files)))
        yield from (path.relative_to(root).as_posix() for path in paths if path.is_symlink())


def _below(root: Path, places: Iterable[str]) -> Mapping[str, str]:
    """Return the files at or below places, each its own identity."""
    found = (
        Path(folder, name).relative_to(root).as_posix()
        for place in places
        for folder, _, files in os.walk(root / place)
        for name in files
    )
    return {path: path for path in found}
