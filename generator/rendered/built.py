"""Kubernetes objects as they would be applied, and where each of them is written."""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from generator.components.component import Manifest
from generator.model.cluster import Cluster
from generator.rendered.faults import Fault

__all__ = ["ROOT", "Aim", "Built", "Object", "aims_at"]

ROOT = "root"
"""The Application that holds the others; its objects are the Applications and projects."""


class Object(Struct, frozen=True):
    """One object: the Application (component) that holds it, empty in a plain folder, and the file it is written in,
    relative to the repository's root (or to the folder).
    """

    manifest: Manifest
    component: str
    file: str

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.manifest["kind"])

    @property
    def namespace(self) -> str:
        """Its namespace, empty where it has none."""
        return str(self.manifest["metadata"].get("namespace") or "")

    @property
    def name(self) -> str:
        """Its name."""
        metadata = self.manifest["metadata"]
        return str(metadata.get("name") or metadata["generateName"])

    @property
    def told(self) -> str:
        """How people name it: `Kind namespace/name`."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Aim(Struct, frozen=True):
    """A patch of an Application that names its target: the file, and which of its patches this is."""

    component: str
    file: str
    index: int
    target: dict[str, str]


class Built(Struct, frozen=True, kw_only=True):
    """Everything that is applied to one cluster, or that lies in a folder.

    `cluster` is None for a folder that belongs to none; what needs the cluster file is then not judged. `unseen` names
    components whose charts and manifests are not vendored: what they make is in nobody's sight. `notes` say in words
    what else could not be read or judged. `definitions` are CRDs that are at hand and not applied here, `patches` are
    those that name a target. `digests` are those of images that `gen.lock` has.
    `faults` are files and folders that should have been judged and could not be.
    """

    name: str
    cluster: Cluster | None
    objects: tuple[Object, ...]
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    definitions: tuple[Manifest, ...] = ()
    patches: tuple[Aim, ...] = ()
    digests: Mapping[str, str] = {}
    faults: tuple[Fault, ...] = ()

    def of(self, *kinds: str) -> Iterator[Object]:
        """Yield the objects of some kinds."""
        return (one for one in self.objects if one.kind in kinds)


def aims_at(target: dict[str, str], one: Object) -> bool:
    """Tell whether Kustomize would apply a patch: a target is made of regular expressions for whole words. Selectors
    by label or annotation are taken to match.
    """
    group, _, version = str(one.manifest["apiVersion"]).rpartition("/")
    found = {"group": group, "version": version, "kind": one.kind, "name": one.name, "namespace": one.namespace}
    try:
        return all(re.fullmatch(str(target[key]), value) for key, value in found.items() if target.get(key))
    except re.error:
        return True
