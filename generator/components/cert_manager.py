"""cert-manager: makes and renews certificates; who signs them is in `issuers`."""

from generator.components.common import tolerations
from generator.components.component import Component, Ignore, Manifest, Namespace, Release, Secret, Tier
from generator.model.cluster import Cluster
from generator.model.versions import version_of

__all__ = ["NAMESPACE", "cert_manager"]

NAMESPACE = "cert-manager"


def cert_manager(cluster: Cluster) -> Component:
    """Install cert-manager on every cluster."""
    version = version_of("cert-manager", cluster)
    return Component(
        name="cert-manager",
        tier=Tier.PLATFORM,
        summary="Certificates",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        releases=(
            Release(
                chart=version.chart("cert-manager"), name="cert-manager", namespace=NAMESPACE, values=values(cluster)
            ),
        ),
        needs=(cluster.networks.cni,),
        secrets=(webhook_ca(),),
        ignore=tuple(
            Ignore(
                group="admissionregistration.k8s.io",
                kind=kind,
                expressions=(".webhooks[]?.clientConfig.caBundle",),
            )
            for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        ),
        kinds=(
            "admissionregistration.k8s.io/MutatingWebhookConfiguration",
            "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
            "apiextensions.k8s.io/CustomResourceDefinition",
            "rbac.authorization.k8s.io/ClusterRole",
            "rbac.authorization.k8s.io/ClusterRoleBinding",
        ),
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Leases stay out of kube-system; the start-up check, a hook, would run on every
    sync. No ServiceMonitor: Prometheus comes after what needs certificates.
    """
    several = len(cluster.control_plane) > 1
    return {
        "crds": {"enabled": True, "keep": True},
        "global": {
            "leaderElection": {"namespace": NAMESPACE},
            "priorityClassName": "system-cluster-critical",
        },
        "prometheus": {"enabled": cluster.monitoring.prometheus is not None},
        "startupapicheck": {"enabled": False},
        **pods(cluster, replicas=2 if several else 1, memory="512Mi"),
        # Without an answer of the webhook no certificate can be made or changed.
        "webhook": pods(cluster, replicas=3 if several else 1, memory="256Mi"),
        # Holds every Secret and CRD of the cluster in memory.
        "cainjector": pods(cluster, replicas=2 if several else 1, memory="1Gi"),
    }


def pods(cluster: Cluster, *, replicas: int, memory: str) -> Manifest:
    """Return the part of the values that all three programs have in common; `memory` is the limit."""
    return {
        "replicaCount": replicas,
        "podDisruptionBudget": {"enabled": replicas > 1},
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": memory}},
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
