"""Calico: the pod network, by rules beside kube-proxy or by eBPF programs; installed through the Tigera operator."""

from collections.abc import Iterator

from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Chart, Component, Tier
from generator.components.definition import ALL_NODES, Definition, Evidence, OperatorImages, Version, Versions
from generator.components.listening import Listener, Peer
from generator.components.operated import Api, OperatedKind
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster

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
# A VXLAN header over IPv4, in bytes; over IPv6 it is 20 more.
OVERHEAD, OVERHEAD6 = 50, 70


def calico(cluster: Cluster) -> Component:
    """Install Calico where `networks.cni` asks for it."""
    from generator.components.calico.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def speaks_bgp(cluster: Cluster) -> bool:
    """Tell whether nodes tell routers of the addresses of Services. Between each other they need no BGP."""
    balancer = cluster.networks.load_balancer
    return balancer is not None and balancer.announce == "bgp"


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
