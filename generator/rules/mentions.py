"""What objects and their pods name."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from generator.build.objects import Built, Object
from generator.build.pods import Pod, containers, pods_of
from generator.build.workflow_pods import AT_SUBMISSION
from generator.components import CATALOGUE, OPERATED
from generator.components.component import Manifest
from generator.components.operated import OWN, SAID, Names
from generator.model.fields import dig, mapping, sequence, spots
from generator.model.finding import Path, full_name

BACKENDS = ("spec.defaultBackend", "spec.rules.*.http.paths.*.backend")
"""Where the traffic of an Ingress goes."""

STORAGE: Names = (("StorageClass", "spec.storageClassName"),)
HOOKS: Names = (("Service", "webhooks.*.clientConfig.service.name", SAID),)


def device_classes(devices: str) -> Names:
    """Return where a claim of devices names their classes, in any version of the API."""
    requests = f"{devices}.requests.*"
    ways = (requests, f"{requests}.exactly", f"{requests}.firstAvailable.*")
    return tuple(("DeviceClass", f"{way}.deviceClassName") for way in ways)


NAMES: dict[str, Names] = {
    "APIService": (("Service", "spec.service.name", SAID),),
    "CustomResourceDefinition": (("Service", "spec.conversion.webhook.clientConfig.service.name", SAID),),
    "Ingress": (
        ("IngressClass", "spec.ingressClassName"),
        ("Secret", "spec.tls.*.secretName", OWN),
        *(("Service", f"{way}.service.name", OWN) for way in BACKENDS),
    ),
    "MutatingWebhookConfiguration": HOOKS,
    "PersistentVolume": STORAGE,
    "PersistentVolumeClaim": STORAGE,
    "ResourceClaim": device_classes("spec.devices"),
    "ResourceClaimTemplate": device_classes("spec.spec.devices"),
    "StatefulSet": (
        ("Service", "spec.serviceName", OWN),
        ("StorageClass", "spec.volumeClaimTemplates.*.spec.storageClassName"),
    ),
    "ValidatingAdmissionPolicyBinding": (("ValidatingAdmissionPolicy", "spec.policyName"),),
    "ValidatingWebhookConfiguration": HOOKS,
}

LABELS: Names = tuple(row for one in CATALOGUE.values() for row in one.label_names)
"""Labels of any object that name another: its kind, the label, and where it lives."""

POD: Names = (
    ("ServiceAccount", "spec.serviceAccountName", OWN),
    ("PriorityClass", "spec.priorityClassName"),
    ("RuntimeClass", "spec.runtimeClassName"),
    ("PersistentVolumeClaim", "spec.volumes.*.persistentVolumeClaim.claimName", OWN),
    ("StorageClass", "spec.volumes.*.ephemeral.volumeClaimTemplate.spec.storageClassName"),
    ("ResourceClaim", "spec.resourceClaims.*.resourceClaimName", OWN),
    ("ResourceClaimTemplate", "spec.resourceClaims.*.resourceClaimTemplateName", OWN),
)
SOURCES = {
    "secretKeyRef": "Secret",
    "configMapKeyRef": "ConfigMap",
    "secretRef": "Secret",
    "configMapRef": "ConfigMap",
}


class Reference(NamedTuple):
    """What is named. A `key` is asked for only in ConfigMaps and Secrets. Without a `name` nothing is."""

    kind: str
    namespace: str
    name: str
    key: str = ""

    @property
    def full_name(self) -> str:
        """How people name it."""
        return full_name(self.kind, self.namespace, self.name)


ReferenceAt: TypeAlias = tuple[Path, Reference]
"""What is named, and where in the object."""


class Mention(Struct, frozen=True):
    """What an object names, and where."""

    object: Object
    at: Path
    reference: Reference


def mentions(one: Object, built: Built) -> Iterator[Mention]:
    """Yield what an object and its pods name. What is optional need not be there and is not yielded, nor is what only a
    running workflow knows.
    """
    found = [*placed(one), *listed(NAMES.get(one.kind, ()), one.manifest, one.namespace)]
    found += READERS[one.kind](one) if one.kind in READERS else ()
    found += of_component(one)
    yield from (Mention(one, at, wanted) for at, wanted in found if wanted.name)
    for pod in pods_of(one, built):
        for at, wanted in of_pod(pod):
            if wanted.name:
                yield Mention(*pod.written(at), wanted)


def listed(names: Names, manifest: Manifest, own: str) -> Iterator[ReferenceAt]:
    """Yield what stands at the places of a table; `own` is the namespace of the object."""
    for kind, way, *lives in names:
        for at, name in spots(manifest, way):
            beside = str(dig(manifest, *at[:-1], "namespace"))
            yield at, reference(kind, {OWN: own, SAID: beside}.get(lives[0], lives[0]) if lives else "", name)


def placed(one: Object) -> Iterator[ReferenceAt]:
    """Yield the namespace of an object, and what its labels name."""
    said = one.manifest["metadata"].get("namespace")
    # What is no text no Namespace can be called: its schema tells that.
    yield ("metadata", "namespace"), Reference("Namespace", "", said if isinstance(said, str) else "")
    labels = one.labels
    for kind, label, *lives in LABELS:
        if label in labels:
            space = namespace_of(lives[0], one.namespace) if lives else ""
            yield ("metadata", "labels", label), reference(kind, space, labels[label])


def of_component(one: Object) -> Iterator[ReferenceAt]:
    """Yield what components read in an object."""
    for kind in OPERATED.get(one.kind, ()):
        yield from listed(kind.names, one.manifest, one.namespace)
        for at, what, name, space in kind.also_names(one.manifest):
            yield at, reference(what, namespace_of(space, one.namespace), name)


def of_pod(pod: Pod) -> Iterator[ReferenceAt]:
    """Yield what a pod names."""
    spec = {"spec": pod.spec}
    yield from listed(POD, spec, pod.namespace)
    for way in ("spec.volumes.*", "spec.volumes.*.projected.sources.*"):
        for at, source in spots(spec, way):
            for key, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
                yield from of_items(pod.namespace, kind, needed(source, key), (*at, key))
    for at, container in containers(pod):
        for way in ("env.*.valueFrom", "envFrom.*"):
            for within, source in spots(container, way):
                for key, kind in SOURCES.items():
                    held = needed(source, key)
                    yield (*at, *within, key), reference(kind, pod.namespace, held.get("name"), held.get("key"))


def namespace_of(namespace: str, own: str) -> str:
    """Return the namespace of what an object in the namespace `own` names or becomes."""
    return own if namespace == OWN else namespace


def reference(kind: str, namespace: str, name: object, key: object = "") -> Reference:
    """Return a reference; without a name where there is none, or none that is known before somebody runs it."""
    known = isinstance(name, str) and not any(sign in name for sign in (AT_SUBMISSION, "{{", "$("))
    return Reference(kind, namespace, str(name) if known else "", key if isinstance(key, str) else "")


def needed(source: object, key: str) -> dict[str, Any]:
    """Return a source of values, empty where there is none or where it may be absent."""
    held = mapping(dig(source, key))
    return {} if held.get("optional") is True else held


def of_items(space: str, kind: str, held: dict[str, Any], at: Path) -> Iterator[ReferenceAt]:
    """Yield a ConfigMap or Secret that is mounted, with each key that is asked for."""
    name = held.get("name") or held.get("secretName")
    items = sequence(held.get("items"))
    if not items:
        yield at, reference(kind, space, name)
    for index, item in enumerate(items):
        yield (*at, "items", index, "key"), reference(kind, space, name, dig(item, "key"))


def of_binding(one: Object) -> Iterator[ReferenceAt]:
    """Yield the role and the ServiceAccounts of a RoleBinding or ClusterRoleBinding."""
    role = mapping(one.manifest.get("roleRef"))
    kind = str(role.get("kind"))
    yield ("roleRef", "name"), reference(kind, one.namespace if kind == "Role" else "", role.get("name"))
    for at, subject in spots(one.manifest, "subjects.*"):
        if dig(subject, "kind") == "ServiceAccount":
            space = dig(subject, "namespace") or one.namespace
            yield (*at, "name"), reference("ServiceAccount", str(space), dig(subject, "name"))


def of_storage(one: Object) -> Iterator[ReferenceAt]:
    """Yield the driver of a StorageClass or VolumeSnapshotClass and its Secrets. A provisioner whose name does not say
    CSI may be a program without a CSIDriver.
    """
    key = "provisioner" if one.kind == "StorageClass" else "driver"
    driver = str(one.manifest.get(key))
    if "csi" in driver:
        yield (key,), reference("CSIDriver", "", driver)
    given = {str(name): value for name, value in mapping(one.manifest.get("parameters")).items()}
    for name, value in given.items():
        if name.endswith("-secret-name"):
            space = given.get(f"{name.removesuffix('name')}namespace")
            yield ("parameters", name), reference("Secret", str(space), value)


def of_scaled(one: Object) -> Iterator[ReferenceAt]:
    """Yield what a HorizontalPodAutoscaler scales."""
    scaled = one.spec.get("scaleTargetRef")
    yield ("spec", "scaleTargetRef", "name"), reference(str(dig(scaled, "kind")), one.namespace, dig(scaled, "name"))


READERS: dict[str, Callable[[Object], Iterator[ReferenceAt]]] = {
    "ClusterRoleBinding": of_binding,
    "HorizontalPodAutoscaler": of_scaled,
    "RoleBinding": of_binding,
    "StorageClass": of_storage,
    "VolumeSnapshotClass": of_storage,
}
"""What reads the names that no table says."""
