"""Where Envoy Gateway and its Envoys run, and the names of their parts."""

from generator.components.cilium import ROUTING_CRDS
from generator.components.definition import Version, Versions
from generator.model.cluster import Cluster

NAME = "envoy-gateway"
NAMESPACE = "envoy-gateway"
GROUP = "gateway.envoyproxy.io"
GATEWAY_CLASS = "envoy-gateway"
"""The class of Gateways that it serves."""
LABELS = {"app.kubernetes.io/name": NAME}
PROXIES = {
    "app.kubernetes.io/component": "proxy",
    "app.kubernetes.io/managed-by": "envoy-gateway",
    "app.kubernetes.io/name": "envoy",
}
"""The labels of the Envoys that it makes (v1.9.0: `internal/infrastructure/kubernetes/proxy/resource.go`)."""
PORTS = (10080, 10443)
"""Where they listen for the ports 80 and 443 of a Gateway: ports below 1024 are 10000 higher in their pods."""
XDS = 18000
"""Where it tells them what to do, certificates of hosts included."""

# Of its own definitions these alone: it does without the others (`internal/provider/kubernetes/controller.go`), and
# what is not there is no way in.
_OWN = tuple(
    "https://raw.githubusercontent.com/envoyproxy/gateway/v1.9.0/charts/gateway-helm/charts/crds/crds/generated/"
    f"gateway.envoyproxy.io_{kinds}.yaml"
    for kinds in ("backendtrafficpolicies", "envoyproxies")
)
VERSIONS = Versions(
    NAME,
    (
        Version(
            version="v1.9.0",
            manifests=(*ROUTING_CRDS, *_OWN),
            images={
                "gateway": "docker.io/envoyproxy/gateway:v1.9.0",
                "envoy": "docker.io/envoyproxy/envoy:distroless-v1.39.0",
            },
            kubernetes=(33, 36),
        ),
    ),
)


def wanted(cluster: Cluster) -> bool:
    """Tell whether a cluster's Gateway is served by it: Cilium serves Gateways itself, Calico does not."""
    return bool(cluster.networks.exposure and cluster.teams) and cluster.networks.cni == "calico"
