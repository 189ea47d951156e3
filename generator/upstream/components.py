"""From what was gathered to the files of each component: everything of a cluster is settled together, because a CRD of
one component serves objects of another.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs

from generator.components.component import Manifest
from generator.layout.upstream import files as own_files
from generator.layout.upstream import seal
from generator.upstream.documents import UnreadableError, documents
from generator.upstream.folder import Holder, definition_files, laid, object_files, on_disk, others
from generator.upstream.gather import Made
from generator.upstream.served import served, with_manifests
from generator.upstream.settle import Around, Settled, settle
from generator.upstream.target import Site, Target

__all__ = ["Laid", "lay", "objects_in", "settle_all"]


class Laid(Struct, frozen=True):
    """Files of upstream folders and of CRDs in bases, and the folders they replace whole."""

    files: Mapping[str, bytes]
    folders: tuple[str, ...]


def settle_all(root: Path, sites: Sequence[Site], targets: Sequence[Target], made: Sequence[Made]) -> list[Settled]:
    """Return what each target became, in their order."""
    arounds = {site.cluster.name: _around(root, site, targets, made) for site in sites}
    return [
        settle(target.component, one.parts, arounds[target.cluster.name])
        for target, one in zip(targets, made, strict=True)
    ]


def _around(root: Path, site: Site, targets: Sequence[Target], made: Sequence[Made]) -> Around:
    mine = {
        target.component.name: (target, one)
        for target, one in zip(targets, made, strict=True)
        if target.cluster.name == site.cluster.name
    }
    others = [name for name in site.states if name not in mine]
    manifests = [*_manifests(one for _, one in mine.values())]
    own = [one for component in site.components for one in (*component.base, *component.objects)]
    apis = {api for target, _ in mine.values() for api in target.inputs.apis}
    found = with_manifests(served(site.cluster.kubernetes.version, apis), [*own, *manifests])
    if not all(map(found.takes, manifests)):
        # Reading these takes seconds, so only where something is missing.
        found = with_manifests(found, _standing(root, site.cluster.name, others))
    return Around(
        kubernetes=site.cluster.kubernetes.version,
        served=found,
        namespaces=frozenset(space.name for one in site.components for space in one.namespaces),
        complete=site.complete
        and all(site.states[name] != "not vendored" for name in others)
        and not any(part.wrong for _, one in mine.values() for _, part in one.parts),
    )


def _manifests(made: Iterable[Made]) -> Iterable[Manifest]:
    for one in made:
        for _, part in one.parts:
            yield from (item.manifest for item in (*part.definitions, *part.items))


def _standing(root: Path, cluster: str, components: Sequence[str]) -> Iterable[Manifest]:
    for component in components:
        yield from objects_in(on_disk(root, cluster, component).definitions)


def objects_in(files: Mapping[str, bytes]) -> list[Manifest]:
    """Return the objects that stand in vendored files; a file that cannot be read holds none."""
    return [one for name, content in sorted(files.items()) if name.endswith(".yaml") for one in _objects(content)]


def _objects(content: bytes) -> list[Manifest]:
    try:
        found = [document.value for document in documents(content.decode(errors="replace"))]
    except UnreadableError:
        return []
    return [one for one in found if isinstance(one, dict) and {"apiVersion", "kind", "metadata"} <= one.keys()]


def lay(root: Path, sites: Sequence[Site], targets: Sequence[Target], settled: Sequence[Settled]) -> Laid:
    """Return the files of all targets. CRDs go where all clusters with that version of the component agree."""
    fresh = [_holder(target, one) for target, one in zip(targets, settled, strict=True)]
    files: dict[str, bytes] = {}
    folders: list[str] = []
    for component, version in sorted({(one.component, one.version) for one in fresh}):
        mine = [one for one in fresh if (one.component, one.version) == (component, version)]
        movable = {site.cluster.name for site in sites if _stands(site, component, version)}
        found, places = laid(mine, others(root, component, version, {one.cluster for one in mine}, movable))
        files |= found
        folders += places
    return Laid(files, tuple(folders))


def _holder(target: Target, settled: Settled) -> Holder:
    cluster, component = target.cluster, target.component
    items = object_files(cluster.name, component.name, settled.items)
    definitions = definition_files(component.name, component.version, settled.definitions)
    found = structs.replace(settled.found, seal=seal({**items, **definitions}))
    beside = {path.rpartition("/")[2]: content for path, content in own_files(cluster, component, found).items()}
    return Holder(
        cluster=cluster.name,
        component=component.name,
        version=component.version,
        files={**beside, **items},
        definitions=definitions,
    )


def _stands(site: Site, component: str, version: str) -> bool:
    found = next((one for one in site.components if one.name == component), None)
    return found is not None and found.version == version and site.states.get(component) == "vendored"
