"""Rules about nodes: names, addresses, pools."""

from collections.abc import Callable, Iterator
from functools import cache
from ipaddress import IPv4Address

from msgspec import structs

from generator.checks.places import (
    ENDPOINT,
    Claim,
    addresses,
    by_place,
    claims,
    edges,
    entries,
    free_addresses,
    given_twice,
    meant,
    repeats,
    unknown,
)
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put
from generator.model.rule import rule, warning
from generator.spec.near import misnamed, suggest

# Names that /etc/hosts gives to the machine itself, and the one by which pods call the API server.
RESERVED = frozenset(
    {"kubernetes", "localhost", "ip6-localhost", "ip6-loopback", "ip6-allnodes", "ip6-allrouters", "broadcasthost"}
)


@rule("GEN-NODE-001", "node names are unique")
def names_unique(cluster: Cluster) -> Iterator[Finding]:
    """Kubernetes knows a node by its name: the second to join takes the first one's place.

    Wrong:
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
        - {name: gpu-01, pool: gpu, address: 10.10.0.102}
    Right:
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
        - {name: gpu-02, pool: gpu, address: 10.10.0.102}
    """
    items = ((node.name.lower(), (*at, "name")) for at, node in entries(cluster.nodes, "nodes"))
    return given_twice(items, "two nodes are named {}", "rename or remove one")


@rule("GEN-NODE-002", "node names that mean one machine")
def name_not_reserved(cluster: Cluster) -> Iterator[Finding]:
    """On every machine this name means the machine itself, or the API server.

    Wrong:
        - {name: localhost, pool: gpu, address: 10.10.0.101}
    Right:
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
    """
    for at, node in entries(cluster.nodes, "nodes"):
        if node.name in RESERVED:
            fix = "name the node by its place or use"
            yield Finding(at=(*at, "name"), message=f"{node.name} is a reserved name", fix=fix)


@rule("GEN-NODE-003", "an address lies in its network")
def address_in_network(cluster: Cluster) -> Iterator[Finding]:
    """A node reaches the others without a router only from an address of their network.

    Wrong:
        node: {cidr: 10.10.0.0/24}
        # and
        - {name: gpu-01, pool: gpu, address: 10.10.1.101}
    Right:
        node: {cidr: 10.10.0.0/24}
        # and
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
    """
    networks, free = cluster.networks.declared, _free(cluster)
    for claim in addresses(cluster):
        network = networks.get(claim.network)
        if network and claim.address not in network.cidr:
            message = f"{claim.owner}'s address {claim.address} is not in the {claim.network} network {network.cidr}"
            also: Path = ("networks", claim.network, "cidr")
            yield free(claim, Finding(at=claim.at, also=also, message=message))


@rule("GEN-NODE-004", "an address is a host's")
def address_of_host(cluster: Cluster) -> Iterator[Finding]:
    """The first address of a network names the network, and the last one is for broadcasts.

    Wrong:
        node: {cidr: 10.10.0.0/24}
        # and
        - {name: gpu-01, pool: gpu, address: 10.10.0.255}
    Right:
        node: {cidr: 10.10.0.0/24}
        # and
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
    """
    networks, free = cluster.networks.declared, _free(cluster)
    for claim in addresses(cluster):
        network = networks.get(claim.network)
        if network and claim.address in edges(network.cidr):
            edge = "network" if claim.address == network.cidr[0] else "broadcast"
            message = f"{claim.owner}'s address {claim.address} is the {edge} address of {network.cidr}"
            also: Path = ("networks", claim.network, "cidr")
            yield free(claim, Finding(at=claim.at, also=also, message=message))


def _free(cluster: Cluster) -> Callable[[Claim, Finding], Finding]:
    """Return a function that offers an address that is free, another one to each node."""
    offered = cache(lambda network: free_addresses(cluster, network))

    def offer(claim: Claim, finding: Finding) -> Finding:
        free = next(offered(claim.network))
        fix = f"{free} is free" if free else f"enlarge networks.{claim.network}.cidr"
        return structs.replace(finding, fix=fix, edits=put(claim.at, free) if free else ())

    return offer


@rule("GEN-NODE-005", "an address belongs to one")
def addresses_unique(cluster: Cluster) -> Iterator[Finding]:
    """Two machines with one address take each other's traffic, now and then.

    Wrong:
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
        - {name: gpu-02, pool: gpu, address: 10.10.0.101}
    Right:
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
        - {name: gpu-02, pool: gpu, address: 10.10.0.102}
    """
    owners, free = dict[IPv4Address, Claim](), _free(cluster)
    for claim in claims(cluster):
        # The endpoint has rules of its own: outside it may be a node.
        other = claim if claim.at == ENDPOINT else owners.setdefault(claim.address, claim)
        if other is not claim and claim.at[0] == "nodes" and claim.at[-1] != "gateway":
            message = f"{claim.owner} has the address {claim.address} of {other.owner}"
            yield free(claim, Finding(at=claim.at, also=other.at, message=message))


@rule("GEN-NODE-006", "network cards are unique")
def macs_unique(cluster: Cluster) -> Iterator[Finding]:
    """A card's address tells which machine boots: with one address twice, one of them is installed as the other.

    Wrong:
        - {name: n1, pool: cpu, address: 10.10.0.1, mac: '02:00:00:00:00:01'}
        - {name: n2, pool: cpu, address: 10.10.0.2, mac: '02:00:00:00:00:01'}
    Right:
        - {name: n1, pool: cpu, address: 10.10.0.1, mac: '02:00:00:00:00:01'}
        - {name: n2, pool: cpu, address: 10.10.0.2, mac: '02:00:00:00:00:02'}
    """
    items = ((node.mac, (*at, "mac")) for at, node in entries(cluster.nodes, "nodes") if node.mac)
    for mac, at, first in repeats(items):
        name, owner = cluster.nodes[int(at[1])].name, cluster.nodes[int(first[1])].name
        message = f"{name} has the network card {mac} of {owner}"
        yield Finding(at=at, also=first, message=message, fix="`ip -br link` on the node shows its own")


@rule("GEN-NODE-007", "IPv6 addresses of all nodes or none")
def address6_in_network(cluster: Cluster) -> Iterator[Finding]:
    """With dual stack the kubelet is told both addresses; one that is missing or of another network breaks the
    node's pods in one family only, which is hard to see.

    Wrong:
        node: {cidr: 10.10.0.0/24, cidr6: fd00::/64}
        # and
        - {name: n1, pool: cpu, address: 10.10.0.11}
    Right:
        node: {cidr: 10.10.0.0/24, cidr6: fd00::/64}
        # and
        - {name: n1, pool: cpu, address: 10.10.0.11, address6: 'fd00::11'}
    """
    cidr, also = cluster.networks.node.cidr6, ("networks", "node", "cidr6")
    for at, node in entries(cluster.nodes, "nodes"):
        if cidr and node.address6 is None:
            message = f"{node.name} has no IPv6 address, and the node network is {cidr}"
            yield Finding(at=at, also=also, message=message, fix="add `address6`")
        elif node.address6 and (cidr is None or node.address6 not in cidr):
            where = f"is not in the node network {cidr}" if cidr else "needs networks.node.cidr6"
            message = f"{node.name}'s address {node.address6} {where}"
            fix = f"take an address of {cidr}" if cidr else "add networks.node.cidr6, or remove `address6`"
            yield Finding(at=(*at, "address6"), also=also if cidr else None, message=message, fix=fix)
    items = ((node.address6, (*at, "address6")) for at, node in entries(cluster.nodes, "nodes") if node.address6)
    yield from given_twice(items, "two nodes have the address {}", "change one of them")


@rule("GEN-NODE-008", "pools that exist")
def known_pool(cluster: Cluster) -> Iterator[Finding]:
    """A node's hardware, role and taints come from its pool.

    Wrong:
        - {name: gpu-01, pool: gpu-trainig, address: 10.10.0.101}
    Right:
        - {name: gpu-01, pool: gpu-training, address: 10.10.0.101}
    """
    known = ", ".join(cluster.pools) or "pools, which is empty"
    for at, node in entries(cluster.nodes, "nodes"):
        if node.pool not in cluster.pools:
            where, cause = (*at, "pool"), f"pool {node.pool} is not described"
            message = f"{node.name} is in pool {node.pool}, which is not described"
            yield unknown(where, node.pool, cluster.pools, message, f"one of {known}", also=("pools",), cause=cause)


@warning("GEN-NODE-009", "pools that are used")
def pool_used(cluster: Cluster) -> Iterator[Finding]:
    """A pool without nodes is left over, or its nodes were put into another one.

    Wrong:
        pools:
          gpu-inference: {hardware: {cpu: 128, memory: 1Ti}}   # and no node in it
    Right:
        - {name: gpu-13, pool: gpu-inference, address: 10.10.0.113}
    """
    used = sorted({node.pool for node in cluster.nodes})
    for name, free in misnamed(_filled(cluster), used) if used else ():
        at, message = ("pools", name), f"no node is in pool {name}"
        fix = suggest(name, free, "remove the pool, or add its nodes")
        wanted = meant(at, name, free, key=True)
        cause = f"pool {wanted[0].value} is not described" if wanted else ""
        yield Finding(at=at, key=True, message=message, fix=fix, edits=wanted, cause=cause)


def _filled(cluster: Cluster) -> list[str]:
    """Return the pools that this is told of: of one that is scaled, GEN-SCALE-004 tells it."""
    return [name for name, pool in cluster.pools.items() if not pool.scaling]


@rule("GEN-NODE-010", "more hardware than is reserved")
def hardware_beyond_reserved(cluster: Cluster) -> Iterator[Finding]:
    """The kubelet does not start when more is reserved than the node has, and runs no pod when all is.

    Wrong:
        reserved: {cpu: 4, memory: 8Gi}
        # and
        hardware: {cpu: 4, memory: 16Gi}
    Right:
        reserved: {cpu: 1, memory: 4Gi}
        # and
        hardware: {cpu: 4, memory: 16Gi}
    """
    kept = cluster.kubernetes.reserved
    small = {
        "cpu": [machine for machine in cluster.machines if machine.hardware.cpu * 1000 <= kept.cpu.milli],
        "memory": [machine for machine in cluster.machines if machine.hardware.memory.milli <= kept.memory.milli],
    }
    for field, machines in small.items():
        for at, (first, *_) in by_place(cluster, machines, field).items():
            part, whole = getattr(kept, field), getattr(first.hardware, field)
            message = f"kubernetes.reserved keeps {part} of the {whole} {field} of {first.name}: nothing is left"
            fix = "reserve less, or leave such small nodes out"
            yield Finding(at=at, also=("kubernetes", "reserved", field), message=message, fix=fix)
