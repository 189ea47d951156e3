"""What is applied to a cluster: every Application, built by Kustomize from the repository as it stands."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from posixpath import join, normpath

from msgspec import Struct, structs

from generator.build.broken import BrokenError, unreadable
from generator.build.fields import dig
from generator.build.kustomization import unpatched
from generator.build.kustomize import built, program
from generator.build.manifests import documents, is_manifest
from generator.build.objects import ROOT, Aim, Built, Object
from generator.build.reading import UnreadableError
from generator.build.stage import Aside, Found, aside, scratch, stage, targets
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.repository.standing import locked, on_disk


class _Part(Struct, frozen=True):
    """One Application as built, or why it was not. `charts` tells that some of it is not vendored, `remote` that some
    of it is in the network.
    """

    objects: tuple[Object, ...] = ()
    charts: bool = False
    remote: bool = False
    notes: tuple[str, ...] = ()
    patches: tuple[Aim, ...] = ()
    findings: tuple[Finding, ...] = ()


def build(root: Path, cluster: Cluster, *, tolerant: bool = False) -> Built:
    """Build a cluster's folder `argocd` and the overlay of every Application in it, in a temporary copy. What is not
    vendored is not built and named in `unseen`, and what is in the network neither.

    Raises UsageError where nothing is rendered yet, where Kustomize is missing, for a file that cannot be read, and for
    a folder that cannot be built; with `tolerant` such folders are among `findings` instead, and all others are built.
    """
    command, locks, argocd = program(), locked(on_disk(root)).images, f"clusters/{cluster.name}/argocd"
    known: Found = {}
    with scratch() as copy, _pool() as pool:
        if not (root / "overlays" / cluster.name).is_dir():
            raise UsageError(f"overlays/{cluster.name}: there is no such folder; `gen render` writes it")
        stage(root, cluster.name, copy)
        first = _part(command, copy, (ROOT, argocd), _aside(copy, argocd, known))
        places, left = _places(copy, cluster.name, first)
        asides = {place: _aside(copy, place, known) for place in places.values()}
        work = pool.map(lambda one: _part(command, copy, one, asides[one[1]]), places.items())
        parts = {**dict(zip(places, work, strict=True)), ROOT: first}
    findings = tuple(each for part in parts.values() for each in part.findings)
    if findings and not tolerant:
        raise BrokenError(findings[0])
    return Built(
        name=cluster.name,
        cluster=cluster,
        objects=(*(one for part in parts.values() for one in part.objects), *_applied_by_hand(root, cluster.name)),
        unseen=tuple(component for component, part in parts.items() if part.charts or part.remote),
        remote=tuple(component for component, part in parts.items() if part.remote and not part.charts),
        notes=(*(note for part in parts.values() for note in part.notes), *left, *_elsewhere(parts)),
        patches=tuple(aim for part in parts.values() for aim in part.patches),
        digests=locks,
        findings=findings,
    )


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """Yield threads that begin nothing more when the block is left early."""
    pool = ThreadPoolExecutor()
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


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


def _aside(copy: Path, place: str, known: Found) -> Aside | Finding:
    """Set aside what Kustomize cannot build: one folder after the other, as several may share what is rewritten."""
    try:
        return aside(copy / place, copy, known)
    except BrokenError as error:
        return _inside(copy, error.finding)


def _inside(copy: Path, finding: Finding) -> Finding:
    return structs.replace(finding, file=finding.file.removeprefix(f"{copy}/"))


def _part(command: list[str], copy: Path, application: tuple[str, str], left: Aside | Finding) -> _Part:
    component, place = application
    if isinstance(left, Finding):
        return _Part(findings=(left,))
    aims = tuple(Aim(component, f"{place}/{file}", index, said) for file, index, said in targets(copy / place))
    notes = [each.told(each.file.relative_to(copy).as_posix()) for each in left.remotes]
    part = _Part(charts=bool(left.charts), remote=bool(left.remotes), notes=tuple(notes))
    try:
        try:
            made = built(command, copy / place, place, component)
        except BrokenError:
            # A patch of the user's may want what is not vendored.
            if not (left.charts or left.remotes) or not unpatched(left.own):
                raise
            made = built(command, copy / place, place, component)
            why = "not vendored" if left.charts else "remote"
            notes.append(f"{place}/custom: its patches are not judged: what they change is {why}")
        objects = tuple(Object(manifest, component, normpath(join(place, file))) for manifest, file in made)
        whole = (*objects, *_definitions(left, copy, component))
        return structs.replace(part, objects=whole, notes=tuple(notes), patches=aims)
    except BrokenError as error:
        return structs.replace(part, findings=(_inside(copy, error.finding),))


def _definitions(left: Aside, copy: Path, component: str) -> Iterator[Object]:
    """Yield CRDs as they stand: to build them would take most of the time and change nothing."""
    for path in left.crds:
        file = normpath(path.relative_to(copy).as_posix())
        content = path.read_bytes()
        try:
            yield from (Object(one, component, file) for one in _read(content) if is_manifest(one))
        except UnreadableError as error:
            raise BrokenError(unreadable(file, error, content, fix=f"gen vendor {component}")) from None


_read = lru_cache(maxsize=1000)(documents)
"""Reads a file with CRDs; clusters share most of them."""


def _applied_by_hand(root: Path, cluster: str) -> Iterator[Object]:
    file = f"clusters/{cluster}/bootstrap/application-root.yaml"
    if (root / file).is_file():
        yield from (Object(one, ROOT, file) for one in documents((root / file).read_bytes()) if is_manifest(one))
