"""metrics-server: what nodes and pods use right now, for `kubectl top` and autoscalers."""

from generator.components.common import CLUSTER_ROLES, replicas
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.parts import resources, spread, tolerations
from generator.model.cluster import Cluster

VERSIONS = Versions(
    "metrics-server",
    (
        Version(
            version="3.13.1",
            charts=(
                Chart(
                    name="metrics-server",
                    repository="https://kubernetes-sigs.github.io/metrics-server",
                    version="3.13.1",
                ),
            ),
            schemas=("metrics-server/chart-3.13.1",),
        ),
    ),
)

NAMESPACE = "kube-system"


def metrics_server(cluster: Cluster) -> Component:
    """Install metrics-server on every cluster."""
    version = VERSIONS.of(cluster)
    return Component(
        name="metrics-server",
        tier=DEFINITION.tier,
        summary="Resource metrics for kubectl top and autoscalers",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security=None),),
        releases=(Release(version.chart("metrics-server"), "metrics-server", NAMESPACE, values(cluster)),),
        needs=(cluster.networks.cni,),
        kinds=DEFINITION.chart_kinds,
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Kubelets sign their own serving certificates (nothing approves requests for
    others, facts: network-gpu 9), so those are not verified.
    """
    pods = replicas(cluster)
    return {
        "replicas": pods,
        "podDisruptionBudget": {"enabled": True, "minAvailable": 1} if pods > 1 else {"enabled": False},
        "args": ["--kubelet-insecure-tls"],
        "tls": {"type": "metrics-server"},
        "resources": resources("100m", "200Mi", "512Mi"),
        "tolerations": tolerations(cluster.control_plane),
        "topologySpreadConstraints": spread({"app.kubernetes.io/name": "metrics-server"}),
    }


DEFINITION = Definition(
    name="metrics-server",
    tier=Tier.PLATFORM,
    make=metrics_server,
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=("apiregistration.k8s.io/APIService", *CLUSTER_ROLES),
    shown_by=Evidence(
        images=("metrics-server/metrics-server", "mirrored-metrics-server", "hardened-k8s-metrics-server")
    ),
)
