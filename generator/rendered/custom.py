"""What objects of custom kinds name: Rook, cert-manager, Kueue, Volcano, Prometheus."""

from collections.abc import Callable, Iterator

from generator.rendered.access import Path, dig, mapping, sequence
from generator.rendered.built import Object
from generator.rendered.target import Found, target

__all__ = ["CUSTOM"]


def of_certificate(one: Object) -> Iterator[Found]:
    """Yield the issuer of a Certificate."""
    issuer = mapping(dig(one.manifest, "spec", "issuerRef"))
    kind = str(issuer.get("kind", "Issuer"))
    if issuer.get("group", "cert-manager.io") == "cert-manager.io":
        space = "" if kind == "ClusterIssuer" else one.namespace
        yield ("spec", "issuerRef", "name"), target(kind, space, issuer.get("name"))


def of_issuer(one: Object) -> Iterator[Found]:
    """Yield the CA's Secret and the class of the Ingress that proves a domain."""
    space = one.namespace or "cert-manager"
    yield ("spec", "ca", "secretName"), target("Secret", space, dig(one.manifest, "spec", "ca", "secretName"))
    for index, solver in enumerate(sequence(dig(one.manifest, "spec", "acme", "solvers"))):
        at = ("http01", "ingress", "ingressClassName")
        yield ("spec", "acme", "solvers", index, *at), target("IngressClass", "", dig(solver, *at))


def of_queue(one: Object) -> Iterator[Found]:
    """Yield the cohort, the flavors and the checks of a ClusterQueue or Cohort."""
    spec = mapping(one.manifest.get("spec"))
    for key in ("cohort", "cohortName", "parentName"):
        yield ("spec", key), target("Cohort", "", spec.get(key))
    for number, group in enumerate(sequence(spec.get("resourceGroups"))):
        for index, flavor in enumerate(sequence(dig(group, "flavors"))):
            at: Path = ("spec", "resourceGroups", number, "flavors", index, "name")
            yield at, target("ResourceFlavor", "", dig(flavor, "name"))
    for index, check in enumerate(sequence(dig(spec, "admissionChecksStrategy", "admissionChecks"))):
        at = ("spec", "admissionChecksStrategy", "admissionChecks", index, "name")
        yield at, target("AdmissionCheck", "", dig(check, "name"))
    for index, rule in enumerate(sequence(dig(spec, "namespaceSelector", "matchExpressions"))):
        if dig(rule, "key") == "kubernetes.io/metadata.name" and dig(rule, "operator") == "In":
            at = ("spec", "namespaceSelector", "matchExpressions", index, "values")
            yield from ((at, target("Namespace", "", name)) for name in sequence(dig(rule, "values")))


def of_flavor(one: Object) -> Iterator[Found]:
    """Yield the topology of a ResourceFlavor."""
    yield ("spec", "topologyName"), target("Topology", "", dig(one.manifest, "spec", "topologyName"))


def of_volcano_job(one: Object) -> Iterator[Found]:
    """Yield the queue and the priority of a Volcano Job; Kubernetes' own Jobs have neither."""
    if str(one.manifest.get("apiVersion")).startswith("batch.volcano.sh/"):
        spec = mapping(one.manifest.get("spec"))
        yield ("spec", "queue"), target("Queue", "", spec.get("queue"))
        yield ("spec", "priorityClassName"), target("PriorityClass", "", spec.get("priorityClassName"))


def named(kind: str, *at: str, namespaced: bool = False) -> Callable[[Object], Iterator[Found]]:
    """Return what reads one name at a place."""

    def read(one: Object) -> Iterator[Found]:
        yield at, target(kind, one.namespace if namespaced else "", dig(one.manifest, *at))

    return read


CUSTOM: dict[str, Callable[[Object], Iterator[Found]]] = {
    "CephFilesystemSubVolumeGroup": named("CephFilesystem", "spec", "filesystemName", namespaced=True),
    "CephObjectStore": named("Secret", "spec", "gateway", "sslCertificateRef", namespaced=True),
    "CephObjectStoreUser": named("CephObjectStore", "spec", "store", namespaced=True),
    "Certificate": of_certificate,
    "ClusterIssuer": of_issuer,
    "ClusterQueue": of_queue,
    "Cohort": of_queue,
    "Issuer": of_issuer,
    "Job": of_volcano_job,
    "LocalQueue": named("ClusterQueue", "spec", "clusterQueue"),
    "ObjectBucketClaim": named("StorageClass", "spec", "storageClassName"),
    "ResourceFlavor": of_flavor,
}
