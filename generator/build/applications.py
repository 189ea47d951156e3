"""What is applied to a cluster: every Application, built by Kustomize from the repository as it stands."""

from collections.abc import Collection, Iterator
from functools import lru_cache, partial
from pathlib import Path
from posixpath import join, normpath
from typing import Any

from msgspec import Struct, structs

from generator.build.broken import BrokenError, unreadable
from generator.build.building import build_folder
from generator.build.cache import remembered
from generator.build.go_yaml import UnreadableError
from generator.build.kustomization import patch_targets
from generator.build.kustomize import program
from generator.build.manifests import documents, is_manifest
from generator.build.objects import ROOT, Built, Elsewhere, Object, TargetedPatch
from generator.build.offline import CUSTOM, SetAside, TakenOut, build_offline
from generator.build.placing import placed
from generator.build.stage import stage, stage_application, temporary_folder
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.model.finding import Finding
from generator.process import threads
from generator.repository.vendored import locked, on_disk


class _Part(Struct, frozen=True):
    """One Application as built, or why it was not. `unvendored` tells that some of it is not vendored, `remote` that
    some of it is in the network.
    """

    objects: tuple[Object, ...] = ()
    unvendored: bool = False
    remote: bool = False
    elsewhere: tuple[Elsewhere, ...] = ()
    notes: tuple[str, ...] = ()
    patches: tuple[TargetedPatch, ...] = ()
    findings: tuple[Finding, ...] = ()


def build(root: Path, cluster: Cluster, *, tolerant: bool = False) -> Built:
    """Build a cluster's folder `argocd` and the overlay of every Application in it, in a temporary copy. What is not
    vendored is not built and named in `unseen`, and what is in the network neither.

    Raises UsageError where nothing is rendered yet, where Kustomize is missing, for a file that cannot be read, and for
    a folder that cannot be built; with `tolerant` such folders are among `findings` instead, and all others are built.
    """
    locks = locked(on_disk(root)).images
    with temporary_folder() as copy:
        if not (root / "overlays" / cluster.name).is_dir():
            raise UsageError(f"overlays/{cluster.name}: there is no such folder; `gen render` writes it")
        stage(root, cluster.name, copy)
        parts, left = _parts(copy, cluster.name)
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
    return placed(_built(cluster, *_parts(copy, cluster, wanted)))


def _built(name: str, parts: dict[str, _Part], left: list[str]) -> Built:
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


def _parts(copy: Path, cluster: str, wanted: Collection[str] | None = None) -> tuple[dict[str, _Part], list[str]]:
    """Build the Applications of a cluster, those alone whose folders are `wanted`; and a note for each folder that none
    names.
    """
    command, argocd = program(), f"clusters/{cluster}/argocd"
    taken: dict[Path, TakenOut] = {}
    with threads() as pool:
        first = _part(command, copy, (ROOT, argocd), _staged(copy, argocd, taken))
        places, left = _places(copy, cluster, first)
        if wanted is not None:
            places, left = {name: place for name, place in places.items() if _lies_in(place, wanted)}, []
        removed = {place: _staged(copy, place, taken) for place in places.values()}
        work = pool.map(lambda one: _part(command, copy, one, removed[one[1]]), places.items())
        return {**dict(zip(places, work, strict=True)), ROOT: first}, left


def _elsewhere(parts: dict[str, _Part]) -> Iterator[str]:
    """Name the Applications that hold what is not built here: the user's own, from other places."""
    for one in parts[ROOT].objects:
        if one.kind == "Application" and one.name not in parts:
            yield f"what the Application {one.name} holds ({one.file})"


def _places(copy: Path, cluster: str, first: _Part) -> tuple[dict[str, str], list[str]]:
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
    folders = sorted(path.name for path in (copy / overlays).iterdir() if path.is_dir())
    if first.findings:
        return {name: overlays + name for name in folders if any((copy / overlays / name).glob("kustom*"))}, []
    left = [overlays + name for name in folders if overlays + name not in places.values()]
    return dict(sorted(places.items())), [
        f"{place}: no Application of the cluster names it; remove it, or keep what is yours" for place in left
    ]


def _lies_in(place: str, folders: Collection[str]) -> bool:
    """Tell whether an Application's folder is one of these, or lies below one."""
    return any(place == folder or place.startswith(f"{folder}/") for folder in folders)


def _staged(copy: Path, place: str, taken: dict[Path, TakenOut]) -> SetAside | Finding:
    """Set aside what Kustomize cannot build: one folder after the other, as several may share what is rewritten."""
    try:
        return stage_application(copy / place, copy, taken)
    except BrokenError as error:
        return _inside(copy, error.finding)


def _inside(copy: Path, finding: Finding) -> Finding:
    return structs.replace(finding, file=finding.file.removeprefix(f"{copy}/"))


def _part(command: list[str], copy: Path, application: tuple[str, str], removed: SetAside | Finding) -> _Part:
    component, place = application
    if isinstance(removed, Finding):
        return _Part(findings=(removed,))
    found = patch_targets(copy / place)
    patches = tuple(TargetedPatch(component, f"{place}/{file}", number, target) for file, number, target in found)
    remotes = [(each, each.file.relative_to(copy).as_posix()) for each in removed.remotes]
    notes = tuple(each.note(file) for each, file in remotes)
    elsewhere = tuple(Elsewhere(component, file, each.field, each.address, each.said) for each, file in remotes)
    part = _Part(unvendored=removed.unvendored, remote=bool(remotes), elsewhere=elsewhere, notes=notes)
    try:
        build_it = partial(build_folder, command, copy / place, removed.folders, place, component)
        made, more = build_offline(build_it, removed, f"{place}/{CUSTOM}")
        objects = tuple(Object(manifest, component, normpath(join(place, file))) for manifest, file in made)
        whole = (*objects, *_definitions(removed, copy, component))
        return structs.replace(part, objects=whole, notes=(*notes, *more), patches=patches)
    except BrokenError as error:
        return structs.replace(part, findings=(_inside(copy, error.finding),))


def _definitions(removed: SetAside, copy: Path, component: str) -> Iterator[Object]:
    """Yield CRDs as they stand: to build them would take most of the time and change nothing."""
    for path in removed.crds:
        file = normpath(path.relative_to(copy).as_posix())
        content = path.read_bytes()
        try:
            yield from (Object(one, component, file) for one in _read(content) if is_manifest(one))
        except UnreadableError as error:
            raise BrokenError(unreadable(file, error, content, fix=f"gen vendor {component}")) from None


@lru_cache(maxsize=1000)
def _read(content: bytes) -> list[Any]:
    """Return the documents of a file with CRDs; clusters share most of them, and to read one may take half a second."""
    return remembered((content,), partial(documents, content), list[Any])


def _applied_by_hand(root: Path, cluster: str) -> Iterator[Object]:
    file = f"clusters/{cluster}/bootstrap/application-root.yaml"
    if (root / file).is_file():
        yield from (Object(one, ROOT, file) for one in documents((root / file).read_bytes()) if is_manifest(one))
