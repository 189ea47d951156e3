"""Rules about networks: which may share addresses, and how large they must be."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, ip_network

from generator.checks.places import (
    ENDPOINT,
    POD,
    Block,
    Cidr,
    blocks,
    claims,
    endpoint_address,
    entries,
    free_network,
    overlap,
    pods,
    services,
)
from generator.components.calico import BLOCK as CALICO_BLOCK
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put, remove
from generator.model.rule import rule

_BESIDES = "; the addresses in it change with it"


def _clash(cluster: Cluster, wrong: Block, other: Block, wanted: str) -> Finding:
    """Say that two networks share addresses; a free one at `wanted` is best instead."""
    v4 = isinstance(wrong.cidr, IPv4Network)
    free = free_network(cluster, wrong.cidr.prefixlen, wanted, besides=wrong.at) if v4 else ""
    message = f"{wrong.name} {wrong.cidr} overlaps {other.name} {other.cidr}"
    fix = f"{free} is free" if free else "choose a network that no other one overlaps"
    within = any(claim.network == wrong.at[1] for claim in claims(cluster))
    edits = put(wrong.at, free) if free and not within else ()
    return Finding(at=wrong.at, also=other.at, message=message, fix=f"{fix}{_BESIDES * within}", edits=edits)


@rule("GEN-NET-001", "networks between nodes lie apart")
def networks_apart(cluster: Cluster) -> Iterator[Finding]:
    """A node with two interfaces in one network answers on the wrong one. Only the management controllers may
    share the node network, and then the whole of it.

    Wrong:
        node: {cidr: 10.10.0.0/22}
        storage: {cidr: 10.10.2.0/24}
    Right:
        node: {cidr: 10.10.0.0/22}
        storage: {cidr: 10.20.0.0/24}
    """
    earlier: list[Block] = []
    for block in blocks(cluster):
        for other in earlier:
            shared = block.at[1] == "bmc" and other.at[1] == "node" and block.cidr == other.cidr
            if overlap(block.cidr, other.cidr) and not shared:
                yield _clash(cluster, block, other, "10.20.0.0")
        earlier.append(block)


@rule("GEN-NET-004", "pod network apart from the networks between nodes")
def pod_network_apart(cluster: Cluster) -> Iterator[Finding]:
    """Pods cannot reach a node, a storage server or a gateway whose address lies in their own network.

    Wrong:
        podCIDR: 10.10.0.0/16
    Right:
        podCIDR: 10.244.0.0/16
    """
    for block in pods(cluster):
        for other in blocks(cluster):
            if overlap(block.cidr, other.cidr):
                yield _clash(cluster, block, other, "10.244.0.0")


@rule("GEN-NET-005", "service network apart from all others")
def service_network_apart(cluster: Cluster) -> Iterator[Finding]:
    """A service's address is rewritten on its way, so nothing else with that address can be reached.

    Wrong:
        podCIDR: 10.96.0.0/16
        serviceCIDR: 10.96.0.0/12
    Right:
        podCIDR: 10.244.0.0/16
        serviceCIDR: 10.96.0.0/12
    """
    for block in services(cluster):
        for other in (*pods(cluster), *blocks(cluster)):
            if overlap(block.cidr, other.cidr):
                yield _clash(cluster, block, other, "10.96.0.0")


@rule("GEN-NET-006", "service network of a size that Kubernetes takes")
def service_network_size(cluster: Cluster) -> Iterator[Finding]:
    """The DNS service has the tenth address, so kubeadm refuses fewer than ten; the API server refuses more than
    twenty bits of addresses.

    Wrong:
        serviceCIDR: 10.96.0.0/29
    Right:
        serviceCIDR: 10.96.0.0/16
    """
    for name, at, cidr in services(cluster):
        shortest, longest = cidr.max_prefixlen - 20, cidr.max_prefixlen - 4
        if not shortest <= cidr.prefixlen <= longest:
            size, prefix = ("small", longest) if cidr.prefixlen > longest else ("large", shortest)
            message = f"{name} {cidr} is too {size}: /{shortest} to /{longest} are possible"
            v4 = isinstance(cidr, IPv4Network)
            same = str(ip_network((cidr.network_address, prefix), strict=False))
            free = free_network(cluster, prefix, str(cidr.network_address), besides=at) if v4 else same
            yield Finding(
                at=at, message=message, fix=f"write {free or f'/{prefix}'}", edits=put(at, free) if free else ()
            )


@rule("GEN-NET-007", "pod network with a slice for every node")
def slice_for_every_node(cluster: Cluster) -> Iterator[Finding]:
    """Each node gets a slice of the pod network (`nodeMask`); a node without one starts no pods, and the pod
    network of a running cluster cannot grow.

    Wrong:
        podCIDR: 10.244.0.0/24   # one slice of /24, for three nodes
    Right:
        podCIDR: 10.244.0.0/22
    """
    cidr, mask, count = cluster.kubernetes.pod_cidr, cluster.kubernetes.node_mask, max(_most_nodes(cluster), 1)
    slices = slice_count(cidr, mask)
    if slices < count:
        prefix = max(8, mask - (count - 1).bit_length())
        free = free_network(cluster, prefix, str(cidr.network_address), besides=POD)
        message = f"podCIDR {cidr} has {slices} slices of /{mask} for {count} nodes"
        edits = put(POD, free) if free else ()
        yield Finding(at=POD, also=("nodes",), message=message, fix=f"{free or f'/{prefix}'} has enough", edits=edits)
    cidr6, mask6 = cluster.kubernetes.pod_cidr6, cluster.kubernetes.node_mask6
    if cidr6 and mask6 and (slices := slice_count(cidr6, mask6)) < count:
        message = f"podCIDR6 {cidr6} has {slices} slices of /{mask6} for {count} nodes"
        wide, at = cidr6.supernet(new_prefix=min(cidr6.prefixlen, 56)), ("kubernetes", "podCIDR6")
        fix, edits = f"{wide} has enough", put(at, str(wide))
        yield Finding(at=at, also=("nodes",), message=message, fix=fix, edits=edits)


def _most_nodes(cluster: Cluster) -> int:
    """Return how many nodes there may ever be, with machines that Cluster API makes."""
    return len(cluster.nodes) + sum(pool.scaling.maximum for pool in cluster.pools.values() if pool.scaling)


def slice_count(cidr: Cidr, mask: int) -> int:
    """Return how many slices with this prefix length a network has."""
    return 2 ** (mask - cidr.prefixlen) if mask >= cidr.prefixlen else 0


@rule("GEN-NET-008", "at most 16 bits between pod network and node slices")
def slices_countable(cluster: Cluster) -> Iterator[Finding]:
    """The controller manager keeps a bit for each slice, and kubeadm refuses more than 65 536 of them.

    Wrong:
        podCIDR: 10.0.0.0/8
        nodeMask: 25
    Right:
        podCIDR: 10.0.0.0/9
        nodeMask: 25
    """
    cidr, mask = cluster.kubernetes.pod_cidr, cluster.kubernetes.node_mask
    if mask - cidr.prefixlen > 16:
        message = f"podCIDR {cidr} is more than 16 bits larger than a node's slice of /{mask}"
        smaller = f"{cidr.network_address}/{mask - 16}"
        yield Finding(at=POD, message=message, fix=f"write {smaller}", edits=put(POD, smaller))


@rule("GEN-NET-009", "a node's slice holds its pods")
def slice_holds_pods(cluster: Cluster) -> Iterator[Finding]:
    """Pods beyond the slice wait for an address for ever. Cilium keeps four addresses of a slice: the first and
    the last, the node's router and its health check. Calico gives a node another block when one is full.

    Wrong:
        nodeMask: 26   # 64 addresses, for 110 pods
    Right:
        nodeMask: 25
    """
    mask, most = cluster.kubernetes.node_mask, cluster.kubernetes.max_pods
    room = 2 ** (32 - mask) - 4
    if cluster.networks.cni == "cilium" and most > room:
        at, also = ("kubernetes", "nodeMask"), ("kubernetes", "maxPods")
        message = f"a node's slice of /{mask} has addresses for {room} pods, and maxPods is {most}"
        larger = 32 - (most + 3).bit_length()
        fits = 2 ** max(0, larger - cluster.kubernetes.pod_cidr.prefixlen) >= len(cluster.nodes)
        edits = put(at, larger) if fits else put(also, room)
        yield Finding(at=at, also=also, message=message, edits=edits)


@rule("GEN-NET-010", "both families or one")
def both_families(cluster: Cluster) -> Iterator[Finding]:
    """Dual stack needs IPv6 for pods, for services and for nodes; kubeadm refuses half of it.

    Wrong:
        podCIDR6: fd00:10:244::/56
    Right:
        podCIDR6: fd00:10:244::/56
        serviceCIDR6: fd00:10:96::/112
    """
    ours = {"podCIDR6": cluster.kubernetes.pod_cidr6, "serviceCIDR6": cluster.kubernetes.service_cidr6}
    wanted = {**ours, "networks.node.cidr6": cluster.networks.node.cidr6}
    given = next((name for name, value in ours.items() if value), None)
    missing = " and ".join(name for name, value in wanted.items() if value is None)
    if given and missing:
        fix = f"add {missing}, or remove {given}"
        yield Finding(at=("kubernetes", given), message=f"{given} without {missing}", fix=fix)


@rule("GEN-NET-011", "Calico's blocks fit the pod network")
def calico_blocks(cluster: Cluster) -> Iterator[Finding]:
    """Calico hands out the pod network in blocks of /26 and refuses a smaller network.

    Wrong:
        cni: calico
        # and
        podCIDR: 10.244.0.0/27
        nodeMask: 28
    Right:
        cni: calico
        # and
        podCIDR: 10.244.0.0/16
    """
    cidr = cluster.kubernetes.pod_cidr
    if cluster.networks.cni == "calico" and cidr.prefixlen > CALICO_BLOCK:
        free = free_network(cluster, 16, str(cidr.network_address), besides=POD)
        message = f"podCIDR {cidr} is smaller than one block of Calico (/{CALICO_BLOCK})"
        fix, edits = (f"write {free}", put(POD, free)) if free else ("take a larger network", ())
        yield Finding(at=POD, also=("networks", "cni"), message=message, fix=fix, edits=edits)


@rule("GEN-NET-012", "servers of the site outside the cluster's own networks")
def servers_outside(cluster: Cluster) -> Iterator[Finding]:
    """What has an address in the pod or service network is never looked for outside the cluster, and nodes need
    their name servers and the endpoint before there is a cluster.

    Wrong:
        dns: [10.96.0.10]
    Right:
        dns: [10.10.0.2]
    """
    places: list[tuple[Path, IPv4Address]] = entries(cluster.site.dns, "site", "dns")
    if address := endpoint_address(cluster):
        places.append((ENDPOINT, address))
    between = [each.cidr for each in blocks(cluster)]
    for at, address in places:
        for block in (*pods(cluster), *services(cluster)):
            # Within a network between nodes, the clash of the two networks is what is wrong.
            if address in block.cidr and not any(address in cidr for cidr in between):
                name = "the endpoint" if at == ENDPOINT else "name server"
                message = f"{name} {address} lies in {block.name} {block.cidr}"
                yield Finding(at=at, also=block.at, message=message, fix="name an address outside the cluster")


@rule("GEN-NET-013", "networks that follow the node network are others")
def follows_another(cluster: Cluster) -> Iterator[Finding]:
    """`follow: node` gives a node the host number of its address in the node network. In that network itself it would
    be the same address twice.

    Wrong:
        node: {cidr: 10.10.0.0/22}
        bmc: {cidr: 10.10.0.0/22, follow: node}
    Right:
        node: {cidr: 10.10.0.0/22}
        bmc: {cidr: 10.40.0.0/22, follow: node}
    """
    home = cluster.networks.node
    for name, network in cluster.networks.declared.items():
        if network.follow and network.cidr == home.cidr:
            at: Path = ("networks", name, "follow")
            message = f"the {name} network is the node network, and cannot follow it"
            yield Finding(at=at, message=message, edits=remove(at))
