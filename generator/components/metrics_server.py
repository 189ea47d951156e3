"""metrics-server: what nodes and pods use right now, for `kubectl top` and autoscalers."""

from generator.components.common import tolerations
from generator.components.component import Component, Manifest, Namespace, Release, Tier
from generator.model.cluster import Cluster
from generator.model.versions import version_of

__all__ = ["metrics_server"]

NAMESPACE = "kube-system"


def metrics_server(cluster: Cluster) -> Component:
    """Install metrics-server on every cluster."""
    version = version_of("metrics-server", cluster)
    return Component(
        name="metrics-server",
        tier=Tier.PLATFORM,
        summary="Resource metrics for kubectl top and autoscalers",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security=None),),
        releases=(
            Release(
                chart=version.chart("metrics-server"),
                name="metrics-server",
                namespace=NAMESPACE,
                values=values(cluster),
            ),
        ),
        needs=(cluster.networks.cni,),
        kinds=(
            "apiregistration.k8s.io/APIService",
            "rbac.authorization.k8s.io/ClusterRole",
            "rbac.authorization.k8s.io/ClusterRoleBinding",
        ),
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Kubelets sign their own serving certificates (nothing approves requests for
    others, facts: network-gpu 9), so those are not verified.
    """
    several = len(cluster.control_plane) > 1
    return {
        "replicas": 2 if several else 1,
        "podDisruptionBudget": {"enabled": True, "minAvailable": 1} if several else {"enabled": False},
        "args": ["--kubelet-insecure-tls"],
        "tls": {"type": "metrics-server"},
        "resources": {"requests": {"cpu": "100m", "memory": "200Mi"}, "limits": {"memory": "512Mi"}},
        "tolerations": tolerations(cluster.control_plane),
        "topologySpreadConstraints": [spread()],
    }


def spread() -> Manifest:
    """Keep replicas on different nodes where that is possible."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "metrics-server"}},
    }
