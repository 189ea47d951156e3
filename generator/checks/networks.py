"""Rules about networks: which may share addresses, and how large they must be."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from generator.checks.places import Block, blocks, endpoint_address, free_network, overlap
from generator.checks.rule import rule
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path

__all__: list[str] = []

POD: Path = ("kubernetes", "podCIDR")
SERVICE: Path = ("kubernetes", "serviceCIDR")
# Calico gives nodes addresses in blocks of this prefix length (facts: network-gpu 3).
CALICO_BLOCK = 26


def clash(wrong: Block, other: Block, free: str) -> Finding:
    """Say that two networks share addresses; `free` is a network to take instead."""
    return Finding(
        at=wrong.at,
        also=other.at,
        message=f"{wrong.name} {wrong.cidr} overlaps {other.name} {other.cidr}",
        fix=f"{free} is free" if free else "choose a network that no other one overlaps",
    )


@rule(
    "GEN-NET-001",
    "networks between nodes lie apart",
    wrong="node: {cidr: 10.10.0.0/22}\nstorage: {cidr: 10.10.2.0/24}\n",
    right="node: {cidr: 10.10.0.0/22}\nstorage: {cidr: 10.20.0.0/24}\n",
)
def networks_apart(cluster: Cluster) -> Iterator[Finding]:
    """A node with two interfaces in one network answers on the wrong one. Only the management controllers may
    share the node network, and then the whole of it.
    """
    earlier: list[Block] = []
    for block in blocks(cluster):
        for other in earlier:
            shared = block.at[1] == "bmc" and other.at[1] == "node" and block.cidr == other.cidr
            if overlap(block.cidr, other.cidr) and not shared:
                yield clash(block, other, _free(cluster, block, "10.20.0.0"))
        earlier.append(block)


@rule(
    "GEN-NET-004",
    "pod network apart from the networks between nodes",
    wrong="podCIDR: 10.10.0.0/16\n",
    right="podCIDR: 10.244.0.0/16\n",
)
def pod_network_apart(cluster: Cluster) -> Iterator[Finding]:
    """Pods cannot reach a node, a storage server or a gateway whose address lies in their own network."""
    for pods in _pods(cluster):
        for other in blocks(cluster):
            if overlap(pods.cidr, other.cidr):
                yield clash(pods, other, _free(cluster, pods, "10.244.0.0"))


@rule(
    "GEN-NET-005",
    "service network apart from all others",
    wrong="podCIDR: 10.96.0.0/16\nserviceCIDR: 10.96.0.0/12\n",
    right="podCIDR: 10.244.0.0/16\nserviceCIDR: 10.96.0.0/12\n",
)
def service_network_apart(cluster: Cluster) -> Iterator[Finding]:
    """A service's address is rewritten on its way, so nothing else with that address can be reached."""
    for services in _services(cluster):
        for other in (*_pods(cluster), *blocks(cluster)):
            if overlap(services.cidr, other.cidr):
                yield clash(services, other, _free(cluster, services, "10.96.0.0"))


def _pods(cluster: Cluster) -> Iterator[Block]:
    yield Block("podCIDR", POD, cluster.kubernetes.pod_cidr)
    if cluster.kubernetes.pod_cidr6:
        yield Block("podCIDR6", ("kubernetes", "podCIDR6"), cluster.kubernetes.pod_cidr6)


def _services(cluster: Cluster) -> Iterator[Block]:
    yield Block("serviceCIDR", SERVICE, cluster.kubernetes.service_cidr)
    if cluster.kubernetes.service_cidr6:
        yield Block("serviceCIDR6", ("kubernetes", "serviceCIDR6"), cluster.kubernetes.service_cidr6)


def _free(cluster: Cluster, block: Block, wanted: str) -> str:
    if not isinstance(block.cidr, IPv4Network):
        return ""
    return free_network(cluster, block.cidr.prefixlen, wanted, besides=(block.at,))


@rule(
    "GEN-NET-006",
    "service network of a size that Kubernetes takes",
    wrong="serviceCIDR: 10.96.0.0/29\n",
    right="serviceCIDR: 10.96.0.0/16\n",
)
def service_network_size(cluster: Cluster) -> Iterator[Finding]:
    """The DNS service has the tenth address, so kubeadm refuses fewer than ten; the API server refuses more than
    twenty bits of addresses.
    """
    for services in _services(cluster):
        bits = services.cidr.max_prefixlen - services.cidr.prefixlen
        if bits < 4 or bits > 20:
            shortest, longest = services.cidr.max_prefixlen - 20, services.cidr.max_prefixlen - 4
            yield Finding(
                at=services.at,
                message=f"{services.name} {services.cidr} is too {'small' if bits < 4 else 'large'}: "
                f"/{shortest} to /{longest} are possible",
                fix=f"write {services.cidr.network_address}/{longest if bits < 4 else shortest}",
            )


@rule(
    "GEN-NET-007",
    "pod network with a slice for every node",
    wrong="podCIDR: 10.244.0.0/24   # one slice of /24, for three nodes\n",
    right="podCIDR: 10.244.0.0/22\n",
)
def slice_for_every_node(cluster: Cluster) -> Iterator[Finding]:
    """Each node gets a slice of the pod network (`nodeMask`); a node without one starts no pods, and the pod
    network of a running cluster cannot grow.
    """
    kubernetes, count = cluster.kubernetes, len(cluster.nodes)
    pods, mask = kubernetes.pod_cidr, kubernetes.node_mask
    slices = 2 ** (mask - pods.prefixlen) if mask >= pods.prefixlen else 0
    if slices < max(count, 1):
        prefix = max(8, mask - max(0, count - 1).bit_length())
        free = free_network(cluster, prefix, str(pods.network_address), besides=(POD,))
        yield Finding(
            at=POD,
            also=("nodes",),
            message=f"podCIDR {pods} has {slices} slices of /{mask} for {count} nodes",
            fix=f"{free} has enough" if free else f"/{prefix} has enough",
        )


@rule(
    "GEN-NET-008",
    "at most 16 bits between pod network and node slices",
    wrong="podCIDR: 10.0.0.0/8\nnodeMask: 25\n",
    right="podCIDR: 10.0.0.0/9\nnodeMask: 25\n",
)
def slices_countable(cluster: Cluster) -> Iterator[Finding]:
    """The controller manager keeps a bit for each slice, and kubeadm refuses more than 65 536 of them."""
    kubernetes = cluster.kubernetes
    if kubernetes.node_mask - kubernetes.pod_cidr.prefixlen > 16:
        yield Finding(
            at=POD,
            message=f"podCIDR {kubernetes.pod_cidr} is more than 16 bits larger than a node's slice of "
            f"/{kubernetes.node_mask}",
            fix=f"write {kubernetes.pod_cidr.network_address}/{kubernetes.node_mask - 16}",
        )


@rule(
    "GEN-NET-009",
    "a node's slice holds its pods",
    wrong="nodeMask: 26   # 64 addresses, for 110 pods\n",
    right="nodeMask: 25\n",
)
def slice_holds_pods(cluster: Cluster) -> Iterator[Finding]:
    """Pods beyond the slice wait for an address for ever. Cilium keeps four addresses of a slice: the first and
    the last, the node's router and its health check. Calico gives a node another block when one is full.
    """
    kubernetes = cluster.kubernetes
    room = 2 ** (32 - kubernetes.node_mask) - 4
    if cluster.networks.cni == "cilium" and kubernetes.max_pods > room:
        mask = 32 - (kubernetes.max_pods + 3).bit_length()
        yield Finding(
            at=("kubernetes", "nodeMask"),
            also=("kubernetes", "maxPods"),
            message=f"a node's slice of /{kubernetes.node_mask} has addresses for {room} pods, "
            f"and maxPods is {kubernetes.max_pods}",
            fix=f"nodeMask: {mask}, or maxPods: {room}",
        )


@rule(
    "GEN-NET-010",
    "both families or one",
    wrong="podCIDR6: fd00:10:244::/56\n",
    right="podCIDR6: fd00:10:244::/56\nserviceCIDR6: fd00:10:96::/112\n",
)
def both_families(cluster: Cluster) -> Iterator[Finding]:
    """Dual stack needs IPv6 for pods, for services and for nodes; kubeadm refuses half of it."""
    pods, services = cluster.kubernetes.pod_cidr6, cluster.kubernetes.service_cidr6
    given = "podCIDR6" if pods else "serviceCIDR6"
    wanted = {"podCIDR6": pods, "serviceCIDR6": services, "networks.node.cidr6": cluster.networks.node.cidr6}
    missing = [name for name, value in wanted.items() if value is None]
    if missing and (pods or services):
        yield Finding(
            at=("kubernetes", given),
            message=f"{given} without {' and '.join(missing)}",
            fix=f"add {' and '.join(missing)}, or remove {given}",
        )


@rule(
    "GEN-NET-011",
    "Calico's blocks fit the pod network",
    wrong="cni: calico\n# and\npodCIDR: 10.244.0.0/27\nnodeMask: 28\n",
    right="cni: calico\n# and\npodCIDR: 10.244.0.0/16\n",
)
def calico_blocks(cluster: Cluster) -> Iterator[Finding]:
    """Calico hands out the pod network in blocks of /26 and refuses a smaller network."""
    pods = cluster.kubernetes.pod_cidr
    if cluster.networks.cni == "calico" and pods.prefixlen > CALICO_BLOCK:
        free = free_network(cluster, 16, str(pods.network_address), besides=(POD,))
        message = f"podCIDR {pods} is smaller than one block of Calico (/{CALICO_BLOCK})"
        yield Finding(at=POD, also=("networks", "cni"), message=message, fix=f"write {free}" if free else "")


@rule(
    "GEN-NET-012",
    "servers of the site outside the cluster's own networks",
    wrong="dns: [10.96.0.10]\n",
    right="dns: [10.10.0.2]\n",
)
def servers_outside(cluster: Cluster) -> Iterator[Finding]:
    """What has an address in the pod or service network is never looked for outside the cluster, and nodes need
    their name servers and the endpoint before there is a cluster.
    """
    places: list[tuple[str, Path, IPv4Address]] = [
        ("name server", ("site", "dns", index), address) for index, address in enumerate(cluster.site.dns)
    ]
    address = endpoint_address(cluster)
    if address:
        places.append(("the endpoint", ("kubernetes", "endpoint", "address"), address))
    between = [each.cidr for each in blocks(cluster)]
    for name, at, address in places:
        for block in (*_pods(cluster), *_services(cluster)):
            # Within a network between nodes, the clash of the two networks is what is wrong.
            if address in block.cidr and not any(address in cidr for cidr in between):
                message = f"{name} {address} lies in {block.name} {block.cidr}"
                yield Finding(at=at, also=block.at, message=message, fix="name an address outside the cluster")
