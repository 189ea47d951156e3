"""A cluster's tree, built, with what comes from charts set aside; and broken copies of it."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from msgspec import structs

from generator.build.applications import build as build_all
from generator.build.kustomization import patch_targets
from generator.build.objects import ROOT, Built, Object, TargetedPatch
from generator.components import compose
from generator.components.component import Manifest
from generator.layout.tree import lay_out
from generator.layout.upstream import brings
from generator.model.cluster import Cluster
from tools import need_kustomize
from validation.schemas import definitions


class Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: `=` is text (one CRD has it), and so is a date."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith((":timestamp", ":value"))]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def build(cluster: Cluster, folder: Path, *, quickly: bool = False) -> Built:
    """Write the cluster's tree into `folder` and let Kustomize build each of its Applications, or `quickly` just gather
    what the kustomizations list, which is the same but for patches. CRDs of upstream are at hand.
    """
    tree = lay_out(cluster)
    for path, content in (tree.once | tree.files).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    if not quickly:
        need_kustomize()
    built = gathered(cluster, folder) if quickly else build_all(folder, cluster)
    return structs.replace(built, definitions=definitions(built))


def gathered(cluster: Cluster, folder: Path) -> Built:
    overlays = folder / "overlays" / cluster.name
    places = {one.name: one for one in sorted(overlays.iterdir())}
    places[ROOT] = folder / "clusters" / cluster.name / "argocd"
    root = folder / "clusters" / cluster.name / "bootstrap" / "application-root.yaml"
    objects = [one for name, place in places.items() for one in listed(place, name, folder)]
    return Built(
        name=cluster.name,
        cluster=cluster,
        objects=(*objects, Object(read(root), ROOT, root.relative_to(folder).as_posix())),
        unseen=tuple(sorted(one.name for one in compose(cluster) if brings(one))),
        patches=tuple(
            TargetedPatch(name, f"{place.relative_to(folder).as_posix()}/{file}", index, target)
            for name, place in places.items()
            for file, index, target in patch_targets(place)
        ),
    )


def listed(place: Path, component: str, folder: Path) -> Iterator[Object]:
    """Yield the objects that a kustomization lists, folders below it included; charts and remote manifests are not."""
    for name in read(place / "kustomization.yaml")["resources"] if place.name != "releases" else ():
        path = (place / name).resolve()
        if path.is_dir():
            yield from listed(path, component, folder)
        else:
            yield Object(read(path), component, path.relative_to(folder.resolve()).as_posix())


def read(path: Path) -> Any:
    return yaml.load(path.read_bytes(), Loader)


def find(built: Built, which: str) -> Object:
    """Return the object that is named as `Kind name`."""
    return next(one for one in built.objects if f"{one.kind} {one.name}" == which)


def broken(built: Built, which: str, change: Callable[[Manifest], object]) -> Built:
    """Return a copy in which one object, named as `Kind name`, is changed in place by `change`."""
    found = find(built, which)
    manifest = deepcopy(found.manifest)
    change(manifest)
    changed = structs.replace(found, manifest=manifest)
    return structs.replace(built, objects=tuple(changed if one is found else one for one in built.objects))


def added(built: Built, component: str, *manifests: Manifest) -> Built:
    """Return a copy in which an Application holds more."""
    more = (Object(one, component, f"overlays/{built.name}/{component}/custom/x.yaml") for one in manifests)
    return structs.replace(built, objects=(*built.objects, *more))
