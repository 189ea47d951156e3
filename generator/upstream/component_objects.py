"""What a component's charts and manifests become on one cluster: every object in its namespace, none twice, none that
the cluster's Kubernetes does not serve. Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import UNSET, Struct

from generator.build.kinds import Kinds, group_of
from generator.build.objects import Object, targets_object
from generator.components.component import Component, Manifest, Patch
from generator.layout.mirror import shared_images
from generator.layout.upstream import Found
from generator.model.finding import Finding
from generator.upstream.split import Item, Part, called

OWN = "gen's own objects"


class ClusterView(Struct, frozen=True, kw_only=True):
    """What a component finds on its cluster: what the API server takes, the namespaces that gen makes, and whether all
    CRDs are known (`complete`), so that an unknown kind is a mistake and not only unseen.
    """

    kubernetes: str
    served: Kinds
    namespaces: frozenset[str]
    complete: bool


class ComponentObjects(Struct, frozen=True, kw_only=True):
    """A component's objects, its CRDs, and what they need of others."""

    items: tuple[Item, ...] = ()
    definitions: tuple[Item, ...] = ()
    found: Found = Found()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def component_objects(component: Component, parts: Sequence[tuple[str, Part]], view: ClusterView) -> ComponentObjects:
    """Return what the parts become; each stands with the namespace of objects that name none."""
    if refused := [each for _, part in parts for each in part.findings]:
        # What else would be found wrong in a half of it is not worth a word.
        return ComponentObjects(findings=tuple(refused))
    taken = [(item, namespace) for namespace, part in parts for item in part.items]
    items = [_placed(item, namespace, view) for item, namespace in taken if not _is_namespace(item)]
    definitions = [item for _, part in parts for item in part.definitions]
    own = [Item(manifest, OWN, "") for manifest in (*component.base, *component.objects)]
    everything = [*own, *items, *definitions]
    verdicts = [_verdict(item, view) for item, _ in taken]
    notes = [note for _, part in parts for note in part.notes]
    refused = [verdict for verdict in verdicts if isinstance(verdict, Finding)]
    return ComponentObjects(
        items=tuple(items),
        definitions=tuple(definitions),
        found=_found(items, definitions, [steps for _, part in parts for steps in part.idle]),
        notes=(*notes, *(verdict for verdict in verdicts if isinstance(verdict, str))),
        findings=(*refused, *_twice(everything), *_astray(component.patches, everything)),
    )


def _is_namespace(item: Item) -> bool:
    return (item.manifest["apiVersion"], item.manifest["kind"]) == ("v1", "Namespace")


def _verdict(item: Item, view: ClusterView) -> Finding | str | None:
    """Return what is wrong with an object on this cluster, or a note; None where nothing is to be said."""
    manifest, served = item.manifest, view.served
    if _is_namespace(item):
        name = manifest["metadata"]["name"]
        what = f"makes the Namespace {name}, but all Namespaces stand in the Application `namespaces`"
        fix = (
            f"turn it off with values; or let a component of `extras` have it (`namespace: {name}`): this one, or one "
            "that brings nothing else"
        )
        return None if name in view.namespaces else Finding(message=item.told(what), fix=fix)
    if served.takes(manifest):
        return None
    what, here = f"{called(manifest)} is of {manifest['apiVersion']}", f"Kubernetes {view.kubernetes}"
    if served.ours(group_of(manifest["apiVersion"])):
        fix = "take a version of the chart for this Kubernetes"
        return Finding(message=item.told(f"{what}, which {here} does not serve"), fix=fix)
    if view.complete:
        fix = "turn the object off with values, or have the component with its CRD"
        what += f", which {here} with this cluster's CRDs does not serve"
        return Finding(message=item.told(what), fix=fix)
    return item.told(f"{what}, and no CRD that is vendored here serves it")


def _placed(item: Item, namespace: str, view: ClusterView) -> Item:
    """Return an object in the namespace it belongs to."""
    scope = view.served.namespaced(item.manifest["apiVersion"], item.manifest["kind"])
    manifest = _subjects(_into(item.manifest, namespace, namespaced=scope), namespace)
    return Item(manifest, item.origin, item.source)


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


def _twice(items: Iterable[Item]) -> Iterator[Finding]:
    seen: dict[tuple[str, ...], Item] = {}
    files: dict[tuple[str, ...], Item] = {}
    for item in items:
        identity = _identity(item.manifest)
        first = seen.setdefault(identity, item)
        same_file = files.setdefault(_file(item.manifest), item)
        if first is not item:
            what = f"{called(item.manifest)} is there twice: {_from(first)}, and {_from(item)}"
            yield Finding(message=what, fix="turn one of the two off with values")
        elif same_file is not item:
            what = f"{called(item.manifest)} and {called(same_file.manifest)} would be one file"
            yield Finding(message=f"{item.origin}: {what}", fix="turn one of the two off with values")


def _file(manifest: Manifest) -> tuple[str, ...]:
    """Return what decides an object's file, as file systems see it that know no capitals."""
    return tuple(part.replace(":", "-").lower() for part in _identity(manifest)[1:])


def _from(item: Item) -> str:
    return f"{item.source} of {item.origin}" if item.source else f"from {item.origin}"


def _astray(patches: Iterable[Patch], items: Sequence[Item]) -> Iterator[Finding]:
    """Find patches without a target: Kustomize passes over them in silence."""
    for patch in patches:
        if not any(targets_object(patch.target, Object(item.manifest, "", "")) for item in items):
            target = " ".join(patch.target.values())
            yield Finding(
                message=f"gen's patch of {target} meets no object of the charts: it would change nothing",
                fix="if values turned the object off, turn it on; else this version needs another patch",
            )


def _found(items: Sequence[Item], definitions: Sequence[Item], idle: Sequence[tuple[str, ...]]) -> Found:
    manifests = [item.manifest for item in (*items, *definitions)]
    spaces = {space for one in manifests if (space := one["metadata"].get("namespace"))}
    kinds = {"/".join(_identity(one)[:2]) for one in manifests if not one["metadata"].get("namespace")}
    images = shared_images(item.manifest for item in items)
    return Found(
        namespaces=tuple(sorted(spaces)),
        kinds=tuple(sorted(kinds)),
        images=images,
        idle=tuple(sorted(idle)) if idle else UNSET,
    )
