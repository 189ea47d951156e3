"""Kubernetes objects as they would be applied, and where each of them is written."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from generator.components.component import Manifest
from generator.model.cluster import Cluster
from generator.model.fields import mapping
from generator.model.finding import Finding, ObjectRef, full_name
from generator.model.opening import written

ROOT = "root"
"""The Application that holds the others; its objects are the Applications and projects."""


class Object(Struct, frozen=True):
    """One object: the Application (component) that holds it, empty in a plain folder, and the file it is written in,
    relative to the repository's root (or to the folder). Objects of different variants are never applied together.
    `unfinished` tells that a kustomization, which was not built, names the file: it may add what is missing. `retagged`
    are the images whose tags kustomizations set. `substituted` tells that Flux replaces variables in what it applies.
    """

    manifest: Manifest
    component: str
    file: str
    variant: str = ""
    unfinished: bool = False
    retagged: frozenset[str] = frozenset()
    substituted: bool = False

    @property
    def vendored(self) -> bool:
        """Whether a chart or an upstream manifest brought it."""
        return bool(self.component) and f"/{self.component}/upstream/" in self.file

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.manifest["kind"])

    @property
    def version(self) -> str:
        """Its apiVersion."""
        return str(self.manifest["apiVersion"])

    @property
    def group(self) -> str:
        """The group of its version, empty for the core."""
        return self.version.rpartition("/")[0]

    @property
    def namespace(self) -> str:
        """Its namespace, empty where it has none."""
        return written(self.manifest["metadata"].get("namespace") or "")

    @property
    def name(self) -> str:
        """Its name."""
        metadata = self.manifest["metadata"]
        return str(metadata.get("name") or metadata["generateName"])

    @property
    def labels(self) -> dict[str, Any]:
        """Its labels."""
        return mapping(self.manifest["metadata"].get("labels"))

    @property
    def annotations(self) -> dict[str, Any]:
        """Its annotations."""
        return mapping(self.manifest["metadata"].get("annotations"))

    @property
    def spec(self) -> dict[str, Any]:
        """What it says of itself, empty for kinds that have no `spec`."""
        return mapping(self.manifest.get("spec"))

    @property
    def identity(self) -> tuple[str, str, str, str] | None:
        """What makes two of them the same object on an API server: group, kind, namespace, name. None for one that
        only has the beginning of a name: the server makes another each time.
        """
        return (self.group, self.kind, self.namespace, self.name) if self.manifest["metadata"].get("name") else None

    def left_open(self, text: object) -> bool:
        """Tell whether a text is not yet what is applied: SOPS has encrypted it, or a variable in it is replaced by
        Flux, or perhaps by what builds the kustomization that names the file.
        """
        if not isinstance(text, str):
            return False
        variable = ("${" in text and (self.substituted or self.unfinished)) or ("$(" in text and self.unfinished)
        return variable or text.startswith("ENC[")

    @property
    def full_name(self) -> str:
        """How people name it: `Kind namespace/name`."""
        return full_name(self.kind, self.namespace, self.name)

    @property
    def ref(self) -> ObjectRef:
        """How a finding names it."""
        return ObjectRef(self.version, self.kind, self.namespace, self.name, self.component)

    def finding(self, message: str, *at: str | int, fix: str = "", cause: str = "") -> Finding:
        """Make a finding of what lies at a path into the manifest, or is missing there."""
        return Finding(file=self.file, object=self.ref, message=message, at=at, fix=fix, cause=cause)


class TargetedPatch(Struct, frozen=True):
    """A patch of an Application that names its target: the file, and which of its patches this is."""

    component: str
    file: str
    index: int
    target: dict[str, str]


class Elsewhere(Struct, frozen=True):
    """What an Application takes from the network: the field of the kustomization that wants it, its address or the name
    of the chart, and all that is said of it.
    """

    component: str
    file: str
    field: str
    address: str
    said: Any


class Built(Struct, frozen=True, kw_only=True, eq=False):
    """Everything that is applied to one cluster, or that lies in a folder. Equal only to itself, so that what many
    rules ask for can be kept with it as a key.

    `cluster` is None for a folder that belongs to none; what needs the cluster file is then not judged. `unseen` names
    components of which something is in nobody's sight: charts and manifests that are not vendored, or, for those that
    are in `remote` as well, only what the user's own kustomizations want from the network; an empty name in `remote`
    stands for a folder of no component. `notes` say in words what else could not be read or judged. `definitions` are
    CRDs that are at hand and not applied here, `patches` are those that name a target. `digests` are those of images
    that `gen.lock` has. `elsewhere` is what `remote` is about. `into` is the namespace that somebody named for what is
    brought. `findings` are about files and folders that should have been judged and could not be; `broken` are their
    Applications.
    """

    name: str
    cluster: Cluster | None
    objects: tuple[Object, ...]
    unseen: tuple[str, ...] = ()
    remote: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    definitions: tuple[Manifest, ...] = ()
    patches: tuple[TargetedPatch, ...] = ()
    digests: Mapping[str, str] = {}
    findings: tuple[Finding, ...] = ()
    broken: tuple[str, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    into: str = ""

    @property
    def unvendored(self) -> tuple[str, ...]:
        """The components that `gen vendor` would complete."""
        return tuple(one for one in self.unseen if one not in self.remote)

    def of(self, *kinds: str) -> Iterator[Object]:
        """Yield the objects of some kinds, in their order."""
        places = _places(self)
        numbers = [each for kind in dict.fromkeys(kinds) for each in places.get(kind, ())]
        return (self.objects[number] for number in (sorted(numbers) if len(kinds) > 1 else numbers))


@lru_cache(maxsize=4)
def _places(built: Built) -> dict[str, list[int]]:
    """Return which of the objects are of each kind."""
    found: dict[str, list[int]] = {}
    for number, one in enumerate(built.objects):
        found.setdefault(one.kind, []).append(number)
    return found


def targets_object(target: dict[str, str], one: Object) -> bool:
    """Tell whether Kustomize would apply a patch: a target is made of regular expressions for whole words. Selectors
    by label or annotation are taken to match.
    """
    version = one.version.rpartition("/")[2]
    found = {"group": one.group, "version": version, "kind": one.kind, "name": one.name, "namespace": one.namespace}
    try:
        return all(re.fullmatch(str(target[key]), value) for key, value in found.items() if target.get(key))
    except re.error:
        return True
