"""What objects and their pods name."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from generator.rendered.access import Path, dig, mapping, sequence
from generator.rendered.argo import WORKFLOWS
from generator.rendered.built import Built, Object
from generator.rendered.custom import CUSTOM
from generator.rendered.target import Found, Target, target
from generator.rendered.workloads import Pod, containers, pods_of

__all__ = ["Reference", "references"]


class Reference(Struct, frozen=True):
    """What an object names, and where."""

    object: Object
    at: Path
    target: Target


def references(one: Object, built: Built) -> Iterator[Reference]:
    """Yield what an object and its pods name. What is optional need not be there and is not yielded, nor is what only a
    running workflow knows.
    """
    found = [*placed(one), *(READERS[one.kind](one) if one.kind in READERS else ())]
    yield from (Reference(one, at, wanted) for at, wanted in found if wanted.name)
    for pod in pods_of(one, built):
        for at, wanted in of_pod(pod):
            if wanted.name:
                spot = pod.problem("", *at)
                yield Reference(spot.object, spot.at, wanted)


def placed(one: Object) -> Iterator[Found]:
    """Yield the namespace of an object, and the queue that its labels name."""
    yield ("metadata", "namespace"), Target("Namespace", "", one.namespace)
    labels = mapping(one.manifest["metadata"].get("labels"))
    for label, kind, space in (
        ("kueue.x-k8s.io/queue-name", "LocalQueue", one.namespace),
        ("kueue.x-k8s.io/priority-class", "WorkloadPriorityClass", ""),
    ):
        if label in labels:
            yield ("metadata", "labels", label), target(kind, space, labels[label])


def of_pod(pod: Pod) -> Iterator[Found]:
    """Yield what a pod names."""
    space, spec = pod.namespace, pod.spec
    yield ("spec", "serviceAccountName"), target("ServiceAccount", space, spec.get("serviceAccountName"))
    yield ("spec", "priorityClassName"), target("PriorityClass", "", spec.get("priorityClassName"))
    yield ("spec", "runtimeClassName"), target("RuntimeClass", "", spec.get("runtimeClassName"))
    for index, volume in enumerate(sequence(spec.get("volumes"))):
        yield from ((("spec", "volumes", index, *at), wanted) for at, wanted in of_volume(space, mapping(volume)))
    for at, container in containers(pod):
        for index, variable in enumerate(sequence(container.get("env"))):
            for key, wanted in of_source(space, mapping(dig(variable, "valueFrom"))):
                yield (*at, "env", index, "valueFrom", key), wanted
        for index, source in enumerate(sequence(container.get("envFrom"))):
            for key, wanted in of_source(space, mapping(source)):
                yield (*at, "envFrom", index, key), wanted


SOURCES = {
    "secretKeyRef": "Secret",
    "configMapKeyRef": "ConfigMap",
    "secretRef": "Secret",
    "configMapRef": "ConfigMap",
}


def of_source(space: str, source: dict[str, Any]) -> Iterator[tuple[str, Target]]:
    """Yield what a variable takes its value from."""
    for key, kind in SOURCES.items():
        held = mapping(source.get(key))
        if held and held.get("optional") is not True:
            yield key, target(kind, space, held.get("name"), held.get("key"))


def of_volume(space: str, volume: dict[str, Any]) -> Iterator[Found]:
    """Yield what a volume is made of."""
    projected = [
        (("projected", "sources", index), mapping(one))
        for index, one in enumerate(sequence(dig(volume, "projected", "sources")))
    ]
    for at, source in (((), volume), *projected):
        for key, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
            held = mapping(source.get(key))
            if held and held.get("optional") is not True:
                yield from of_items(space, kind, held, (*at, key))
    claim = dig(volume, "persistentVolumeClaim", "claimName")
    yield ("persistentVolumeClaim", "claimName"), target("PersistentVolumeClaim", space, claim)
    template = ("ephemeral", "volumeClaimTemplate", "spec", "storageClassName")
    yield template, target("StorageClass", "", dig(volume, *template))


def of_items(space: str, kind: str, held: dict[str, Any], at: Path) -> Iterator[Found]:
    """Yield a ConfigMap or Secret that is mounted, with each key that is asked for."""
    name = held.get("name") or held.get("secretName")
    items = sequence(held.get("items"))
    if not items:
        yield at, target(kind, space, name)
    for index, item in enumerate(items):
        yield (*at, "items", index, "key"), target(kind, space, name, dig(item, "key"))


def of_binding(one: Object) -> Iterator[Found]:
    """Yield the role and the ServiceAccounts of a RoleBinding or ClusterRoleBinding."""
    role = mapping(one.manifest.get("roleRef"))
    kind = str(role.get("kind"))
    yield ("roleRef", "name"), target(kind, one.namespace if kind == "Role" else "", role.get("name"))
    for index, subject in enumerate(map(mapping, sequence(one.manifest.get("subjects")))):
        if subject.get("kind") == "ServiceAccount":
            space = subject.get("namespace") or one.namespace
            yield ("subjects", index, "name"), target("ServiceAccount", str(space), subject.get("name"))


def of_ingress(one: Object) -> Iterator[Found]:
    """Yield the class, the issuer, the certificates and the Services of an Ingress."""
    spec = mapping(one.manifest.get("spec"))
    yield ("spec", "ingressClassName"), target("IngressClass", "", spec.get("ingressClassName"))
    annotations = mapping(one.manifest["metadata"].get("annotations"))
    for key, kind, space in (
        ("cert-manager.io/cluster-issuer", "ClusterIssuer", ""),
        ("cert-manager.io/issuer", "Issuer", one.namespace),
    ):
        if annotations.get("cert-manager.io/issuer-group", "cert-manager.io") == "cert-manager.io":
            yield ("metadata", "annotations", key), target(kind, space, annotations.get(key))
    for index, tls in enumerate(sequence(spec.get("tls"))):
        yield ("spec", "tls", index, "secretName"), target("Secret", one.namespace, dig(tls, "secretName"))
    for at, backend in backends(spec):
        yield (*at, "service", "name"), target("Service", one.namespace, dig(backend, "service", "name"))


def backends(spec: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Yield where the traffic of an Ingress goes."""
    yield ("spec", "defaultBackend"), spec.get("defaultBackend")
    for number, rule in enumerate(sequence(spec.get("rules"))):
        for index, path in enumerate(sequence(dig(rule, "http", "paths"))):
            yield ("spec", "rules", number, "http", "paths", index, "backend"), dig(path, "backend")


def of_hooks(one: Object) -> Iterator[Found]:
    """Yield the Services of webhooks."""
    for index, hook in enumerate(sequence(one.manifest.get("webhooks"))):
        at = ("webhooks", index, "clientConfig", "service")
        yield (*at, "name"), service(dig(hook, "clientConfig", "service"))


def of_definition(one: Object) -> Iterator[Found]:
    """Yield the Service that converts between versions of a CRD."""
    at = ("spec", "conversion", "webhook", "clientConfig", "service")
    yield (*at, "name"), service(dig(one.manifest, *at))


def of_api(one: Object) -> Iterator[Found]:
    """Yield the Service that serves an API group."""
    yield ("spec", "service", "name"), service(dig(one.manifest, "spec", "service"))


def service(said: object) -> Target:
    """Return a Service that is named with its namespace."""
    return target("Service", str(dig(said, "namespace")), dig(said, "name"))


def of_storage(one: Object) -> Iterator[Found]:
    """Yield the driver of a StorageClass or VolumeSnapshotClass, its Secrets and what Ceph is to take. A provisioner
    whose name does not say CSI may be a program without a CSIDriver.
    """
    key = "provisioner" if one.kind == "StorageClass" else "driver"
    driver = str(one.manifest.get(key))
    if "csi" in driver:
        yield (key,), target("CSIDriver", "", driver)
    given = {str(name): value for name, value in mapping(one.manifest.get("parameters")).items()}
    for name, value in given.items():
        if name.endswith("-secret-name"):
            space = given.get(f"{name.removesuffix('name')}namespace")
            yield ("parameters", name), target("Secret", str(space), value)
    if "rook" in driver:
        yield from of_ceph(given)


def of_ceph(given: dict[str, Any]) -> Iterator[Found]:
    """Yield what Rook has made for a StorageClass."""
    space = str(given.get("clusterID"))
    yield ("parameters", "fsName"), target("CephFilesystem", space, given.get("fsName"))
    yield ("parameters", "pool"), target("CephPool", space, given.get("pool"))
    yield ("parameters", "dataPool"), target("CephPool", space, given.get("dataPool"))
    store = str(given.get("objectStoreNamespace"))
    yield ("parameters", "objectStoreName"), target("CephObjectStore", store, given.get("objectStoreName"))


def of_claims(one: Object) -> Iterator[Found]:
    """Yield the Service of a StatefulSet and the classes of its claims."""
    yield ("spec", "serviceName"), target("Service", one.namespace, dig(one.manifest, "spec", "serviceName"))
    for index, claim in enumerate(sequence(dig(one.manifest, "spec", "volumeClaimTemplates"))):
        at = ("spec", "volumeClaimTemplates", index, "spec", "storageClassName")
        yield at, target("StorageClass", "", dig(claim, "spec", "storageClassName"))


def of_scaled(one: Object) -> Iterator[Found]:
    """Yield what a HorizontalPodAutoscaler scales."""
    scaled = dig(one.manifest, "spec", "scaleTargetRef")
    yield ("spec", "scaleTargetRef", "name"), target(str(dig(scaled, "kind")), one.namespace, dig(scaled, "name"))


def of_workflow(one: Object) -> Iterator[Found]:
    """Yield the templates that a workflow takes from others."""
    at = WORKFLOWS[one.kind]
    whole = mapping(dig(one.manifest, *at))
    yield (*at, "workflowTemplateRef", "name"), template(one, whole.get("workflowTemplateRef"))
    own = {dig(each, "name") for each in sequence(whole.get("templates")) if isinstance(dig(each, "name"), str)}
    for index, each in enumerate(sequence(whole.get("templates"))):
        for way, task in tasks(mapping(each)):
            here = (*at, "templates", index, *way)
            yield (*here, "templateRef", "name"), template(one, dig(task, "templateRef"))
            if isinstance(dig(task, "template"), str) and task["template"] not in own:
                yield (*here, "template"), target("template of the workflow", one.namespace, task["template"])


def tasks(said: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Yield the steps and tasks of a template."""
    for number, group in enumerate(sequence(said.get("steps"))):
        for index, each in enumerate(sequence(group)):
            yield ("steps", number, index), each
    for index, each in enumerate(sequence(dig(said, "dag", "tasks"))):
        yield ("dag", "tasks", index), each


def template(one: Object, said: object) -> Target:
    """Return a template of workflows."""
    if dig(said, "clusterScope") is True:
        return target("ClusterWorkflowTemplate", "", dig(said, "name"))
    return target("WorkflowTemplate", one.namespace, dig(said, "name"))


def simply(kind: str, *at: str, namespaced: bool = False) -> "Reader":
    """Return what reads one name at a place."""

    def read(one: Object) -> Iterator[Found]:
        yield at, target(kind, one.namespace if namespaced else "", dig(one.manifest, *at))

    return read


Reader: TypeAlias = Callable[[Object], Iterator[Found]]

READERS: dict[str, Reader] = {
    **CUSTOM,
    "APIService": of_api,
    "Application": simply("AppProject", "spec", "project", namespaced=True),
    "ClusterRoleBinding": of_binding,
    "CronWorkflow": of_workflow,
    "CustomResourceDefinition": of_definition,
    "HorizontalPodAutoscaler": of_scaled,
    "Ingress": of_ingress,
    "MutatingWebhookConfiguration": of_hooks,
    "PersistentVolume": simply("StorageClass", "spec", "storageClassName"),
    "PersistentVolumeClaim": simply("StorageClass", "spec", "storageClassName"),
    "RoleBinding": of_binding,
    "StatefulSet": of_claims,
    "StorageClass": of_storage,
    "ValidatingAdmissionPolicyBinding": simply("ValidatingAdmissionPolicy", "spec", "policyName"),
    "ValidatingWebhookConfiguration": of_hooks,
    "VolumeSnapshot": simply("VolumeSnapshotClass", "spec", "volumeSnapshotClassName"),
    "VolumeSnapshotClass": of_storage,
    "Workflow": of_workflow,
    "WorkflowTemplate": of_workflow,
}
