"""Who owns what, and what must not be in a repository at all."""

import re
from collections import defaultdict
from collections.abc import Iterator

from validation.build import ROOT, Built, Object, told
from validation.pods import containers, workloads
from validation.references import index
from validation.schemas import BUILT_IN, crds, folders

__all__ = ["misplaced", "secrets", "shared_objects", "unpinned_images", "unresolved_namespaces"]

# Kinds of built-in groups that live in no namespace.
CLUSTER_SCOPED = {
    "APIService", "ClusterRole", "ClusterRoleBinding", "CSIDriver", "CustomResourceDefinition", "IngressClass",
    "Namespace", "PersistentVolume", "PriorityClass", "RuntimeClass", "StorageClass", "ValidatingAdmissionPolicy",
    "MutatingWebhookConfiguration", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
    "VolumeAttributesClass",
}  # fmt: skip


def shared_objects(built: Built) -> list[str]:
    """Return objects that two Applications hold: each would undo and prune what the other does."""
    owners = defaultdict(list)
    for application, one in built.all():
        metadata = one["metadata"]
        group = one["apiVersion"].rpartition("/")[0]
        owners[group, one["kind"], metadata.get("namespace", ""), metadata["name"]].append(application)
    return [f"{' '.join(filter(None, key))}: {', '.join(found)}" for key, found in owners.items() if len(found) > 1]


def misplaced(built: Built) -> list[str]:
    """Return objects with a namespace that should have none, or without one that should."""
    known = tuple(folders(built.cluster))
    found = []
    for application, one in built.all():
        wanted = namespaced(one, known)
        if wanted is not None and wanted != ("namespace" in one["metadata"]):
            found.append(f"{told(application, one)}: {'no namespace' if wanted else 'lives in no namespace'}")
    return found


def namespaced(manifest: Object, known: tuple[str, ...]) -> bool | None:
    """Tell whether objects of a kind live in namespaces; None where no CRD says it."""
    group = manifest["apiVersion"].rpartition("/")[0]
    if group in BUILT_IN:
        return manifest["kind"] not in CLUSTER_SCOPED
    scopes = {crd["spec"]["scope"] for crd in crds(group, manifest["kind"], known)}
    return scopes == {"Namespaced"} if scopes else None


def unresolved_namespaces(built: Built) -> list[str]:
    """Return namespaces that charts and Applications go to and nobody makes."""
    there = {target for kind, _, target in index(built) if kind == "Namespace"}
    wanted = [(f"{key[0]}: release {key[1]}", chart["namespace"]) for key, chart in built.charts.items()]
    wanted += [
        (told(ROOT, one), one["spec"]["destination"]["namespace"])
        for one in built.objects[ROOT]
        if one["kind"] == "Application"
    ]
    wanted += [(f"secrets.yaml: {one['name']}", one["namespace"]) for one in built.secrets]
    return [f"{who}: no namespace {space}" for who, space in wanted if space not in there]


def secrets(built: Built) -> list[str]:
    """Return Secrets with data, and anything that looks like a private key or a token."""
    full = [
        told(application, one) for application, one in built.of("Secret") if one.get("data") or one.get("stringData")
    ]
    texts = [(told(application, one), str(one)) for application, one in built.all()]
    texts += [(f"values of {'/'.join(key)}", str(values)) for key, values in built.values.items()]
    return full + [who for who, text in texts if SECRET.search(text)]


SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bghp_\w{36}|\beyJ[\w-]{20,}\.eyJ|AGE-SECRET-KEY-"
)


def unpinned_images(built: Built) -> list[str]:
    """Return images without a tag or digest, and moving tags, in pods and anywhere else in objects."""
    named = [(told(application, one), image) for application, one in built.all() for image in images(one)]
    named += [
        (told(application, maker), c["image"]) for application, maker, pod in workloads(built) for c in containers(pod)
    ]
    return sorted({f"{who}: {image}" for who, image in named if not pinned(image)})


def images(part: object) -> Iterator[str]:
    """Yield every text below a key `image`; NVIDIA's operators take it in parts."""
    if isinstance(part, list):
        for one in part:
            yield from images(one)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key == "image" and isinstance(value, str):
                yield f"{value}:{part['version']}" if {"repository", "version"} <= part.keys() else value
            yield from images(value)


def pinned(image: str) -> bool:
    name = image.rpartition("/")[2]
    if "@sha256:" in name:
        return True
    tag = name.partition(":")[2]
    return bool(tag) and tag not in {"latest", "master", "main", "stable", "edge", "nightly"}
