"""What a component's charts and manifests become on one cluster: every object in its namespace, none twice, none that
the cluster's Kubernetes does not serve. Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from generator.components.component import Component, Manifest, Patch
from generator.layout.mirror import sightings
from generator.layout.upstream import Found
from generator.rendered.built import Object, aims_at
from generator.upstream.served import Served
from generator.upstream.split import Item, Part, called
from generator.upstream.wrong import Wrong

__all__ = ["Around", "Settled", "settle"]

OWN = "gen's own objects"


class Around(Struct, frozen=True, kw_only=True):
    """What a component finds on its cluster: what the API server takes, the namespaces that gen makes, and whether all
    CRDs are known (`complete`), so that an unknown kind is a mistake and not only unseen.
    """

    kubernetes: str
    served: Served
    namespaces: frozenset[str]
    complete: bool


class Settled(Struct, frozen=True, kw_only=True):
    """A component's objects, its CRDs, and what they need of others."""

    items: tuple[Item, ...]
    definitions: tuple[Item, ...]
    found: Found
    notes: tuple[str, ...]
    wrong: tuple[Wrong, ...]


def settle(component: Component, parts: Sequence[tuple[str, Part]], around: Around) -> Settled:
    """Return what the parts become; each stands with the namespace of objects that name none."""
    if wrong := [each for _, part in parts for each in part.wrong]:
        # What else would be found wrong in a half of it is not worth a word.
        return Settled(items=(), definitions=(), found=Found(), notes=(), wrong=tuple(wrong))
    work = _Work(around)
    for namespace, part in parts:
        work.notes.extend(part.notes)
        for item in part.items:
            work.take(item, namespace)
        work.definitions.extend(part.definitions)
    everything = [*work.items, *work.definitions]
    own = [Item(manifest, OWN, "") for manifest in (*component.base, *component.objects)]
    work.wrong.extend(_twice([*own, *everything]))
    work.wrong.extend(_astray(component.patches, [*own, *everything]))
    return Settled(
        items=tuple(work.items),
        definitions=tuple(work.definitions),
        found=_found(work.items, work.definitions),
        notes=tuple(work.notes),
        wrong=tuple(work.wrong),
    )


class _Work:
    """One component under way."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self.items: list[Item] = []
        self.definitions: list[Item] = []
        self.notes: list[str] = []
        self.wrong: list[Wrong] = []

    def take(self, item: Item, namespace: str) -> None:
        """Take one object into the namespace it belongs to."""
        if item.manifest["apiVersion"] == "v1" and item.manifest["kind"] == "Namespace":
            self._namespace(item)
            return
        self._serve(item)
        scope = self._around.served.namespaced(item.manifest)
        manifest = _subjects(_into(item.manifest, namespace, namespaced=scope), namespace)
        self.items.append(Item(manifest, item.origin, item.source))

    def _namespace(self, item: Item) -> None:
        name = item.manifest["metadata"]["name"]
        if name not in self._around.namespaces:
            what = f"makes the Namespace {name}, but all Namespaces stand in the Application `namespaces`"
            self.wrong.append(Wrong(_told(item, what), "turn it off with values, or name it in the component"))

    def _serve(self, item: Item) -> None:
        manifest, served = item.manifest, self._around.served
        if served.takes(manifest):
            return
        what, here = f"{called(manifest)} is of {manifest['apiVersion']}", f"Kubernetes {self._around.kubernetes}"
        if served.never(manifest):
            fix = "take a version of the chart for this Kubernetes"
            self.wrong.append(Wrong(_told(item, f"{what}, which {here} does not serve"), fix))
        elif self._around.complete:
            fix = "turn the object off with values, or have the component with its CRD"
            told = f"{what}, which {here} with this cluster's CRDs does not serve"
            self.wrong.append(Wrong(_told(item, told), fix))
        else:
            self.notes.append(_told(item, f"{what}, and no CRD that is vendored here serves it"))


def _told(item: Item, what: str) -> str:
    return f"{item.origin}: {what}" + (f" ({item.source})" if item.source else "")


def _into(manifest: Manifest, namespace: str, *, namespaced: bool | None) -> Manifest:
    """Give an object its namespace, or take it away from one that has no use for it, as the API server does. What is
    not known stays as it is.
    """
    metadata = manifest["metadata"]
    own = metadata.get("namespace")
    if namespaced is None or (own if namespaced else "namespace" not in metadata):
        return manifest
    rest = {key: value for key, value in metadata.items() if key not in {"name", "namespace"}}
    space = {"namespace": namespace} if namespaced else {}
    return {**manifest, "metadata": {"name": metadata["name"], **space, **rest}}


def _subjects(manifest: Manifest, namespace: str) -> Manifest:
    """Give the ServiceAccounts that a binding names their namespace: without it the API server refuses them."""
    if manifest["kind"] not in {"RoleBinding", "ClusterRoleBinding"} or not isinstance(manifest.get("subjects"), list):
        return manifest
    return {**manifest, "subjects": [_subject(each, namespace) for each in manifest["subjects"]]}


def _subject(subject: Any, namespace: str) -> Any:
    if not isinstance(subject, dict) or subject.get("kind") != "ServiceAccount" or subject.get("namespace"):
        return subject
    return {**subject, "namespace": namespace}


def _identity(manifest: Manifest) -> tuple[str, ...]:
    metadata = manifest["metadata"]
    group = manifest["apiVersion"].rpartition("/")[0]
    return group, manifest["kind"], metadata.get("namespace") or "", metadata["name"]


def _twice(items: Iterable[Item]) -> Iterator[Wrong]:
    seen: dict[tuple[str, ...], Item] = {}
    files: dict[tuple[str, ...], Item] = {}
    for item in items:
        identity = _identity(item.manifest)
        first = seen.setdefault(identity, item)
        same_file = files.setdefault(_file(item.manifest), item)
        if first is not item:
            what = f"{called(item.manifest)} is there twice: {_from(first)}, and {_from(item)}"
            yield Wrong(what, "turn one of the two off with values")
        elif same_file is not item:
            what = f"{called(item.manifest)} and {called(same_file.manifest)} would be one file"
            yield Wrong(f"{item.origin}: {what}", "turn one of the two off with values")


def _file(manifest: Manifest) -> tuple[str, ...]:
    """Return what decides an object's file, as file systems see it that know no capitals."""
    return tuple(part.replace(":", "-").lower() for part in _identity(manifest)[1:])


def _from(item: Item) -> str:
    return f"{item.source} of {item.origin}" if item.source else f"from {item.origin}"


def _astray(patches: Iterable[Patch], items: Sequence[Item]) -> Iterator[Wrong]:
    """Find patches without a target: Kustomize passes over them in silence."""
    for patch in patches:
        if not any(aims_at(patch.target, Object(item.manifest, "", "")) for item in items):
            target = " ".join(patch.target.values())
            yield Wrong(
                f"gen's patch of {target} meets no object of the charts: it would change nothing",
                "if values turned the object off, turn it on; else this version needs another patch",
            )


def _found(items: Sequence[Item], definitions: Sequence[Item]) -> Found:
    manifests = [item.manifest for item in (*items, *definitions)]
    spaces = {space for one in manifests if (space := one["metadata"].get("namespace"))}
    kinds = {"/".join(_identity(one)[:2]) for one in manifests if not one["metadata"].get("namespace")}
    images = sightings(item.manifest for item in items)
    return Found(namespaces=tuple(sorted(spaces)), kinds=tuple(sorted(kinds)), images=images)
