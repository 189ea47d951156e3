"""The files of a component's `upstream/`, and where its CRDs go: into the base when they are the same on every cluster
with this version, else into each overlay.
"""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, structs

from generator.layout.files import Files, objects
from generator.layout.upstream import DEFINITION, INPUTS, KUSTOMIZATION, crds, folder, kustomized
from generator.repository.places import names
from generator.repository.vendored import vendored_names
from generator.upstream.split import Item

# Without a version: a new one would change every file, and with it what nobody needs to look at.
_MADE = f"gen vendor made this from what {INPUTS} names"
_BASE = re.compile(rb"/base/([^/\s]+)/([^/\s]+)/crds\b")


class VendoredFolder(Struct, frozen=True, kw_only=True):
    """One cluster that has a component in a version: the other files of its folder and its CRDs, by name. `shared`: the
    CRDs are taken from the base; `fixed`: this run must not touch it.
    """

    cluster: str
    component: str
    version: str
    files: Files
    definitions: Files
    shared: bool = False
    fixed: bool = False


def object_files(cluster: str, component: str, items: Sequence[Item]) -> Files:
    """Return one file for each object, by its name in the folder."""
    return _files(items, f"overlays/{cluster}/{component}/custom/ ({_MADE})")


def definition_files(component: str, items: Sequence[Item]) -> Files:
    """Return one file for each CRD: the same bytes wherever they go, from whichever of upstream's files."""
    return _files(items, f"overlays/<cluster>/{component}/custom/ ({_MADE})")


def _files(items: Sequence[Item], source: str) -> Files:
    _, made = objects("", [item.manifest for item in items], source)
    return {path.removeprefix("/"): content for path, content in made.items()}


def on_disk(root: Path, cluster: str, component: str) -> VendoredFolder:
    """Return what stands vendored. `version` is that of the base it takes CRDs from, else ""."""
    files = read(root / folder(cluster, component))
    named = _BASE.search(files.get(KUSTOMIZATION, b""))
    version = named[2].decode() if named else ""
    own = {name: content for name, content in files.items() if name.startswith(DEFINITION)}
    return VendoredFolder(
        cluster=cluster,
        component=component,
        version=version,
        files={name: content for name, content in files.items() if name not in own and name != KUSTOMIZATION},
        definitions=_definitions(root / crds(component, version)) if named else own,
        shared=bool(named),
    )


def paths(standing: VendoredFolder) -> Files:
    """Return the files of a component as it stands, CRDs in a base too, by their paths in the repository."""
    place = folder(standing.cluster, standing.component)
    definitions = crds(standing.component, standing.version) if standing.shared else place
    return {f"{place}/{name}": content for name, content in standing.files.items()} | {
        f"{definitions}/{name}": content for name, content in standing.definitions.items()
    }


def other_folders(
    root: Path, component: str, version: str, fresh: Collection[str], movable: Collection[str]
) -> list[VendoredFolder]:
    """Return the clusters, but for the `fresh` ones, that hold CRDs of this version: the `movable` ones, which this run
    may change, and those that take them from the base.
    """
    holding = [name for name in names(root) if name not in fresh and component in vendored_names(root, name)]
    found = [on_disk(root, cluster, component) for cluster in holding]
    return [
        structs.replace(one, version=version, fixed=one.cluster not in movable)
        for one in found
        if one.cluster in movable or one.version == version
    ]


def folder_files(fresh: Sequence[VendoredFolder], standing: Sequence[VendoredFolder]) -> tuple[Files, list[str]]:
    """Return the files of one component in one version, and the folders they replace whole. All folders that are not
    `fixed` come to the same answer: shared CRDs, where they are equal for all; else each has its own.
    """
    everyone = [*fresh, *standing]
    first = everyone[0]
    base = crds(first.component, first.version)
    equal = all(one.definitions == first.definitions for one in everyone)
    # What a cluster that this run must not touch takes from the base has to stay there.
    kept = next((one.definitions for one in standing if one.fixed and one.shared), None)
    shared = first.definitions if equal else kept or {}
    files: Files = {}
    folders = []
    for one in everyone:
        share = bool(shared) and one.definitions == shared
        if one in fresh or (not one.fixed and one.shared != share):
            folders.append(folder(one.cluster, one.component))
            files |= _folder_files(folders[-1], one, base if share else "")
    if kept is None:
        folders.append(base)
        files |= {f"{base}/{name}": content for name, content in shared.items()}
        files |= {f"{base}/{KUSTOMIZATION}": kustomized([*shared])} if shared else {}
    return files, folders


def _folder_files(place: str, one: VendoredFolder, base: str) -> Files:
    found = {**one.files, **({} if base else one.definitions)}
    found[KUSTOMIZATION] = kustomized([*found], base)
    return {f"{place}/{name}": content for name, content in found.items()}


def read(place: Path) -> Files:
    """Return the files of a folder by name."""
    found: Files = {}
    for path in sorted(place.glob("*")):
        # Another process may be replacing the folder; what was read then is found out before anything is written.
        with suppress(FileNotFoundError):
            if path.is_file():
                found[path.name] = path.read_bytes()
    return found


def _definitions(place: Path) -> Files:
    return {name: content for name, content in read(place).items() if name.startswith(DEFINITION)}
