"""Kubernetes objects as files: names, first lines, kustomizations."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.layout.emit import emit

KUSTOMIZATION_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""How the file of a kustomization may be called."""

Files = dict[str, bytes]
"""Posix paths, relative to the repository's root, and what stands in each file."""


def joined(*parts: Files) -> Files:
    """Return the files of all parts. Raises UsageError for a path that two of them would write differently."""
    found: Files = {}
    for path, content in (file for part in parts for file in part.items()):
        if found.setdefault(path, content) != content:
            raise UsageError(f"{path}: two different files would have this path; give one of the two another name")
    return found


def document(value: Any, source: str) -> bytes:
    """Return a generated YAML file; its first line says what to edit instead."""
    return f"# Written by gen. Do not edit; instead: {source}\n{emit(value)}".encode()


def objects(
    folder: str, manifests: Sequence[Manifest], source: str, named: Collection[str] = ()
) -> tuple[list[str], Files]:
    """Return one file for each object, and the files' names in a stable order. A name says the namespace where another
    object has the same, and always where it is one of `named`: others of the kind may come. Raises ValueError for two
    objects in one file, and for a name or namespace that would lead out of the folder.
    """
    counted = Counter(_name(manifest) for manifest in manifests)
    files: Files = {}
    for manifest in manifests:
        name = _name(manifest)
        namespace = manifest["metadata"].get("namespace", "cluster")
        if counted[name] > 1 or namespace in named:
            name = f"{name}.{namespace}"
        if {"/", "\\", "\0"} & set(name):
            raise ValueError(f"{name!r}: no file can be named after this object")
        path = f"{folder}/{name}.yaml"
        if path in files:
            raise ValueError(f"{path}: two objects of one kind, name and namespace")
        files[path] = document(manifest, source)
    return sorted(path.rpartition("/")[2] for path in files), files


def _name(manifest: Manifest) -> str:
    # Names of RBAC objects may hold colons, which Windows and some tools refuse in a path.
    return f"{manifest['kind'].lower()}-{manifest['metadata']['name'].replace(':', '-')}"


def kustomization(
    resources: Iterable[str], components: Iterable[str] = (), charts: Sequence[Manifest] = ()
) -> Manifest:
    """Return a kustomization. An empty list is written out: Kustomize refuses a file that says nothing."""
    found = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(resources),
        "components": list(components),
        "helmCharts": list(charts),
    }
    return {key: value for key, value in found.items() if value or key == "resources"}


def corner(folder: str, text: str) -> Files:
    """Return the user's corner of a folder: an empty Kustomize Component that is made once and never written again;
    `text` says what it is for.
    """
    return {f"{folder}/custom/kustomization.yaml": (text + emit(component_file(resources=[]))).encode()}


def component_file(**content: Any) -> Manifest:
    """Return a Kustomize Component."""
    return {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", **content}
