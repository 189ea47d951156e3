"""What a component brings from upstream: what it is inflated from, and what was found in it.

`overlays/<cluster>/<component>/upstream/` holds a file of each beside the objects: `inputs.yaml` and `found.json`.
Whether the folder is still true is a comparison of bytes, so that rendering starts no program and parses nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from generator.components import offered
from generator.components.component import HELM, Component, Release
from generator.layout.files import Files, document, kustomization
from generator.layout.lock import LockFile
from generator.layout.mirror import SharedImage
from generator.layout.states import State
from generator.model.cluster import Cluster

INPUTS, FOUND, KUSTOMIZATION = "inputs.yaml", "found.json", "kustomization.yaml"
DEFINITION = "customresourcedefinition-"
"""How the file of a CRD begins."""


class Inputs(Struct, frozen=True, kw_only=True, rename="camel"):
    """All that decides what charts and manifests become, but for their own bytes, which `gen.lock` holds.

    `apis` are API versions beyond Kubernetes' own that templates may ask for; `namespace` is where objects of
    manifests go that name none, and `secrets` what becomes of its Secrets in them.
    """

    helm: str
    kubernetes: str
    apis: tuple[str, ...] = ()
    namespace: str
    releases: tuple[Release, ...] = ()
    manifests: tuple[str, ...] = ()
    secrets: dict[str, Literal["drop", "placeholder"]] | UnsetType = UNSET


class Found(Struct, frozen=True, kw_only=True):
    """What the inflated objects need of others: the namespaces and the cluster-scoped kinds ("group/Kind", core:
    "/Kind") that Argo CD's project must allow. CRDs are among the kinds, wherever their files lie. `images` are those
    that the objects name. `sources` are the charts and manifests that they came from, in the digests of `gen.lock`;
    `seal` is the digest of all that stands beside this file. `idle` are keys of the cluster file's values that the
    chart does not know.
    """

    namespaces: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    images: tuple[SharedImage, ...] = ()
    sources: Mapping[str, str] = {}
    seal: str = ""
    idle: tuple[tuple[str, ...], ...] | UnsetType = UNSET


class Upstream(Struct, frozen=True):
    """One component's committed folder: the bytes of its inputs, what was found, and the folder of a base that it takes
    its CRDs from, empty where it has its own or none.
    """

    inputs: bytes
    found: Found
    base: str = ""


def brings(component: Component) -> bool:
    """Tell whether the component has anything that is to be vendored."""
    return bool(component.releases or component.manifests)


def folder(cluster: str, component: str) -> str:
    """Return where a component's inflated objects lie."""
    return f"overlays/{cluster}/{component}/upstream"


def crds(component: str, version: str) -> str:
    """Return where CRDs lie that are the same on every cluster with this version."""
    return f"base/{component}/{version}/crds"


def home(component: Component) -> str | None:
    """Return where objects without a namespace of their own would go, None where the component has no place at all."""
    manifests = [*component.base, *component.objects]
    manifests += [template for operation in component.operations for template in operation.templates]
    spaces = [space.name for space in component.namespaces] + [release.namespace for release in component.releases]
    spaces += [space for one in manifests if (space := one["metadata"].get("namespace"))]
    return spaces[0] if spaces else None


def inputs(cluster: Cluster, component: Component) -> Inputs:
    """Return what the component's charts and manifests are to be inflated from."""
    return Inputs(
        helm=HELM,
        kubernetes=cluster.kubernetes.version,
        apis=offered(cluster),
        namespace=home(component) or "default",
        releases=component.releases,
        manifests=component.manifests,
        secrets=component.manifest_secrets or UNSET,
    )


def inputs_file(cluster: Cluster, component: Component) -> bytes:
    """Return `inputs.yaml` as it should be."""
    return document(msgspec.to_builtins(inputs(cluster, component)), "nothing: `gen vendor` writes this folder")


def state(cluster: Cluster, component: Component, known: Upstream | None, lock: LockFile) -> State:
    """Tell whether what is committed is what the cluster file asks for, and what `gen.lock` names: after a merge the
    one may be of one side, the other of the other.
    """
    if known is None:
        return "not vendored"
    locked = {**lock.charts, **lock.manifests}
    same = all(locked.get(name) == digest for name, digest in known.found.sources.items())
    return "vendored" if same and known.inputs == inputs_file(cluster, component) else "stale"


def files(cluster: Cluster, component: Component, found: Found) -> Files:
    """Return the two files that stand beside the inflated objects."""
    place = folder(cluster.name, component.name)
    text = msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"
    return {f"{place}/{INPUTS}": inputs_file(cluster, component), f"{place}/{FOUND}": text}


def kustomized(names: Iterable[str], base: str = "") -> bytes:
    """Return the kustomization of a folder whose files have these names; `base` is where its CRDs stand instead."""
    resources = sorted(name for name in names if name not in {INPUTS, FOUND, KUSTOMIZATION})
    content = kustomization([*resources, *([f"../../../../{base}"] if base else [])])
    return document(content, "nothing: `gen vendor` writes this folder")


def seal(objects: Mapping[str, bytes]) -> str:
    """Return the digest of a component's objects and CRDs by name, wherever these stand."""
    from hashlib import sha256  # noqa: PLC0415 - slow to import, and an unchanged render needs none

    found = sha256()
    for name, content in sorted(objects.items()):
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return f"sha256:{found.hexdigest()}"
