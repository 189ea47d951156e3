"""From what was gathered to the files of each component: everything of a cluster is settled together, because a CRD of
one component serves objects of another.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs

from generator.build.go_yaml import UnreadableError
from generator.build.kinds import Kinds
from generator.components.component import Manifest
from generator.layout.upstream import files as own_files
from generator.layout.upstream import seal
from generator.model.served import minor_of
from generator.upstream.component_objects import ClusterView, ComponentObjects, component_objects
from generator.upstream.documents import documents
from generator.upstream.gather import Inflated
from generator.upstream.tasks import ClusterSite, Task
from generator.upstream.vendored_files import (
    VendoredFolder,
    definition_files,
    folder_files,
    object_files,
    on_disk,
    other_folders,
)


class FileLayout(Struct, frozen=True):
    """Files of upstream folders and of CRDs in bases, and the folders they replace whole."""

    files: Mapping[str, bytes]
    folders: tuple[str, ...]


class FinishedTask(Struct, frozen=True):
    """What was gathered for a task, and what it is on its cluster."""

    made: Inflated
    objects: ComponentObjects

    @property
    def task(self) -> Task:
        """The component of a cluster."""
        return self.made.task


def all_component_objects(root: Path, sites: Sequence[ClusterSite], made: Sequence[Inflated]) -> list[FinishedTask]:
    """Return what each task became, in their order."""
    views = {site.cluster.name: _view(root, site, made) for site in sites}
    return [
        FinishedTask(one, component_objects(one.task.component, one.parts, views[one.task.cluster.name]))
        for one in made
    ]


def _view(root: Path, site: ClusterSite, made: Sequence[Inflated]) -> ClusterView:
    mine = [one for one in made if one.task.cluster.name == site.cluster.name]
    others = {*site.states} - {one.task.component.name for one in mine}
    manifests = [item.manifest for one in mine for _, part in one.parts for item in (*part.definitions, *part.items)]
    own = [one for component in site.components for one in (*component.base, *component.objects)]
    apis = {api for one in mine for api in one.task.inputs.apis}
    known = Kinds.at(minor_of(site.cluster.kubernetes.version), apis)
    found = known.joined([*own, *manifests])
    if not all(map(found.takes, manifests)):
        # Reading these takes seconds, so only where something is missing.
        found = known.joined([*_standing(root, site.cluster.name, sorted(others)), *own, *manifests])
    return ClusterView(
        kubernetes=site.cluster.kubernetes.version,
        served=found,
        namespaces=frozenset(space.name for one in site.components for space in one.namespaces),
        complete=site.complete
        and all(site.states[name] != "not vendored" for name in others)
        and not any(part.findings for one in mine for _, part in one.parts),
    )


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


def lay_out_files(root: Path, sites: Sequence[ClusterSite], ready: Sequence[FinishedTask]) -> FileLayout:
    """Return the files of all tasks. CRDs go where all clusters with that version of the component agree."""
    fresh = [_vendored_folder(one) for one in ready]
    files: dict[str, bytes] = {}
    folders: list[str] = []
    for component, version in sorted({(one.component, one.version) for one in fresh}):
        mine = [one for one in fresh if (one.component, one.version) == (component, version)]
        movable = {site.cluster.name for site in sites if _stands(site, component, version)}
        found, places = folder_files(
            mine, other_folders(root, component, version, {one.cluster for one in mine}, movable)
        )
        files |= found
        folders += places
    return FileLayout(files, tuple(folders))


def _vendored_folder(ready: FinishedTask) -> VendoredFolder:
    cluster, component, objects = ready.task.cluster, ready.task.component, ready.objects
    items = object_files(cluster.name, component.name, objects.items)
    definitions = definition_files(component.name, objects.definitions)
    found = structs.replace(objects.found, sources=ready.made.sources, seal=seal({**items, **definitions}))
    beside = {path.rpartition("/")[2]: content for path, content in own_files(cluster, component, found).items()}
    return VendoredFolder(
        cluster=cluster.name,
        component=component.name,
        version=component.version,
        files={**beside, **items},
        definitions=definitions,
    )


def _stands(site: ClusterSite, component: str, version: str) -> bool:
    found = next((one for one in site.components if one.name == component), None)
    return found is not None and found.version == version and site.states.get(component) == "vendored"
