"""What is applied to a cluster: every Application, built by Kustomize from the repository as it stands."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from posixpath import join, normpath
from tempfile import TemporaryDirectory

from msgspec import Struct

from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.rendered.built import ROOT, Aim, Built, Object
from generator.rendered.kustomize import built, program
from generator.rendered.manifests import documents, generated, is_manifest
from generator.rendered.stage import Aside, aside, stage, targets, unpatched

__all__ = ["build"]


class _Part(Struct, frozen=True):
    """One Application as built."""

    objects: tuple[Object, ...]
    unseen: bool = False
    notes: tuple[str, ...] = ()
    patches: tuple[Aim, ...] = ()


def build(root: Path, cluster: Cluster) -> Built:
    """Build every overlay of a cluster and its folder `argocd` in a temporary copy. What is not vendored is not built
    and named in `unseen`. Raises UsageError where nothing is rendered yet, where Kustomize is missing, and for a
    folder that it cannot build.
    """
    places = _places(root, cluster.name)
    command = program()
    with TemporaryDirectory(prefix="gen-") as name, ThreadPoolExecutor() as pool:
        copy = Path(name)
        stage(root, cluster.name, copy)
        work = pool.map(lambda place: _part(command, copy, *place), places.items())
        parts = dict(zip(places, work, strict=True))
    return Built(
        name=cluster.name,
        cluster=cluster,
        objects=(*(one for part in parts.values() for one in part.objects), *_applied_by_hand(root, cluster.name)),
        unseen=tuple(component for component, part in parts.items() if part.unseen),
        notes=(*(note for part in parts.values() for note in part.notes), *_elsewhere(parts)),
        patches=tuple(aim for part in parts.values() for aim in part.patches),
    )


def _elsewhere(parts: dict[str, _Part]) -> Iterator[str]:
    """Name the Applications that hold what is not built here: the user's own, from other places."""
    for one in parts[ROOT].objects:
        if one.kind == "Application" and one.name not in parts:
            yield f"what the Application {one.name} holds ({one.file})"


def _places(root: Path, cluster: str) -> dict[str, str]:
    """Return the folder of each Application, in order."""
    overlays = root / "overlays" / cluster
    if not overlays.is_dir():
        raise UsageError(f"overlays/{cluster}: there is no such folder; `gen render` writes it")
    found = {path.name: f"overlays/{cluster}/{path.name}" for path in sorted(overlays.iterdir()) if path.is_dir()}
    return {**found, ROOT: f"clusters/{cluster}/argocd"}


def _part(command: list[str], copy: Path, component: str, place: str) -> _Part:
    left = aside(copy / place, copy)
    aims = tuple(Aim(component, f"{place}/{file}", index, said) for file, index, said in targets(copy / place))
    notes: tuple[str, ...] = ()
    try:
        made = built(command, copy / place, place)
    except UsageError:
        # A patch of the user's may want what is not vendored.
        if not left.charts or not unpatched(copy / place):
            raise
        made = built(command, copy / place, place)
        notes = (f"{place}/custom: its patches are not judged: what they change is not vendored",)
    objects = tuple(Object(manifest, component, normpath(join(place, file))) for manifest, file in made)
    return _Part((*objects, *_definitions(left, copy, component)), bool(left.charts), notes, aims)


def _definitions(left: Aside, copy: Path, component: str) -> Iterator[Object]:
    """Yield CRDs as they stand: to build them would take most of the time and change nothing."""
    for path in left.crds:
        file = normpath(path.relative_to(copy).as_posix())
        yield from (Object(one, component, file) for one in generated(path.read_bytes()) if is_manifest(one))


def _applied_by_hand(root: Path, cluster: str) -> Iterator[Object]:
    file = f"clusters/{cluster}/bootstrap/application-root.yaml"
    if (root / file).is_file():
        yield from (Object(one, ROOT, file) for one in documents((root / file).read_bytes()) if is_manifest(one))
