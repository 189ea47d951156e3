"""Whether what an object names is there, and there in time."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from validation.build import ROOT, Built, Object, told
from validation.made import BUILT_IN, BY_CHARTS
from validation.pods import GIVEN, containers, pods

__all__ = ["Target", "dangling", "late"]


class Target(NamedTuple):
    """What an object names. A key is asked for only in ConfigMaps and Secrets."""

    kind: str
    namespace: str
    name: str
    key: str = ""


Reader: TypeAlias = Callable[[Object], Iterator[Target]]


class Known(NamedTuple):
    """What there is: by kind, namespace and name the Application that brings it, and the keys it holds if they are
    known. The Application is empty for what stands before Argo CD.
    """

    application: str
    keys: frozenset[str] | None = None


def dangling(built: Built) -> list[str]:
    """Return the references to something that nothing makes."""
    known = index(built)
    return [
        f"{told(application, one)}: no {target.kind} {place(target)}"
        for application, one in built.all()
        for target in references(one, built)
        if missing(target, known)
    ]


def late(built: Built) -> list[str]:
    """Return the references to something that a later wave brings, or another Application of the same wave."""
    known, order = index(built), waves(built)
    found = []
    for application, one in built.all():
        for target in references(one, built):
            maker = known.get(target[:3], Known("")).application
            if maker and maker != application and order[maker] >= order[application]:
                found.append(
                    f"{told(application, one)}: {target.kind} {place(target)} comes from {maker} in wave "
                    f"{order[maker]}, not before wave {order[application]}"
                )
    return found


def waves(built: Built) -> dict[str, int]:
    """Return the waves of Applications. The root Application comes before all."""
    return {ROOT: -1} | {
        one["metadata"]["name"]: int(one["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"])
        for one in built.objects[ROOT]
        if one["kind"] == "Application" and one["metadata"]["name"] != ROOT
    }


def place(target: Target) -> str:
    name = f"{target.namespace}/{target.name}" if target.namespace else target.name
    return f"{name} with key {target.key}" if target.key else name


def missing(target: Target, known: dict[tuple[str, str, str], Known]) -> bool:
    if GIVEN in target.name:
        return False
    found = known.get(target[:3])
    return not found or bool(target.key and found.keys is not None and target.key not in found.keys)


def index(built: Built) -> dict[tuple[str, str, str], Known]:
    """Return everything that references may name."""
    found = {(kind, "", name): Known("") for kind, names in BUILT_IN.items() for name in names}
    for component, targets in BY_CHARTS.items():
        if component in built.objects:
            found |= {target: Known(component) for target in targets}
    for one in built.secrets:
        maker = one.get("by") or (one["component"] if one["source"] == "in-cluster" else "")
        found[("Secret", one["namespace"], one["name"])] = Known(maker, frozenset(one["keys"]))
    for application, one in built.all():
        for target in made(one):
            found[target[:3]] = Known(application, keys(one))
    return found


def made(manifest: Object) -> Iterator[Target]:
    """Yield an object and what controllers make of it."""
    space, name = manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]
    yield Target(manifest["kind"], space, name)
    if manifest["kind"] == "Certificate":
        yield Target("Secret", space, manifest["spec"]["secretName"])
    if manifest["kind"] == "Namespace":
        yield Target("ServiceAccount", name, "default")


def keys(manifest: Object) -> frozenset[str] | None:
    """Return the keys of what is made."""
    if manifest["kind"] == "ConfigMap":
        return frozenset({**manifest.get("data", {}), **manifest.get("binaryData", {})})
    return frozenset({"ca.crt", "tls.crt", "tls.key"}) if manifest["kind"] == "Certificate" else None


def references(manifest: Object, built: Built) -> Iterator[Target]:
    """Yield what an object and its pods name."""
    if reader := READERS.get(manifest["kind"]):
        yield from reader(manifest)
    space = manifest["metadata"].get("namespace", "")
    if space:
        yield Target("Namespace", "", space)
    for one in pods(manifest, built):
        yield from of_pod(one)
    for claim in manifest.get("spec", {}).get("volumeClaimTemplates", ()):
        if "storageClassName" in claim["spec"]:
            yield Target("StorageClass", "", claim["spec"]["storageClassName"])


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
        found = manifest
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
