"""What objects and their pods name."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from generator.build.fields import Path, dig, mapping, sequence, spots
from generator.build.objects import Built, Object
from generator.build.pods import Pod, containers, pods_of
from generator.build.workflow_pods import WORKFLOWS
from generator.components.component import Manifest
from generator.rules.target import Found, Target, target

OWN, SAID = "in the namespace of the object", "in the namespace that is said beside the name"

Names: TypeAlias = tuple[tuple[str, ...], ...]
"""Rows of what is named: its kind, the way to the name (see `spots`), and where it lives if it lives in a namespace."""

BACKENDS = ("spec.defaultBackend", "spec.rules.*.http.paths.*.backend")
"""Where the traffic of an Ingress goes."""

STORAGE: Names = (("StorageClass", "spec.storageClassName"),)
HOOKS: Names = (("Service", "webhooks.*.clientConfig.service.name", SAID),)
QUOTAS: Names = (
    ("Cohort", "spec.cohort"),
    ("Cohort", "spec.cohortName"),
    ("Cohort", "spec.parentName"),
    ("ResourceFlavor", "spec.resourceGroups.*.flavors.*.name"),
    ("AdmissionCheck", "spec.admissionChecksStrategy.admissionChecks.*.name"),
)
SOLVERS: Names = (("IngressClass", "spec.acme.solvers.*.http01.ingress.ingressClassName"),)

NAMES: dict[str, Names] = {
    "APIService": (("Service", "spec.service.name", SAID),),
    "Application": (("AppProject", "spec.project", OWN),),
    "CephFilesystemSubVolumeGroup": (("CephFilesystem", "spec.filesystemName", OWN),),
    "CephObjectStore": (("Secret", "spec.gateway.sslCertificateRef", OWN),),
    "CephObjectStoreUser": (("CephObjectStore", "spec.store", OWN),),
    "ClusterIssuer": (("Secret", "spec.ca.secretName", "cert-manager"), *SOLVERS),
    "ClusterQueue": QUOTAS,
    "Cohort": QUOTAS,
    "CustomResourceDefinition": (("Service", "spec.conversion.webhook.clientConfig.service.name", SAID),),
    "Ingress": (
        ("IngressClass", "spec.ingressClassName"),
        ("Secret", "spec.tls.*.secretName", OWN),
        *(("Service", f"{way}.service.name", OWN) for way in BACKENDS),
    ),
    "Issuer": (("Secret", "spec.ca.secretName", OWN), *SOLVERS),
    # Of Volcano: Kubernetes' own has neither.
    "Job": (("Queue", "spec.queue"), ("PriorityClass", "spec.priorityClassName")),
    "LocalQueue": (("ClusterQueue", "spec.clusterQueue"),),
    "MutatingWebhookConfiguration": HOOKS,
    "ObjectBucketClaim": STORAGE,
    "PersistentVolume": STORAGE,
    "PersistentVolumeClaim": STORAGE,
    "ResourceFlavor": (("Topology", "spec.topologyName"),),
    "StatefulSet": (
        ("Service", "spec.serviceName", OWN),
        ("StorageClass", "spec.volumeClaimTemplates.*.spec.storageClassName"),
    ),
    "ValidatingAdmissionPolicyBinding": (("ValidatingAdmissionPolicy", "spec.policyName"),),
    "ValidatingWebhookConfiguration": HOOKS,
    "VolumeSnapshot": (("VolumeSnapshotClass", "spec.volumeSnapshotClassName"),),
}

POD: Names = (
    ("ServiceAccount", "spec.serviceAccountName", OWN),
    ("PriorityClass", "spec.priorityClassName"),
    ("RuntimeClass", "spec.runtimeClassName"),
    ("PersistentVolumeClaim", "spec.volumes.*.persistentVolumeClaim.claimName", OWN),
    ("StorageClass", "spec.volumes.*.ephemeral.volumeClaimTemplate.spec.storageClassName"),
)
SOURCES = {
    "secretKeyRef": "Secret",
    "configMapKeyRef": "ConfigMap",
    "secretRef": "Secret",
    "configMapRef": "ConfigMap",
}


class Reference(Struct, frozen=True):
    """What an object names, and where."""

    object: Object
    at: Path
    target: Target


def references(one: Object, built: Built) -> Iterator[Reference]:
    """Yield what an object and its pods name. What is optional need not be there and is not yielded, nor is what only a
    running workflow knows.
    """
    found = [*placed(one), *listed(NAMES.get(one.kind, ()), one.manifest, one.namespace)]
    found += READERS[one.kind](one) if one.kind in READERS else ()
    yield from (Reference(one, at, wanted) for at, wanted in found if wanted.name)
    for pod in pods_of(one, built):
        for at, wanted in of_pod(pod):
            if wanted.name:
                yield Reference(*pod.written(at), wanted)


def listed(names: Names, manifest: Manifest, own: str) -> Iterator[Found]:
    """Yield what stands at the places of a table; `own` is the namespace of the object."""
    for kind, way, *lives in names:
        for at, name in spots(manifest, way):
            beside = str(dig(manifest, *at[:-1], "namespace"))
            yield at, target(kind, {OWN: own, SAID: beside}.get(lives[0], lives[0]) if lives else "", name)


def placed(one: Object) -> Iterator[Found]:
    """Yield the namespace of an object, and the queue that its labels name."""
    yield ("metadata", "namespace"), Target("Namespace", "", one.namespace)
    labels = one.labels
    for label, kind, space in (
        ("kueue.x-k8s.io/queue-name", "LocalQueue", one.namespace),
        ("kueue.x-k8s.io/priority-class", "WorkloadPriorityClass", ""),
    ):
        if label in labels:
            yield ("metadata", "labels", label), target(kind, space, labels[label])


def of_pod(pod: Pod) -> Iterator[Found]:
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
                    yield (*at, *within, key), target(kind, pod.namespace, held.get("name"), held.get("key"))


def needed(source: object, key: str) -> dict[str, Any]:
    """Return a source of values, empty where there is none or where it may be absent."""
    held = mapping(dig(source, key))
    return {} if held.get("optional") is True else held


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
    for at, subject in spots(one.manifest, "subjects.*"):
        if dig(subject, "kind") == "ServiceAccount":
            space = dig(subject, "namespace") or one.namespace
            yield (*at, "name"), target("ServiceAccount", str(space), dig(subject, "name"))


def of_ingress(one: Object) -> Iterator[Found]:
    """Yield the issuer of an Ingress's certificates."""
    annotations = one.annotations
    for key, kind, space in (
        ("cert-manager.io/cluster-issuer", "ClusterIssuer", ""),
        ("cert-manager.io/issuer", "Issuer", one.namespace),
    ):
        if annotations.get("cert-manager.io/issuer-group", "cert-manager.io") == "cert-manager.io":
            yield ("metadata", "annotations", key), target(kind, space, annotations.get(key))


def of_certificate(one: Object) -> Iterator[Found]:
    """Yield the issuer of a Certificate."""
    issuer = mapping(one.spec.get("issuerRef"))
    kind = str(issuer.get("kind", "Issuer"))
    if issuer.get("group", "cert-manager.io") == "cert-manager.io":
        space = "" if kind == "ClusterIssuer" else one.namespace
        yield ("spec", "issuerRef", "name"), target(kind, space, issuer.get("name"))


def of_queue(one: Object) -> Iterator[Found]:
    """Yield the namespaces that a ClusterQueue is for."""
    for at, rule in spots(one.manifest, "spec.namespaceSelector.matchExpressions.*"):
        if dig(rule, "key") == "kubernetes.io/metadata.name" and dig(rule, "operator") == "In":
            yield from (((*at, "values"), target("Namespace", "", name)) for name in sequence(dig(rule, "values")))


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
    for name, kind, beside in CEPH if "rook" in driver else ():
        yield ("parameters", name), target(kind, str(given.get(beside)), given.get(name))


CEPH = (
    ("fsName", "CephFilesystem", "clusterID"),
    ("pool", "CephPool", "clusterID"),
    ("dataPool", "CephPool", "clusterID"),
    ("objectStoreName", "CephObjectStore", "objectStoreNamespace"),
)
"""Parameters of StorageClasses that name what Rook has made, and those that name its namespace."""


def of_scaled(one: Object) -> Iterator[Found]:
    """Yield what a HorizontalPodAutoscaler scales."""
    scaled = one.spec.get("scaleTargetRef")
    yield ("spec", "scaleTargetRef", "name"), target(str(dig(scaled, "kind")), one.namespace, dig(scaled, "name"))


def of_workflow(one: Object) -> Iterator[Found]:
    """Yield the templates that a workflow takes from others."""
    at = WORKFLOWS[one.kind]
    whole = mapping(dig(one.manifest, *at))
    yield (*at, "workflowTemplateRef", "name"), template(one, whole.get("workflowTemplateRef"))
    own = [dig(each, "name") for each in sequence(whole.get("templates"))]
    for way in ("templates.*.steps.*.*", "templates.*.dag.tasks.*"):
        for within, task in spots(whole, way):
            yield (*at, *within, "templateRef", "name"), template(one, dig(task, "templateRef"))
            if isinstance(dig(task, "template"), str) and task["template"] not in own:
                there = (*at, *within, "template")
                yield there, target("template of the workflow", one.namespace, task["template"])


def template(one: Object, said: object) -> Target:
    """Return a template of workflows."""
    if dig(said, "clusterScope") is True:
        return target("ClusterWorkflowTemplate", "", dig(said, "name"))
    return target("WorkflowTemplate", one.namespace, dig(said, "name"))


READERS: dict[str, Callable[[Object], Iterator[Found]]] = {
    "Certificate": of_certificate,
    "ClusterQueue": of_queue,
    "ClusterRoleBinding": of_binding,
    "CronWorkflow": of_workflow,
    "HorizontalPodAutoscaler": of_scaled,
    "Ingress": of_ingress,
    "RoleBinding": of_binding,
    "StorageClass": of_storage,
    "VolumeSnapshotClass": of_storage,
    "Workflow": of_workflow,
    "WorkflowTemplate": of_workflow,
}
"""What reads the names that no table says."""
