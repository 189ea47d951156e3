"""cert-manager: makes and renews certificates; who signs them is in `issuers`."""

from collections.abc import Iterator

from generator.components.closed import Controller, closed, port_of
from generator.components.common import CLUSTER_ROLES, CRD, WEBHOOKS, release_of, replicas
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Secret, Tier, Turn
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.operated import OWN, Api, Made, Named, Names, OperatedKind
from generator.components.parts import injected_ca, resources, tolerations
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping, sequence
from generator.model.versions import of, skips_a_minor

VERSIONS = Versions(
    "cert-manager",
    (
        Version(
            version="v1.21.1",
            charts=(Chart(name="cert-manager", repository="oci://quay.io/jetstack/charts", version="v1.21.1"),),
            schemas=("cert-manager/v1.21.1",),
        ),
    ),
)


NAMESPACE = "cert-manager"
WEBHOOK_PORT, METRICS_PORT = 10250, 9402
CONTROLLER = {"app.kubernetes.io/name": "cert-manager", "app.kubernetes.io/component": "controller"}
"""Labels of the controller's Service, which is there where something reads its port `METRICS`."""
METRICS = "http-metrics"
MOVES = (("webhook", "config", "securePort"), ("webhook", "securePort"))
"""Values of the chart that move the webhook's port; the first wins."""
GROUP = "cert-manager.io"
SECRET_KEYS = frozenset({"ca.crt", "tls.crt", "tls.key", "keystore.jks", "keystore.p12", "truststore.jks"})
"""What a Secret with a certificate may hold."""
SOLVERS: Names = (("IngressClass", "spec.acme.solvers.*.http01.ingress.ingressClassName"),)


def cert_manager(cluster: Cluster) -> Component:
    """Install cert-manager on every cluster."""
    version = VERSIONS.of(cluster)
    return Component(
        name="cert-manager",
        tier=DEFINITION.tier,
        summary="Certificates",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        objects=tuple(shut(cluster)),
        releases=(Release(version.chart("cert-manager"), "cert-manager", NAMESPACE, values(cluster)),),
        needs=(cluster.networks.cni,),
        secrets=(webhook_ca(),),
        ignore=injected_ca(*WEBHOOKS),
        kinds=DEFINITION.chart_kinds,
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Leases stay out of kube-system; the start-up check, a hook, would run on every
    sync. No ServiceMonitor of the chart's: Prometheus comes after what needs certificates, and brings one.
    """
    two = replicas(cluster)
    return {
        "crds": {"enabled": True, "keep": True},
        "global": {"leaderElection": {"namespace": NAMESPACE}, "priorityClassName": "system-cluster-critical"},
        "prometheus": {"enabled": cluster.monitoring.prometheus is not None},
        "startupapicheck": {"enabled": False},
        **pods(cluster, two, "512Mi"),
        # Without an answer of the webhook no certificate can be made or changed.
        "webhook": pods(cluster, 3 if two > 1 else 1, "256Mi"),
        # Holds every Secret and CRD of the cluster in memory.
        "cainjector": pods(cluster, two, "1Gi"),
    }


def shut(cluster: Cluster) -> Iterator[Manifest]:
    """Shut its pods but for calls of the webhook. The controller alone goes wherever issuers of the site are: ACME,
    Vault, servers of names.
    """
    release, namespace = release_of(cluster, "cert-manager", NAMESPACE)
    port = port_of(cluster, "cert-manager", MOVES, WEBHOOK_PORT)
    for name, called, asks in (("cert-manager", (), None), ("cainjector", (), ()), ("webhook", (port,), ())):
        labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/instance": release}
        yield from closed(
            cluster,
            Controller(
                name=name, namespace=namespace, labels=labels, called=called, metrics=(METRICS_PORT,), asks=asks
            ),
        )


def pods(cluster: Cluster, count: int, limit: str) -> Manifest:
    """Return the part of the values that all three programs have in common; `limit` is of the memory."""
    return {
        "replicaCount": count,
        "podDisruptionBudget": {"enabled": count > 1},
        "resources": resources("10m", "64Mi", limit),
        "tolerations": tolerations(cluster.control_plane),
    }


def webhook_ca() -> Secret:
    """Declare the CA that cert-manager's webhook makes for itself."""
    return Secret(
        name="cert-manager-webhook-ca",
        namespace=NAMESPACE,
        keys=("ca.crt", "tls.crt", "tls.key"),
        source="in-cluster",
        by="cert-manager",
        loss="harmless",
        rotate="delete it: the webhook makes a new one",
        readers=("cert-manager-webhook", "cert-manager-cainjector"),
        turn=Turn(way="delete"),
    )


def issuer(manifest: Manifest) -> Iterator[Named]:
    """Yield the issuer of a Certificate."""
    said = mapping(dig(manifest, "spec", "issuerRef"))
    kind = str(said.get("kind", "Issuer"))
    if said.get("group", GROUP) == GROUP:
        yield Named(("spec", "issuerRef", "name"), kind, said.get("name"), "" if kind == "ClusterIssuer" else OWN)


def certified(manifest: Manifest) -> Iterator[Made]:
    """Yield the Secret of a Certificate."""
    yield Made("Secret", str(dig(manifest, "spec", "secretName")), OWN, SECRET_KEYS)


def ingress_issuers(manifest: Manifest) -> Iterator[Named]:
    """Yield the issuer of an Ingress's certificates."""
    annotations = mapping(dig(manifest, "metadata", "annotations"))
    for key, kind, space in ((f"{GROUP}/cluster-issuer", "ClusterIssuer", ""), (f"{GROUP}/issuer", "Issuer", OWN)):
        if annotations.get(f"{GROUP}/issuer-group", GROUP) == GROUP:
            yield Named(("metadata", "annotations", key), kind, annotations.get(key), space)


def ingress_secrets(manifest: Manifest) -> Iterator[Made]:
    """Yield the Secrets with an Ingress's certificates."""
    if any(f"{GROUP}/" in str(key) for key in mapping(dig(manifest, "metadata", "annotations"))):
        for tls in sequence(dig(manifest, "spec", "tls")):
            yield Made("Secret", str(dig(tls, "secretName")), OWN, SECRET_KEYS)


READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}]}
DEFINITION = Definition(
    name="cert-manager",
    tier=Tier.PLATFORM,
    make=cert_manager,
    versions=VERSIONS,
    jumps=lambda: read_rules("cert_manager_jumps.yaml", skips_a_minor=of("cert-manager", skips_a_minor)),
    namespaces=(NAMESPACE,),
    changes=lambda: read_rules("cert_manager_changes.yaml"),
    chart_kinds=(*WEBHOOKS, CRD, *CLUSTER_ROLES),
    apis=(Api(group=GROUP),),
    kinds=(
        OperatedKind(kind="Certificate", group=GROUP, status=READY, also_names=issuer, makes=certified),
        OperatedKind(
            kind="ClusterIssuer",
            group=GROUP,
            status=READY,
            names=(("Secret", "spec.ca.secretName", NAMESPACE), *SOLVERS),
        ),
        OperatedKind(kind="Ingress", also_names=ingress_issuers, makes=ingress_secrets),
        OperatedKind(kind="Issuer", group=GROUP, status=READY, names=(("Secret", "spec.ca.secretName", OWN), *SOLVERS)),
    ),
    shown_by=Evidence(images=("cert-manager-controller",)),
)
