"""cert-manager: makes and renews certificates; who signs them is in `issuers`."""

from generator.components.common import CLUSTER_ROLES, CRD, WEBHOOKS, replicas
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Secret, Tier
from generator.components.definition import Definition, Version, Versions
from generator.components.parts import injected_ca, resources, tolerations
from generator.model.cluster import Cluster

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


def cert_manager(cluster: Cluster) -> Component:
    """Install cert-manager on every cluster."""
    version = VERSIONS.of(cluster)
    return Component(
        name="cert-manager",
        tier=Tier.PLATFORM,
        summary="Certificates",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        releases=(Release(version.chart("cert-manager"), "cert-manager", NAMESPACE, values(cluster)),),
        needs=(cluster.networks.cni,),
        secrets=(webhook_ca(),),
        ignore=injected_ca(*WEBHOOKS),
        kinds=(*WEBHOOKS, CRD, *CLUSTER_ROLES),
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Leases stay out of kube-system; the start-up check, a hook, would run on every
    sync. No ServiceMonitor: Prometheus comes after what needs certificates.
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
    )


DEFINITION = Definition(
    name="cert-manager",
    make=cert_manager,
    versions=VERSIONS,
)
