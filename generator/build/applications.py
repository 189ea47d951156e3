"""What is applied to a cluster: every Application, built by Kustomize from the repository as it stands."""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from posixpath import normpath

from msgspec import structs

from generator.build.broken import BrokenError
from generator.build.manifests import documents, is_manifest
from generator.build.objects import ROOT, Built, Object
from generator.build.parts import Part, Parts
from generator.build.placing import placed
from generator.build.stage import stage, temporary_folder
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.repository.vendored import locked, on_disk


def build(root: Path, cluster: Cluster, *, tolerant: bool = False) -> Built:
    """Build a cluster's folder `argocd` and the overlay of every Application in it, in a temporary copy. What is not
    vendored is not built and named in `unseen`, and what is in the network neither.

    Raises UsageError where nothing is rendered yet, where Kustomize is missing, for a file that cannot be read, and for
    a folder that cannot be built; with `tolerant` such folders are among `findings` instead, and all others are built.
    """
    locks = locked(on_disk(root)).images
    # The first one tells what cannot be read; each copy is in one of its own.
    with temporary_folder(), ExitStack() as copies:
        if not (root / "overlays" / cluster.name).is_dir():
            raise UsageError(f"overlays/{cluster.name}: there is no such folder; `gen render` writes it")

        def staged() -> Path:
            copy = copies.enter_context(temporary_folder())
            stage(root, cluster.name, copy)
            return copy

        parts, left = _parts(root, cluster.name, staged)
    findings = tuple(each for part in parts.values() for each in part.findings)
    if findings and not tolerant:
        raise BrokenError(findings[0])
    built = _built(cluster.name, parts, left)
    by_hand = _applied_by_hand(root, cluster.name)
    return structs.replace(built, cluster=cluster, objects=(*built.objects, *by_hand), digests=locks)


def build_some(copy: Path, cluster: str, wanted: Collection[str]) -> Built:
    """Build a cluster's folder `argocd`, and of the Applications in it those in folders that are `wanted`, from files
    that stand in `copy` and may be changed there; each object is in the namespace where it ends up. What cannot be
    built is among `findings`, as with `build`.
    """
    return placed(_built(cluster, *_parts(copy, cluster, lambda: copy, wanted)))


def _built(name: str, parts: dict[str, Part], left: list[str]) -> Built:
    return Built(
        name=name,
        cluster=None,
        objects=tuple(one for part in parts.values() for one in part.objects),
        unseen=tuple(component for component, part in parts.items() if part.unvendored or part.remote),
        remote=tuple(component for component, part in parts.items() if part.remote and not part.unvendored),
        notes=(*(note for part in parts.values() for note in part.notes), *left, *_elsewhere(parts)),
        patches=tuple(patch for part in parts.values() for patch in part.patches),
        findings=tuple(each for part in parts.values() for each in part.findings),
        elsewhere=tuple(each for part in parts.values() for each in part.elsewhere),
        broken=tuple(component for component, part in parts.items() if part.findings),
    )


def _parts(
    root: Path, cluster: str, staged: Callable[[], Path], wanted: Collection[str] | None = None
) -> tuple[dict[str, Part], list[str]]:
    """Build the Applications of a cluster, those alone whose folders are `wanted`; and a note for each folder that none
    names.
    """
    parts = Parts(root, staged)
    first = parts.of({ROOT: f"clusters/{cluster}/argocd"})
    places, left = _places(root, cluster, first[ROOT])
    if wanted is not None:
        places, left = {name: place for name, place in places.items() if _lies_in(place, wanted)}, []
    return {**parts.of(places), **first}, left


def _elsewhere(parts: dict[str, Part]) -> Iterator[str]:
    """Name the Applications that hold what is not built here: the user's own, from other places."""
    for one in parts[ROOT].objects:
        if one.kind == "Application" and one.name not in parts:
            yield f"what the Application {one.name} holds ({one.file})"


def _places(root: Path, cluster: str, first: Part) -> tuple[dict[str, str], list[str]]:
    """Return the folder of each Application, in order, and a note for each folder that none names: a component may have
    gone and left what is the user's. Where the Applications themselves could not be built, every folder with a
    kustomization counts.
    """
    overlays = f"overlays/{cluster}/"
    found = {
        one.name: normpath(path)
        for one in first.objects
        if one.kind == "Application" and isinstance(path := dig(one.spec, "source", "path"), str)
    }
    places = {name: place for name, place in found.items() if place.startswith(overlays)}
    folders = sorted(path.name for path in (root / overlays).iterdir() if path.is_dir())
    if first.findings:
        return {name: overlays + name for name in folders if any((root / overlays / name).glob("kustom*"))}, []
    left = [overlays + name for name in folders if overlays + name not in places.values()]
    return dict(sorted(places.items())), [
        f"{place}: no Application of the cluster names it; remove it, or keep what is yours" for place in left
    ]


def _lies_in(place: str, folders: Collection[str]) -> bool:
    """Tell whether an Application's folder is one of these, or lies below one."""
    return any(place == folder or place.startswith(f"{folder}/") for folder in folders)


def _applied_by_hand(root: Path, cluster: str) -> Iterator[Object]:
    file = f"clusters/{cluster}/bootstrap/application-root.yaml"
    if (root / file).is_file():
        yield from (Object(one, ROOT, file) for one in documents((root / file).read_bytes()) if is_manifest(one))
