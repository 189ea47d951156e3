"""What objects and their pods name."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from validation.build import Built, Object
from validation.pods import containers, pods
from validation.schemas import BUILT_IN

__all__ = ["Target", "of_values", "references"]


class Target(NamedTuple):
    """What an object names. A key is asked for only in ConfigMaps and Secrets."""

    kind: str
    namespace: str
    name: str
    key: str = ""


Reader: TypeAlias = Callable[[Object], Iterator[Target]]


def references(manifest: Object, built: Built) -> Iterator[Target]:
    """Yield what an object and its pods name."""
    if reader := READERS.get(manifest["kind"]):
        yield from reader(manifest)
    space, group = manifest["metadata"].get("namespace", ""), manifest["apiVersion"].rpartition("/")[0]
    if space:
        yield Target("Namespace", "", space)
    if group not in BUILT_IN:
        of_workflows = group == "argoproj.io" and "Workflow" in manifest["kind"]
        yield Target("API group", "", f"{group} of workflows" if of_workflows else group)
    for one in pods(manifest, built):
        yield from of_pod(one)
    for claim in manifest.get("spec", {}).get("volumeClaimTemplates", ()):
        if "storageClassName" in claim["spec"]:
            yield Target("StorageClass", "", claim["spec"]["storageClassName"])


def of_values(space: str, part: Any) -> Iterator[Target]:
    """Yield what the values of a chart in a namespace name, as far as its keys tell."""
    if isinstance(part, list):
        for one in part:
            yield from of_values(space, one)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in NAMING and isinstance(value, str) and value:
                kind = NAMING[key]
                yield Target(kind, space if kind in {"Secret", "ConfigMap"} else "", value)
            elif key == "issuerRef" and value.get("kind") == "ClusterIssuer":
                yield Target("ClusterIssuer", "", value["name"])
            elif key == "secretKeyRef":
                yield Target("Secret", space, value["name"], value["key"])
            else:
                yield from of_values(space, value)


NAMING = {
    "cert-manager.io/cluster-issuer": "ClusterIssuer",
    "configSecret": "Secret",
    "existingConfigMap": "ConfigMap",
    "existingSecret": "Secret",
    "ingressClassName": "IngressClass",
    "priorityClassName": "PriorityClass",
    "secretName": "Secret",
    "storageClass": "StorageClass",
    "storageClassName": "StorageClass",
}
"""Keys of charts' values that name something."""


def of_pod(one: Object) -> Iterator[Target]:
    """Yield what a pod names. What is optional need not be there."""
    space, spec = one["metadata"]["namespace"], one["spec"]
    yield Target("ServiceAccount", space, spec.get("serviceAccountName", "default"))
    for kind, key in (("PriorityClass", "priorityClassName"), ("RuntimeClass", "runtimeClassName")):
        if key in spec:
            yield Target(kind, "", spec[key])
    yield from (Target("Secret", space, pull["name"]) for pull in spec.get("imagePullSecrets", ()))
    for volume in spec.get("volumes", ()):
        yield from of_volume(space, volume)
    for container in containers(one):
        for variable in container.get("env", ()):
            yield from of_source(space, variable.get("valueFrom", {}))
        for source in container.get("envFrom", ()):
            yield from of_source(space, source)


def of_source(space: str, source: Object) -> Iterator[Target]:
    for field, kind in (
        ("secretKeyRef", "Secret"),
        ("configMapKeyRef", "ConfigMap"),
        ("secretRef", "Secret"),
        ("configMapRef", "ConfigMap"),
    ):
        if field in source and not source[field].get("optional"):
            yield Target(kind, space, source[field]["name"], source[field].get("key", ""))


def of_volume(space: str, volume: Object) -> Iterator[Target]:
    for source in (volume, *volume.get("projected", {}).get("sources", ())):
        for field, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
            held = source.get(field)
            if held and not held.get("optional"):
                name = held.get("name") or held["secretName"]
                yield from (Target(kind, space, name, item["key"]) for item in held.get("items", ({"key": ""},)))
    if "persistentVolumeClaim" in volume:
        yield Target("PersistentVolumeClaim", space, volume["persistentVolumeClaim"]["claimName"])
    if template := volume.get("ephemeral", {}).get("volumeClaimTemplate"):
        yield Target("StorageClass", "", template["spec"]["storageClassName"])


def of_binding(manifest: Object) -> Iterator[Target]:
    role, space = manifest["roleRef"], manifest["metadata"].get("namespace", "")
    yield Target(role["kind"], space if role["kind"] == "Role" else "", role["name"])
    for subject in manifest.get("subjects", ()):
        if subject["kind"] == "ServiceAccount":
            yield Target("ServiceAccount", subject["namespace"], subject["name"])


def of_ingress(manifest: Object) -> Iterator[Target]:
    space, spec = manifest["metadata"]["namespace"], manifest["spec"]
    if "ingressClassName" in spec:
        yield Target("IngressClass", "", spec["ingressClassName"])
    if issuer := manifest["metadata"].get("annotations", {}).get("cert-manager.io/cluster-issuer"):
        yield Target("ClusterIssuer", "", issuer)
    yield from (Target("Secret", space, tls["secretName"]) for tls in spec.get("tls", ()) if "secretName" in tls)
    for rule in spec.get("rules", ()):
        for path in rule["http"]["paths"]:
            yield Target("Service", space, path["backend"]["service"]["name"])


def of_certificate(manifest: Object) -> Iterator[Target]:
    issuer = manifest["spec"]["issuerRef"]
    kind = issuer.get("kind", "Issuer")
    yield Target(kind, "" if kind == "ClusterIssuer" else manifest["metadata"]["namespace"], issuer["name"])


def of_issuer(manifest: Object) -> Iterator[Target]:
    if "ca" in manifest["spec"]:
        yield Target("Secret", "cert-manager", manifest["spec"]["ca"]["secretName"])
    solvers = manifest["spec"].get("acme", {}).get("solvers", ())
    for solver in solvers:
        if ingress := solver.get("http01", {}).get("ingress", {}).get("ingressClassName"):
            yield Target("IngressClass", "", ingress)


def of_claim(manifest: Object) -> Iterator[Target]:
    if name := manifest["spec"].get("storageClassName"):
        yield Target("StorageClass", "", name)


def of_class(manifest: Object) -> Iterator[Target]:
    """StorageClasses and VolumeSnapshotClasses name their driver, Secrets and what Ceph is to take."""
    yield Target("CSIDriver", "", manifest.get("provisioner") or manifest["driver"])
    given = manifest.get("parameters", {})
    for key, value in given.items():
        if key.endswith("-secret-name"):
            yield Target("Secret", given[f"{key.removesuffix('name')}namespace"], value)
    space = given.get("clusterID", "")
    if "fsName" in given:
        yield Target("CephFilesystem", space, given["fsName"])
        yield Target("CephPool", space, given["pool"])
    elif "pool" in given:
        yield Target("CephPool", space, given["pool"])
    if "dataPool" in given:
        yield Target("CephPool", space, given["dataPool"])
    if "objectStoreName" in given:
        yield Target("CephObjectStore", given["objectStoreNamespace"], given["objectStoreName"])


def of_queue(manifest: Object) -> Iterator[Target]:
    """ClusterQueues and Cohorts."""
    spec = manifest["spec"]
    for key in ("cohortName", "parentName"):
        if key in spec:
            yield Target("Cohort", "", spec[key])
    for group in spec.get("resourceGroups", ()):
        yield from (Target("ResourceFlavor", "", flavor["name"]) for flavor in group["flavors"])
    for check in spec.get("admissionChecksStrategy", {}).get("admissionChecks", ()):
        yield Target("AdmissionCheck", "", check["name"])
    for name in spec.get("namespaceSelector", {}).get("matchExpressions", ()):
        if name["key"] == "kubernetes.io/metadata.name":
            yield from (Target("Namespace", "", space) for space in name["values"])


def of_store_user(manifest: Object) -> Iterator[Target]:
    yield Target("CephObjectStore", manifest["metadata"]["namespace"], manifest["spec"]["store"])


def of_object_store(manifest: Object) -> Iterator[Target]:
    if name := manifest["spec"].get("gateway", {}).get("sslCertificateRef"):
        yield Target("Secret", manifest["metadata"]["namespace"], name)


def of_workflow(manifest: Object) -> Iterator[Target]:
    whole, space = manifest["spec"].get("workflowSpec", manifest["spec"]), manifest["metadata"]["namespace"]
    if "workflowTemplateRef" in whole:
        yield Target("WorkflowTemplate", space, whole["workflowTemplateRef"]["name"])
    templates = {one["name"] for one in whole.get("templates", ())}
    for template in whole.get("templates", ()):
        groups = [one for group in template.get("steps", ()) for one in group]
        for task in (*groups, *template.get("dag", {}).get("tasks", ())):
            if "templateRef" in task:
                yield Target("WorkflowTemplate", space, task["templateRef"]["name"])
            elif task.get("template") not in templates and "inline" not in task:
                yield Target("template of a workflow", space, str(task.get("template")))


def simply(kind: str, *path: str, namespaced: bool = False) -> Reader:
    """Return what reads one name at a place."""

    def read(manifest: Object) -> Iterator[Target]:
        found: Any = manifest
        for key in path:
            found = found.get(key, {})
        if isinstance(found, str):
            yield Target(kind, manifest["metadata"]["namespace"] if namespaced else "", found)

    return read


READERS: dict[str, Reader] = {
    "Application": simply("AppProject", "spec", "project", namespaced=True),
    "CephFilesystemSubVolumeGroup": simply("CephFilesystem", "spec", "filesystemName", namespaced=True),
    "CephObjectStore": of_object_store,
    "CephObjectStoreUser": of_store_user,
    "Certificate": of_certificate,
    "ClusterIssuer": of_issuer,
    "ClusterQueue": of_queue,
    "ClusterRoleBinding": of_binding,
    "Cohort": of_queue,
    "CronWorkflow": of_workflow,
    "HorizontalPodAutoscaler": simply("Deployment", "spec", "scaleTargetRef", "name", namespaced=True),
    "Ingress": of_ingress,
    "LocalQueue": simply("ClusterQueue", "spec", "clusterQueue"),
    "ObjectBucketClaim": simply("StorageClass", "spec", "storageClassName"),
    "PersistentVolume": of_claim,
    "PersistentVolumeClaim": of_claim,
    "RoleBinding": of_binding,
    "StatefulSet": simply("Service", "spec", "serviceName", namespaced=True),
    "StorageClass": of_class,
    "ValidatingAdmissionPolicyBinding": simply("ValidatingAdmissionPolicy", "spec", "policyName"),
    "VolumeSnapshotClass": of_class,
    "WorkflowTemplate": of_workflow,
}
