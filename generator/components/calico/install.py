"""Calico: the pod network, by rules beside kube-proxy or by eBPF programs; installed through the Tigera operator."""

from ipaddress import IPv4Network, IPv6Network

from generator.components.calico import (
    BLOCK,
    DEFINITION,
    NAMESPACE,
    OVERHEAD,
    OVERHEAD6,
    REGISTRY,
    VERSIONS,
    speaks_bgp,
)
from generator.components.common import replicas
from generator.components.component import OF_DEFINITIONS, Component, Health, Manifest, Namespace, Release, protect
from generator.components.static import read_objects, read_text
from generator.model.cluster import Cluster
from generator.model.mirror import at_mirror

# How the operator names data planes.
DATA_PLANES = {"iptables": "Iptables", "nftables": "Nftables", "ebpf": "BPF"}


def install(cluster: Cluster) -> Component:
    """Install Calico where `networks.cni` asks for it. `calico-system` is made by the operator, not by us."""
    version, lua = VERSIONS.of(cluster), read_text("calico/health.lua")
    return Component(
        name="calico",
        tier=DEFINITION.tier,
        summary="Pod network and network policies",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        # Serves `projectcalico.org/v3`, which network policies of Calico's own need.
        base=(custom("APIServer", {}),),
        objects=(installation(cluster),),
        releases=(
            Release(
                version.chart("tigera-operator"),
                "calico",
                NAMESPACE,
                values(cluster),
                # Runs before the chart is deleted and takes the whole network down with it.
                hooks={"tigera-operator-uninstall": "drop"},
            ),
            # Since 3.32 the operator's chart has no CRDs.
            Release(version.chart("crd.projectcalico.org.v1"), f"calico{OF_DEFINITIONS}", NAMESPACE, {}),
        ),
        # The operator calls its `Available` `Ready` on these kinds (read in its source).
        health=tuple(Health("operator.tigera.io", kind, lua) for kind in ("Installation", "APIServer")),
        kinds=DEFINITION.chart_kinds,
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Without kube-proxy the operator and the agents reach the API server by the endpoint's
    own address.
    """
    endpoint = cluster.kubernetes.endpoint
    direct = {"kubernetesServiceEndpoint": {"host": endpoint.host, "port": str(endpoint.port)}}
    return {**read_objects("calico/values.yaml")[0], **({} if cluster.networks.kube_proxy else direct)}


def installation(cluster: Cluster) -> Manifest:
    """Return what the operator installs."""
    spec = {
        "variant": "Calico",
        **({"registry": at_mirror(f"{REGISTRY}/", cluster.site.images)} if cluster.site.images else {}),
        "cni": {"type": "Calico", "ipam": {"type": "Calico"}},
        "calicoNetwork": network(cluster),
        "controlPlaneReplicas": replicas(cluster),
        # No CSI driver: it serves only application-layer policies.
        "kubeletVolumePluginPath": "None",
    }
    return custom("Installation", spec)


def custom(kind: str, spec: Manifest) -> Manifest:
    """Return one of the operator's objects. Removing it takes the network down, so it is protected."""
    return protect({"apiVersion": "operator.tigera.io/v1", "kind": kind, "metadata": {"name": "default"}, "spec": spec})


def network(cluster: Cluster) -> Manifest:
    """Return the network. Node addresses are the kubelet's (`--node-ip`): the default, the first address found,
    can be one of IP over InfiniBand.
    """
    kubernetes = cluster.kubernetes
    settings: Manifest = {
        "bgp": "Enabled" if speaks_bgp(cluster) else "Disabled",
        "linuxDataplane": DATA_PLANES[cluster.networks.data_plane or "iptables"],
        "hostPorts": "Enabled",
        "multiInterfaceMode": "None",
        "nodeAddressAutodetectionV4": {"kubernetes": "NodeInternalIP"},
        "ipPools": [pool("default-ipv4-ippool", kubernetes.pod_cidr, BLOCK, private=speaks_bgp(cluster))],
    }
    if kubernetes.pod_cidr6:
        settings["nodeAddressAutodetectionV6"] = {"kubernetes": "NodeInternalIP"}
        settings["ipPools"].append(pool("default-ipv6-ippool", kubernetes.pod_cidr6, 122, private=speaks_bgp(cluster)))
    if size := mtu(cluster):
        settings["mtu"] = size
    return settings


def pool(name: str, cidr: IPv4Network | IPv6Network, block_size: int, *, private: bool) -> Manifest:
    """Return a pool with every field: the operator fills in the others, and in lists Argo CD calls that drift. Routers
    are not told of a `private` one.
    """
    return {
        "name": name,
        "cidr": str(cidr),
        "blockSize": max(block_size, cidr.prefixlen),
        "encapsulation": "VXLAN",
        "natOutgoing": "Enabled",
        "nodeSelector": "all()",
        "allowedUses": ["Workload", "Tunnel"],
        "assignmentMode": "Automatic",
        "disableBGPExport": private,
        "disableNewAllocations": False,
    }


def mtu(cluster: Cluster) -> int | None:
    """Return the MTU of pods in bytes; None unless the file gives that of the node network for every node. Calico
    would look for itself, and at IP over InfiniBand too.
    """
    smallest = min((machine.networks["node"].mtu or 0 for machine in cluster.machines), default=0)
    return smallest - (OVERHEAD6 if cluster.kubernetes.pod_cidr6 else OVERHEAD) if smallest else None
