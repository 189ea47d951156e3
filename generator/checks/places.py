"""What rules share: where values stand, what repeats, what is free, what was probably meant."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Any, NamedTuple, TypeAlias, TypeVar

from generator.model.cluster import Cluster
from generator.model.finding import Path
from generator.model.nodes import Machine, Network, NetworkOverride

__all__ = [
    "ENDPOINT", "Block", "Claim", "addresses", "blocks", "claims", "declared", "endpoint", "endpoint_address",
    "free_address", "free_network", "hardware_path", "is_host", "meant", "network_path", "overlap", "overrides",
    "repeats",
]  # fmt: skip

Key = TypeVar("Key", bound=Hashable)
Cidr: TypeAlias = IPv4Network | IPv6Network

ENDPOINT: Path = ("kubernetes", "endpoint", "address")
NETWORKS = ("node", "storage", "ipoib", "bmc")
# Where a free network is looked for: private addresses (RFC 1918).
PRIVATE = tuple(IPv4Network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))


class Block(NamedTuple):
    """A network of the cluster file: what messages call it, where it stands, its addresses."""

    name: str
    at: Path
    cidr: Cidr


class Claim(NamedTuple):
    """An address that somebody has: who, where it says so, the network it is meant to be in."""

    owner: str
    at: Path
    network: str
    address: IPv4Address


def declared(cluster: Cluster) -> dict[str, Network]:
    """Return the networks that the file has, by name."""
    found = {name: getattr(cluster.networks, name) for name in NETWORKS}
    return {name: network for name, network in found.items() if network}


def blocks(cluster: Cluster) -> Iterator[Block]:
    """Yield the networks between nodes, in both families."""
    for name, network in declared(cluster).items():
        yield Block(f"the {name} network", ("networks", name, "cidr"), network.cidr)
        if network.cidr6:
            yield Block(f"the {name} network", ("networks", name, "cidr6"), network.cidr6)


def addresses(cluster: Cluster) -> Iterator[Claim]:
    """Yield the IPv4 addresses of all nodes, in the order of the file."""
    for index, node in enumerate(cluster.nodes):
        yield Claim(node.name, ("nodes", index, "address"), "node", node.address)
        for network, address in node.addresses.items():
            yield Claim(node.name, ("nodes", index, "addresses", network), network, address)


def endpoint(cluster: Cluster) -> tuple[str, int]:
    """Return the host and the port of the control plane's endpoint."""
    host, _, port = cluster.kubernetes.endpoint.address.rpartition(":")
    return host, int(port)


def endpoint_address(cluster: Cluster) -> IPv4Address | None:
    """Return the endpoint's address, None where it is a name."""
    try:
        return IPv4Address(endpoint(cluster)[0])
    except ValueError:
        return None


def overrides(cluster: Cluster) -> Iterator[tuple[str, Path, NetworkOverride]]:
    """Yield all that the file says of networks, with its place: of the cluster, then of pools, then of nodes."""
    for name, network in declared(cluster).items():
        yield name, ("networks", name), network
    for pool, each in cluster.pools.items():
        for name, override in each.networks.items():
            yield name, ("pools", pool, "networks", name), override
    for index, node in enumerate(cluster.nodes):
        for name, override in node.networks.items():
            yield name, ("nodes", index, "networks", name), override


def claims(cluster: Cluster) -> Iterator[Claim]:
    """Yield every IPv4 address that is taken: gateways, the endpoint, nodes."""
    for name, at, network in overrides(cluster):
        if network.gateway:
            yield Claim(f"the gateway of the {name} network", (*at, "gateway"), name, network.gateway)
    address = endpoint_address(cluster)
    if address:
        yield Claim("the endpoint", ENDPOINT, "node", address)
    yield from addresses(cluster)


def overlap(one: Cidr, other: Cidr) -> bool:
    """Tell whether two networks share an address."""
    if isinstance(one, IPv4Network):
        return isinstance(other, IPv4Network) and one.overlaps(other)
    return isinstance(other, IPv6Network) and one.overlaps(other)


def is_host(address: IPv4Address, network: IPv4Network) -> bool:
    """Tell whether a host may have this address: it is neither the network's first nor its last one."""
    edges = () if network.prefixlen > 30 else (network.network_address, network.broadcast_address)
    return address in network and address not in edges


def free_address(cluster: Cluster, network: str) -> str:
    """Return the first address after the network's highest node that nobody has, or any other free one; empty
    where there is none.
    """
    if network not in declared(cluster):
        return ""
    cidr = declared(cluster)[network].cidr
    taken = {claim.address for claim in claims(cluster)}
    reserved = cluster.networks.load_balancer
    used = [each.address for each in addresses(cluster) if each.network == network and each.address in cidr]
    start = int(max(used, default=cidr.network_address))
    # At most a step more than there are taken addresses, or than the load balancer's range is long.
    for number in (*_after(start, cidr), *_after(int(cidr.network_address), cidr)):
        address = IPv4Address(number)
        if address not in taken and is_host(address, cidr) and not (reserved and address in reserved.range):
            return str(address)
    return ""


def _after(start: int, cidr: IPv4Network) -> range:
    return range(start + 1, min(start + 4096, int(cidr.broadcast_address) + 1))


def free_network(cluster: Cluster, prefix: int, wanted: str, besides: Iterable[Path]) -> str:
    """Return a network of this prefix length that no other overlaps, at `wanted` if it can be; empty where
    there is none. The networks that stand at `besides` do not count: they are to be replaced.
    """
    kubernetes = cluster.kubernetes
    pods = Block("", ("kubernetes", "podCIDR"), kubernetes.pod_cidr)
    services = Block("", ("kubernetes", "serviceCIDR"), kubernetes.service_cidr)
    taken = [each.cidr for each in (pods, services, *blocks(cluster)) if each.at not in besides]
    for candidate in _candidates(prefix, wanted):
        if not any(overlap(candidate, each) for each in taken):
            return str(candidate)
    return ""


def _candidates(prefix: int, wanted: str) -> Iterator[IPv4Network]:
    # Steps of a /16 keep the search short; a network that is larger steps by its own size.
    yield IPv4Network(f"{wanted}/{prefix}", strict=False)
    for home in PRIVATE:
        for part in home.subnets(new_prefix=min(prefix, 16)) if home.prefixlen <= min(prefix, 16) else ():
            yield IPv4Network((part.network_address, prefix))


def hardware_path(cluster: Cluster, machine: Machine, field: str) -> Path:
    """Return where a node's hardware says this: on the node where it overrides its pool, else on the pool."""
    own = cluster.nodes[machine.index].hardware
    if own is not None and getattr(own, field) is not None:
        return ("nodes", machine.index, "hardware", field)
    return ("pools", machine.pool, "hardware", field)


def network_path(cluster: Cluster, machine: Machine, network: str, field: str) -> Path:
    """Return where a node gets this key of a network from: itself, its pool, or the cluster."""
    if _says(cluster.nodes[machine.index].networks, network, field):
        return ("nodes", machine.index, "networks", network, field)
    if _says(cluster.pools[machine.pool].networks, network, field):
        return ("pools", machine.pool, "networks", network, field)
    return ("networks", network, field)


def _says(networks: Mapping[Any, NetworkOverride], network: str, field: str) -> bool:
    return network in networks and bool(getattr(networks[network], field))


def repeats(items: Iterable[tuple[Key, Path]]) -> Iterator[tuple[Key, Path, Path]]:
    """Yield each key that came before, with its place and the place it came first."""
    first: dict[Key, Path] = {}
    for key, at in items:
        if key in first:
            yield key, at, first[key]
        else:
            first[key] = at


def meant(word: str, known: Iterable[str]) -> str:
    """Return the known name that is nearest to a wrong one; empty where none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only needed when something is wrong

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), "")
