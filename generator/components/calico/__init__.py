"""Calico: the pod network, by rules beside kube-proxy or by eBPF programs; installed through the Tigera operator."""

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network

from generator.components.common import CLUSTER_ROLES, CRD, replicas
from generator.components.component import (
    OF_DEFINITIONS,
    Chart,
    Component,
    Health,
    Manifest,
    Namespace,
    Release,
    Tier,
    protect,
)
from generator.components.definition import ALL_NODES, Definition, Evidence, OperatorImages, Version, Versions
from generator.components.listening import Listener, Peer
from generator.components.operated import Api, OperatedKind
from generator.components.static import read_objects, read_text
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.mirror import at_mirror

VERSIONS = Versions(
    "calico",
    (
        Version(
            version="v3.32.1",
            charts=(
                Chart(name="tigera-operator", repository="https://docs.tigera.io/calico/charts", version="v3.32.1"),
                Chart(
                    name="crd.projectcalico.org.v1",
                    repository="https://docs.tigera.io/calico/charts",
                    version="v3.32.1",
                ),
            ),
            schemas=("calico/v3.32.1",),
        ),
    ),
)

NAMESPACE = "tigera-operator"
# It gives nodes addresses in blocks of this prefix length (facts: network-gpu 3).
BLOCK = 26
REGISTRY = "quay.io"
# How the operator names data planes.
DATA_PLANES = {"iptables": "Iptables", "nftables": "Nftables", "ebpf": "BPF"}
# A VXLAN header over IPv4, in bytes; over IPv6 it is 20 more.
OVERHEAD, OVERHEAD6 = 50, 70


def calico(cluster: Cluster) -> Component:
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


def speaks_bgp(cluster: Cluster) -> bool:
    """Tell whether nodes tell routers of the addresses of Services. Between each other they need no BGP."""
    balancer = cluster.networks.load_balancer
    return balancer is not None and balancer.announce == "bgp"


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


# Its own data plane, FlexVolume at its default, no CSI driver, no v3 CRDs, goldmane and whisker left out
# (tigera/operator v1.42.3, pkg/components/calico.go and references.go).
IMAGES = OperatorImages(
    versions=VERSIONS,
    kind="Installation",
    registry=("spec", "registry"),
    default=REGISTRY,
    names=tuple(
        f"calico/{part}" for part in ("apiserver", "cni", "kube-controllers", "node", "pod2daemon-flexvol", "typha")
    ),
)
READY = {
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "AllObjectsAvailable",
            "message": "All objects available",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
}


def listens(cluster: Cluster) -> Iterator[Listener]:
    """Yield what nodes must let in (Calico, System requirements, Network requirements)."""
    yield Listener(name="calico-vxlan", port=4789, protocol="udp", peers=(Peer.NODES,))
    yield Listener(name="calico-typha", port=5473, peers=(Peer.NODES,))
    if speaks_bgp(cluster):
        yield Listener(name="calico-bgp", port=179, peers=(Peer.ROUTERS,))


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.calico.changes import CHANGES  # noqa: PLC0415 - for those who compare
    from generator.components.calico.openings import OPENINGS  # noqa: PLC0415 - as above

    return (*CHANGES, *OPENINGS)


DEFINITION = Definition(
    name="calico",
    tier=Tier.NETWORK,
    make=calico,
    wanted=lambda cluster: cluster.networks.cni == "calico",
    absence="cni is cilium",
    versions=VERSIONS,
    namespaces=(NAMESPACE, "calico-apiserver", "calico-system"),
    chart_kinds=(CRD, *CLUSTER_ROLES),
    own_kinds=("operator.tigera.io/APIServer", "operator.tigera.io/Installation"),
    listens=listens,
    apis=(Api(group="projectcalico.org", by_operator=True), Api(group="operator.tigera.io")),
    kinds=tuple(
        OperatedKind(kind=kind, group="operator.tigera.io", status=READY) for kind in ("APIServer", "Installation")
    ),
    daemons_on=ALL_NODES,
    changes=change_rules,
    shown_by=Evidence(images=("calico/node", "mirrored-calico-node")),
    notes="Keeps kube-proxy, in the mode of its own data plane (`networks.calico.dataplane`), or replaces it (`ebpf`). "
    "The data plane is chosen before the cluster is made: on a running one the change interrupts connections, and "
    "kube-proxy must be changed or removed by hand. The CRDs and the Installation are Argo CD's, not the operator's "
    "own; the Installation is protected, because removing it takes the network down. A pod's `hostPort` works with "
    "each data plane; with `ebpf` as long as FelixConfiguration leaves `bpfHostConntrackBypass` off, as by default.",
    operator_images=IMAGES,
)
