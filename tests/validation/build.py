"""A cluster's tree as Kustomize builds it, with what comes from charts set aside."""

import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from generator.layout.tree import lay_out
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from tools import need_kustomize

__all__ = ["ROOT", "Built", "Loader", "Object", "Patch", "added", "broken", "build", "told"]

Object: TypeAlias = dict[str, Any]

ROOT = "root"
"""The Application that holds the others."""


class Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: `=` is text (one CRD has it), and so is a date."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith((":timestamp", ":value"))]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class Patch:
    """A patch of ours on an object that is not built here, because a chart or an upstream manifest makes it."""

    application: str
    target: dict[str, str]


@dataclass(frozen=True)
class Built:
    """A cluster with everything that Argo CD would apply for it, less what charts and upstream manifests bring."""

    cluster: Cluster
    objects: dict[str, list[Object]]
    """By Application; those of `root` are the Applications and projects themselves."""
    values: dict[tuple[str, str], Object]
    """Chart values by component and release."""
    charts: dict[tuple[str, str], Object]
    """What Kustomize is told of a chart, by component and release."""
    secrets: list[Object]
    """Secrets that are declared."""
    unproven: list[Patch]
    nodes: list[Object]
    """Name, labels, taints and resources of each node, as kubeadm registers it."""

    def all(self) -> Iterator[tuple[str, Object]]:
        """Yield each object with its Application."""
        for application, found in self.objects.items():
            for one in found:
                yield application, one

    def of(self, *kinds: str) -> Iterator[tuple[str, Object]]:
        """Yield the objects of some kinds."""
        return ((application, one) for application, one in self.all() if one["kind"] in kinds)


def told(application: str, manifest: Object) -> str:
    """Name an object in a message."""
    metadata = manifest["metadata"]
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{application}: {manifest['kind']} {place}{metadata['name']}"


def build(cluster: Cluster, folder: Path, *, quickly: bool = False) -> Built:
    """Write the cluster's tree into `folder` and let Kustomize build each of its Applications, or `quickly` just gather
    what the kustomizations list, which is the same but for patches.
    """
    tree = lay_out(cluster)
    for path, content in (tree.once | tree.files).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    overlays = folder / "overlays" / cluster.name
    places = {one.name: one for one in sorted(overlays.iterdir())}
    places[ROOT] = folder / "clusters" / cluster.name / "argocd"
    charts = {key: chart for name in places for key, chart in set_aside(overlays / name).items()}
    with ThreadPoolExecutor(2) as pool:
        made = dict(zip(places, pool.map(gather if quickly else build_one, places.values()), strict=True))
    # Bootstrap applies the root by hand; it is judged with the Applications that it holds.
    made[ROOT][0].append(read(folder / "clusters" / cluster.name / "bootstrap" / "application-root.yaml"))
    return Built(
        cluster=cluster,
        objects={name: objects for name, (objects, _) in made.items()},
        values={key: read(overlays / key[0] / "releases" / chart["valuesFile"]) for key, chart in charts.items()},
        charts=charts,
        secrets=read(folder / "clusters" / cluster.name / "bootstrap" / "secrets.yaml")["secrets"],
        unproven=[patch for _, left in made.values() for patch in left],
        nodes=nodes(cluster, folder / "clusters" / cluster.name / "bootstrap" / "kubeadm"),
    )


def nodes(cluster: Cluster, folder: Path) -> list[Object]:
    """Return the nodes that kubeadm's files make. GPUs and HCAs are what the cluster file says."""
    machines = {machine.name: machine for machine in cluster.machines}
    documents = [one for path in sorted(folder.glob("*.yaml")) for one in yaml.load_all(path.read_bytes(), Loader)]
    found = [node(one["nodeRegistration"], machines) for one in documents if "nodeRegistration" in one]
    assert len(found) == len(machines)
    return found


def node(registration: Object, machines: dict[str, Machine]) -> Object:
    name = registration["name"]
    given = next(one["value"] for one in registration["kubeletExtraArgs"] if one["name"] == "node-labels")
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if machines[name].role == "control-plane":
        labels["node-role.kubernetes.io/control-plane"] = ""
    labels |= dict(pair.split("=", 1) for pair in given.split(","))
    gpus = {"nvidia.com/gpu"} if machines[name].gpu else set()
    return {"name": name, "labels": labels, "taints": registration.get("taints", []), "resources": gpus}


def read(path: Path) -> Any:
    return yaml.load(path.read_bytes(), Loader)


def set_aside(overlay: Path) -> dict[tuple[str, str], Object]:
    """Empty the folder that stands for charts and upstream manifests; return what it said of charts."""
    path = overlay / "releases" / "kustomization.yaml"
    if not path.exists():
        return {}
    charts = read(path).get("helmCharts", ())
    path.write_bytes(b"resources: []\n")
    return {(overlay.name, chart["releaseName"]): chart for chart in charts}


def build_one(folder: Path) -> tuple[list[Object], list[Patch]]:
    """Return what Kustomize builds and the patches for which it has no object."""
    file = folder / "generated" / "kustomization.yaml"
    if not file.exists():
        return kustomize(folder), []
    component = read(file)
    file.write_text(yaml.safe_dump({**component, "patches": []}))
    plain = kustomize(folder)
    proven = [patch for patch in component["patches"] if any(aims_at(patch["target"], one) for one in plain)]
    left = [Patch(folder.name, patch["target"]) for patch in component["patches"] if patch not in proven]
    file.write_text(yaml.safe_dump({**component, "patches": proven}))
    return kustomize(folder) if proven else plain, left


def gather(folder: Path) -> tuple[list[Object], list[Patch]]:
    """Return the objects that a kustomization lists, folders below it included."""
    found: list[Object] = []
    for name in read(folder / "kustomization.yaml")["resources"]:
        place = folder / name
        found += gather(place)[0] if place.is_dir() else [read(place)]
    return found, []


def kustomize(folder: Path) -> list[Object]:
    done = subprocess.run([*need_kustomize(), str(folder)], capture_output=True, check=False)
    assert done.returncode == 0, f"{folder}: {done.stderr.decode()}"
    return [one for one in yaml.load_all(done.stdout, Loader) if one]


def aims_at(target: dict[str, str], manifest: Object) -> bool:
    """Tell whether Kustomize would apply a patch: its target is made of regular expressions for whole words."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    metadata = manifest["metadata"]
    found = {"group": group, "version": version, "kind": manifest["kind"], "name": metadata["name"]}
    found["namespace"] = metadata.get("namespace", "")
    return all(re.fullmatch(wanted, found[key]) for key, wanted in target.items())


def broken(built: Built, which: str, change: Callable[[Object], object]) -> Built:
    """Return a copy in which one object, named as `Kind name`, is changed in place by `change`."""
    objects = deepcopy(built.objects)
    found = [one for made in objects.values() for one in made if f"{one['kind']} {one['metadata']['name']}" == which]
    assert found, which
    change(found[0])
    return replace(built, objects=objects)


def added(built: Built, application: str, *manifests: Object) -> Built:
    """Return a copy in which an Application holds more."""
    return replace(built, objects={**built.objects, application: [*built.objects[application], *manifests]})
