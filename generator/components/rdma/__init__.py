"""RDMA for pods: every pod that asks for one `rdma/<resource>` gets the HCAs of its node."""

from collections.abc import Sequence

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.network_operator import NAMESPACE, has_rdma, hosts
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.nodes import Machine

PREFIX = "rdma"


def rdma(cluster: Cluster) -> Component:
    """Run the shared RDMA device plugin on the nodes with GPUs and HCAs."""
    from generator.components.rdma.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def offers(cluster: Cluster, machine: Machine) -> dict[str, int]:
    """Return how many pods may share a node's HCAs."""
    fabric = cluster.fabric
    return {f"{PREFIX}/{fabric.rdma.resource}": fabric.rdma.max_pods} if fabric and has_rdma(cluster, machine) else {}


def nccl(hcas: Sequence[str], *, reached: bool) -> dict[str, str]:
    """Return what NCCL and Gloo are told in a pod: it has one interface, `eth0`, and reaches InfiniBand by its devices.
    These are named where all nodes have the same: a pod sees Ethernet cards of that maker as well (facts: network-gpu
    8). `reached` tells whether it asks for them.
    """
    return {
        "NCCL_SOCKET_IFNAME": "=eth0",
        "GLOO_SOCKET_IFNAME": "eth0",
        **({"NCCL_IB_HCA": f"={','.join(hcas)}"} if reached and hcas else {}),
        **({} if reached else {"NCCL_IB_DISABLE": "1"}),
    }


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.rdma.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


DEFINITION = Definition(
    name="rdma",
    tier=Tier.GPU,
    make=rdma,
    wanted=hosts,
    absence="no GPU node has HCAs in a fabric",
    resources=(f"{PREFIX}/",),
    offers=offers,
    # Its own name is kept from teams as well.
    namespaces=(NAMESPACE, "rdma"),
    own_kinds=("mellanox.com/NicClusterPolicy",),
    changes=change_rules,
    shown_by=Evidence(images=("k8s-rdma-shared-dev-plugin",), objects=(Shown("mellanox.com", "nicclusterpolicies"),)),
    notes="The shared device plugin: every pod that asks for one `rdma/<resource>` sees all HCAs of its node. Nodes "
    "are chosen by a label that tells InfiniBand links from Ethernet cards of the same maker.",
)
