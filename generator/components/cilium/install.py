"""Cilium: the pod network, service load balancing without kube-proxy, network policies and, if wanted, Ingress and
Gateway API.
"""

from collections.abc import Iterator

from generator.components.cilium import (
    DEFINITION,
    GATEWAYS,
    INGRESSES,
    NAMESPACE,
    SECRETS_NAMESPACE,
    VERSIONS,
    serves_ingress,
)
from generator.components.cilium.hubble import certificates, hubble
from generator.components.common import CLUSTER_ROLES, UNWATCHED, replicas
from generator.components.component import Component, Manifest, Namespace, Release
from generator.components.parts import resources
from generator.model.cluster import Cluster
from generator.model.nodes import LoadBalancer

# Where Cilium keeps certificates; the chart would make a namespace of its own.
OWN_SECRETS = {"create": False, "name": SECRETS_NAMESPACE}


def install(cluster: Cluster) -> Component:
    """Install Cilium where `networks.cni` asks for it.

    Traffic between nodes is tunnelled (VXLAN). For native routing on one flat network set in the component's values
    `routingMode: native`, `autoDirectNodeRoutes: true` and `nativeRoutingCIDRFromClusterPool: true`.
    """
    version = VERSIONS.of(cluster)
    return Component(
        name="cilium",
        tier=DEFINITION.tier,
        summary="Pod network, services and network policies",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security=None), Namespace(SECRETS_NAMESPACE)),
        releases=(Release(version.chart("cilium"), "cilium", NAMESPACE, values(cluster)),),
        # In this component and not in one of their own: the operator looks for them once, when it starts.
        manifests=version.manifests if cluster.networks.exposure else (),
        secrets=certificates(),
        kinds=tuple(kinds(cluster)),
    )


def kinds(cluster: Cluster) -> Iterator[str]:
    """Yield the cluster-scoped kinds that come with it. Its own CRDs are made by the operator, not by Argo CD."""
    yield from CLUSTER_ROLES
    if serves_ingress(cluster):
        yield INGRESSES
    if cluster.networks.exposure:
        yield from GATEWAYS


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Without kube-proxy the agents reach the API server by the endpoint's own address."""
    return {
        "cluster": {"name": cluster.name, "id": 0},
        "kubeProxyReplacement": True,
        "k8sServiceHost": cluster.kubernetes.endpoint.host,
        "k8sServicePort": cluster.kubernetes.endpoint.port,
        **addressing(cluster),
        **datapath(cluster),
        **encryption(cluster),
        **announcements(cluster.networks.load_balancer),
        **ingress(cluster),
        **workloads(cluster),
        "hubble": hubble(),
        # The namespace is ours, whichever of these asks for it: two of the three are off until somebody turns them on.
        **{part: {"secretsNamespace": OWN_SECRETS} for part in ("tls", "envoyConfig")},
        "gatewayAPI": {"secretsNamespace": OWN_SECRETS, **gateways(cluster)},
    }


def addressing(cluster: Cluster) -> Manifest:
    """Give each node its slice of the pod network. Lists and masks cannot be changed once nodes have a slice."""
    kubernetes = cluster.kubernetes
    operator: Manifest = {
        "clusterPoolIPv4PodCIDRList": [str(kubernetes.pod_cidr)],
        "clusterPoolIPv4MaskSize": kubernetes.node_mask,
    }
    if kubernetes.pod_cidr6:
        operator["clusterPoolIPv6PodCIDRList"] = [str(kubernetes.pod_cidr6)]
        operator["clusterPoolIPv6MaskSize"] = kubernetes.node_mask6
    return {
        "ipam": {"mode": "cluster-pool", "operator": operator},
        "ipv4": {"enabled": True},
        "ipv6": {"enabled": kubernetes.pod_cidr6 is not None},
    }


def datapath(cluster: Cluster) -> Manifest:
    """Bind to Ethernet by name: Cilium does not work on IP-over-InfiniBand devices, and pods that leave by an
    interface which is not listed keep their own address, which nobody outside can answer.
    """
    return {
        "routingMode": "tunnel",
        "tunnelProtocol": "vxlan",
        "bpf": {"masquerade": True},
        "devices": devices(cluster),
        "MTU": mtu(cluster),
    }


def encryption(cluster: Cluster) -> Manifest:
    """Encrypt what goes from pods of a node to pods of another, each node with a key of its own that Cilium makes and
    keeps. Cilium takes the room for it (80 bytes of each packet) off what it tells pods.
    """
    return {"encryption": {"enabled": True, "type": "wireguard"}} if cluster.networks.encryption else {}


def devices(cluster: Cluster) -> list[str]:
    """Return the interfaces of the node and storage networks, on any node. Empty: Cilium looks for itself."""
    networks = (machine.networks.get(name) for machine in cluster.machines for name in ("node", "storage"))
    return sorted({network.interface for network in networks if network and network.interface})


def mtu(cluster: Cluster) -> int:
    """Return the smallest MTU of the node network in bytes, tunnel included; 0 (each node finds its own) unless
    the file gives it for every node.
    """
    return min((machine.networks["node"].mtu or 0 for machine in cluster.machines), default=0)


def announcements(balancer: LoadBalancer | None) -> Manifest:
    """Answer ARP for load-balancer addresses. Every node asks for the lease of every service each two seconds
    (facts: the default 10 requests a second are too few), so the limit grows with the addresses there are.
    """
    if balancer is None or balancer.announce != "l2":
        return {}
    rate = 10 + max(balancer.range.size, 0)
    return {"l2announcements": {"enabled": True}, "k8sClientRateLimit": {"qps": rate, "burst": 2 * rate}}


def ingress(cluster: Cluster) -> Manifest:
    """Serve Ingresses.

    Argo CD calls a Service healthy when it has an address, and addresses come from `load-balancer`, which waits for
    this component: so the shared Service does not count.
    """
    if not serves_ingress(cluster):
        return {}
    return {
        "ingressController": {
            "enabled": True,
            "loadbalancerMode": "shared",
            "enforceHttps": True,
            "secretsNamespace": {**OWN_SECRETS, "sync": True},
            "service": {
                "type": "LoadBalancer" if cluster.networks.load_balancer else "NodePort",
                "annotations": UNWATCHED,
            },
        },
    }


def gateways(cluster: Cluster) -> Manifest:
    """Serve Gateways, gRPC as well: clients ask for HTTP/2 when TLS begins. The class is made whatever the chart finds,
    for it is inflated where it cannot look.
    """
    if not cluster.networks.exposure:
        return {}
    return {"enabled": True, "enableAlpn": True, "gatewayClass": {"create": "true"}}


def workloads(cluster: Cluster) -> Manifest:
    """Size the agent (on every node), Envoy and the operator, and let Prometheus ask them.

    No ServiceMonitors here: their CRD comes with Prometheus, and Prometheus comes after the network.
    """
    watched = {"prometheus": {"enabled": cluster.monitoring.prometheus is not None}}
    # Programs read their ConfigMap at their start: without a new one, a change would be Synced and without effect.
    # Pods keep their connections meanwhile; two nodes at a time are without new ones for some seconds.
    return {
        **watched,
        "resources": resources("100m", "512Mi", "2Gi"),
        "rollOutCiliumPods": True,
        "envoy": {"rollOutPods": True, "resources": resources("50m", "128Mi", "1Gi")},
        "operator": {
            "rollOutPods": True,
            # Replicas refuse to share a node.
            "replicas": replicas(cluster),
            "podDisruptionBudget": {"enabled": replicas(cluster) > 1},
            "resources": resources("50m", "128Mi", "1Gi"),
            **watched,
        },
    }
