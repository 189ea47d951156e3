"""What rules share: where values stand, what repeats, what is free, what was probably meant."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, put, remove, rename
from generator.model.nodes import Machine, NetworkOverride, Node, Pool
from generator.model.quantity import Quantity
from generator.model.served import numbers
from generator.spec.near import near, suggest

Key = TypeVar("Key", bound=Hashable)
Entry = TypeVar("Entry")
Cidr: TypeAlias = IPv4Network | IPv6Network

ENDPOINT: Path = ("kubernetes", "endpoint", "address")
POD: Path = ("kubernetes", "podCIDR")
# Where a free network is looked for: private addresses (RFC 1918).
PRIVATE = tuple(IPv4Network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))


class Block(NamedTuple):
    """A network of the cluster file: what messages call it, where it stands, its addresses."""

    name: str
    at: Path
    cidr: Cidr


class Claim(Struct, frozen=True):
    """An address that somebody has: who, where it says so, the network it is meant to be in."""

    owner: str
    at: Path
    network: str
    address: IPv4Address


def entries(found: Iterable[Entry], *at: str | int) -> list[tuple[Path, Entry]]:
    """Return what a list of the file holds, each entry with its place."""
    return [((*at, index), each) for index, each in enumerate(found)]


def sections(cluster: Cluster) -> list[tuple[Path, Pool | Node]]:
    """Return what the file says of machines: pools, then nodes, each with its place."""
    pools: list[tuple[Path, Pool | Node]] = [(("pools", name), pool) for name, pool in cluster.pools.items()]
    return [*pools, *entries(cluster.nodes, "nodes")]


def blocks(cluster: Cluster) -> Iterator[Block]:
    """Yield the networks between nodes, in both families."""
    for name, network in cluster.networks.declared.items():
        yield Block(f"the {name} network", ("networks", name, "cidr"), network.cidr)
        if network.cidr6:
            yield Block(f"the {name} network", ("networks", name, "cidr6"), network.cidr6)


def pods(cluster: Cluster) -> list[Block]:
    """Return the pod network, in both families."""
    return _inner("podCIDR", cluster.kubernetes.pod_cidr, cluster.kubernetes.pod_cidr6)


def services(cluster: Cluster) -> list[Block]:
    """Return the service network, in both families."""
    return _inner("serviceCIDR", cluster.kubernetes.service_cidr, cluster.kubernetes.service_cidr6)


def _inner(name: str, cidr: IPv4Network, cidr6: IPv6Network | None) -> list[Block]:
    given: dict[str, Cidr | None] = {name: cidr, f"{name}6": cidr6}
    return [Block(key, ("kubernetes", key), each) for key, each in given.items() if each]


def addresses(cluster: Cluster) -> Iterator[Claim]:
    """Yield the IPv4 addresses of all nodes, in the order of the file."""
    for at, node in entries(cluster.nodes, "nodes"):
        yield Claim(node.name, (*at, "address"), "node", node.address)
        for network, address in node.addresses.items():
            yield Claim(node.name, (*at, "addresses", network), network, address)


def endpoint_address(cluster: Cluster) -> IPv4Address | None:
    """Return the endpoint's address, None where it is a name."""
    try:
        return IPv4Address(cluster.kubernetes.endpoint.host)
    except ValueError:
        return None


def overrides(cluster: Cluster) -> Iterator[tuple[str, Path, NetworkOverride]]:
    """Yield all that the file says of networks, with its place: of the cluster, then of pools, then of nodes."""
    for name, network in cluster.networks.declared.items():
        yield name, ("networks", name), network
    for at, section in sections(cluster):
        for name, override in section.networks.items():
            yield name, (*at, "networks", name), override


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


def edges(network: IPv4Network) -> tuple[IPv4Address, ...]:
    """Return the addresses that no host may have: the first names the network, the last is for broadcasts. A network
    of one or two addresses (/32, /31) has none.
    """
    return () if network.prefixlen > 30 else (network.network_address, network.broadcast_address)


def is_host(address: IPv4Address, network: IPv4Network) -> bool:
    """Tell whether a host of the network may have this address."""
    return address in network and address not in edges(network)


def free_address(cluster: Cluster, network: str) -> str:
    """Return an address of the network that nobody has, empty where there is none."""
    return next(free_addresses(cluster, network))


def free_addresses(cluster: Cluster, network: str) -> Iterator[str]:
    """Yield addresses that nobody has: first those after the network's highest node, then the others, and then, without
    end, empty ones. So each of several nodes is offered one of its own.
    """
    yield from _free_addresses(cluster, network)
    yield from repeat("")


def _free_addresses(cluster: Cluster, network: str) -> Iterator[str]:
    if network not in cluster.networks.declared:
        return
    cidr = cluster.networks.declared[network].cidr
    taken = {claim.address for claim in claims(cluster)}
    reserved = cluster.networks.load_balancer
    used = [each.address for each in addresses(cluster) if each.network == network and each.address in cidr]
    start = int(max(used, default=cidr.network_address))
    # At most a step more than there are taken addresses, or than the load balancer's range is long.
    before = (number for number in _after(int(cidr.network_address), cidr) if number <= start)
    for number in chain(_after(start, cidr), before):
        address = IPv4Address(number)
        if address not in taken and is_host(address, cidr) and not (reserved and address in reserved.range):
            yield str(address)


def _after(start: int, cidr: IPv4Network) -> range:
    return range(start + 1, min(start + 4096, int(cidr.broadcast_address) + 1))


def free_network(cluster: Cluster, prefix: int, wanted: str, besides: Path) -> str:
    """Return a network of this prefix length that no other overlaps, at `wanted` if it can be; empty where
    there is none. The network that stands at `besides` does not count: it is to be replaced.
    """
    found = (*pods(cluster), *services(cluster), *blocks(cluster))
    taken = [each.cidr for each in found if each.at != besides]
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


def by_place(cluster: Cluster, machines: Iterable[Machine], field: str) -> dict[Path, list[Machine]]:
    """Return these nodes by the place where their hardware says this: what is wrong there is told once."""
    found: dict[Path, list[Machine]] = {}
    for machine in machines:
        found.setdefault(hardware_path(cluster, machine, field), []).append(machine)
    return found


def old_kernels(cluster: Cluster, oldest: tuple[int, ...]) -> Iterator[tuple[Path, Machine]]:
    """Yield each place that gives nodes a kernel before `oldest`, with the first of these nodes."""
    seen = set[Path]()
    for machine in cluster.machines:
        own = cluster.nodes[machine.index].kernel
        at: Path = ("nodes", machine.index, "kernel") if own else ("pools", machine.pool, "kernel")
        if machine.kernel and numbers(machine.kernel) < oldest and at not in seen:
            seen.add(at)
            yield at, machine


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


def given_twice(items: Iterable[tuple[Hashable, Path]], message: str, fix: str) -> Iterator[Finding]:
    """Yield a finding for each key that came before; `message` has `{}` where the key goes."""
    for key, at, first in repeats(items):
        yield Finding(at=at, also=first, message=message.format(key), fix=fix)


def listed_twice(items: Iterable[tuple[Hashable, Path]], message: str) -> Iterator[Finding]:
    """Yield a finding for each item of a list that came before: one of the two goes."""
    for key, at, first in repeats(items):
        yield Finding(at=at, also=first, message=message.format(key), fix="remove one", edits=remove(at))


def meant(at: Path, word: str, known: Iterable[str], *, key: bool = False) -> tuple[Edit, ...]:
    """Return the change of a wrong name, or of a key, into the known one that is near; none where none is."""
    name = near(word, known)
    if name is None:
        return ()
    return rename(at, name) if key else put(at, name)


def unknown(  # noqa: PLR0913 - all that there is to say of it
    at: Path,
    word: str,
    known: Collection[str],
    message: str,
    otherwise: str,
    *,
    key: bool = False,
    also: Path | None = None,
    cause: str = "",
) -> Finding:
    """Say that nothing has the name, or the key, that stands here: the known one that is near was meant, else the fix
    is `otherwise`.
    """
    fix, edits = suggest(word, known, otherwise), meant(at, word, known, key=key)
    return Finding(at=at, key=key, also=also, message=message, fix=fix, edits=edits, cause=cause)


def human(size: int) -> str:
    """Return bytes as people write them."""
    return Quantity.of(size).human()
