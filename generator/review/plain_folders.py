"""Plain manifests beside the overlays, which an Application of the user's own holds: read as Argo CD reads them."""

from collections.abc import Iterator
from posixpath import dirname, normpath, splitext

from msgspec import structs

from generator.build.objects import ROOT, Built, Object
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.model.fields import dig, mapping
from generator.repository.sides import Side

_SOURCE, _DIRECTORY = {"repoURL", "targetRevision", "path", "directory"}, {"recurse"}
_READ = {".yaml", ".yml", ".json"}
_OTHERS = {*KUSTOMIZATION_NAMES, "Chart.yaml"}
_SKIP = b"+argocd:skip-file-rendering"


class _NotPlainError(Exception):
    """Argo CD may make something else of it than what stands there, or read it from another place."""


def with_plain(sides: tuple[Side, Side], both: tuple[Built, Built]) -> tuple[tuple[Built, Built], set[str]]:
    """Return what was built with the plain manifests that Applications hold on either side, where they may differ; and
    the names of these Applications. One of which this cannot be told on a side is in neither.
    """
    held = [{one.name: one for one in _beside_overlays(built)} for built in both]
    found: tuple[list[Object], list[Object]] = ([], [])
    names = set()
    for name in sorted(held[0].keys() | held[1].keys()):
        mine = [each.get(name) for each in held]
        if _same(sides, mine[0], mine[1]):
            continue
        try:
            read = [
                _objects(side, built, one) if one else [] for side, built, one in zip(sides, both, mine, strict=True)
            ]
        except _NotPlainError:
            continue
        names.add(name)
        for objects, more in zip(found, read, strict=True):
            objects.extend(more)
    return (_added(both[0], found[0]), _added(both[1], found[1])), names


def _added(built: Built, objects: list[Object]) -> Built:
    from generator.build.placing import placed  # noqa: PLC0415 - for the few that have such Applications

    return placed(structs.replace(built, objects=(*built.objects, *objects))) if objects else built


def _beside_overlays(built: Built) -> Iterator[Object]:
    for one in built.of("Application"):
        if one.component == ROOT and not _place(one).startswith(f"overlays/{built.name}/"):
            yield one


def _place(application: Object) -> str:
    return normpath(str(dig(application.spec, "source", "path") or "."))


def _same(sides: tuple[Side, Side], old: Object | None, new: Object | None) -> bool:
    """Tell whether both sides have the Application, and the same in its folder."""
    if old is None or new is None or old.spec != new.spec:
        return False
    place = _place(old)
    return place == "." or sides[0].below(place) == sides[1].below(place)


def _objects(side: Side, built: Built, application: Object) -> list[Object]:
    """Return what a folder holds. Raises _NotPlainError."""
    source, place = mapping(application.spec.get("source")), _place(application)
    options = mapping(source.get("directory"))
    here = source.keys() <= _SOURCE and options.keys() <= _DIRECTORY and "sources" not in application.spec
    if not here or place == "." or _repository(source) not in map(_repository, _sources_of_gen(built)):
        raise _NotPlainError
    return [
        one
        for file in _files(side, place, all_below=options.get("recurse") is True)
        for one in _read(side, file, application)
    ]


def _sources_of_gen(built: Built) -> Iterator[object]:
    for one in built.of("Application"):
        if _place(one).startswith(f"overlays/{built.name}/"):
            yield one.spec.get("source")


def _repository(source: object) -> tuple[object, object]:
    return dig(source, "repoURL"), str(dig(source, "targetRevision")).removeprefix("refs/heads/")


def _files(side: Side, place: str, *, all_below: bool) -> Iterator[str]:
    """Yield the files that Argo CD reads in a folder (reposerver/repository.go, findManifests). Where there is none it
    keeps what it has.
    """
    if not side.below(place):
        raise _NotPlainError
    for file in sorted(side.below(place)):
        name = file.rpartition("/")[2]
        if dirname(file) != place and not all_below:
            continue
        if name in _OTHERS or name.endswith(".jsonnet"):
            raise _NotPlainError
        if splitext(name)[1] in _READ:
            yield file


def _read(side: Side, file: str, application: Object) -> Iterator[Object]:
    from generator.build.go_yaml import UnreadableError  # noqa: PLC0415
    from generator.build.manifests import documents_with_items, is_manifest  # noqa: PLC0415

    content = side.read(file)
    try:
        found = documents_with_items(content)
    except UnreadableError:
        raise _NotPlainError from None
    if _SKIP in content or not all(map(is_manifest, found)):
        raise _NotPlainError
    yield from (Object(one, application.name, file) for one in found)
