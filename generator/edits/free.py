"""The next addresses and ports that nobody has, for nodes that are to be like another one."""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address
from itertools import chain

from generator.checks.cables import FreePorts, rails, switches
from generator.checks.places import claims, is_host
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from generator.model.resolve import following
from generator.model.text import Port

_STEPS = 2**16


class Free:
    """Offers what nobody has, and each address and each port once. Raises UsageError where nothing is left."""

    def __init__(self, cluster: Cluster, elsewhere: Iterable[IPv4Address] = ()) -> None:
        self._cluster = cluster
        self._taken = {*(claim.address for claim in claims(cluster)), *elsewhere}
        self._taken6 = {node.address6 for node in cluster.nodes if node.address6}
        self._ports = FreePorts(cluster)

    def addresses(self, like: Machine, after: IPv4Address, name: str) -> dict[str, IPv4Address]:
        """Return an address in each network that `like` has one in: the first behind `after` in the node network that
        leaves, in every network, the address free that is as far from it as those of `like` are.
        """
        steps = self._steps(like)
        for address in self._hosts(after):
            found = {"node": address, **_moved(address, steps)}
            if len(found) > len(steps) and all(self._is_free(network, each) for network, each in found.items()):
                self._taken.update(found.values())
                return found
        networks = ", ".join(("node", *steps))
        raise UsageError(
            f"there is no address left for {name} that is free in its networks ({networks}): enlarge their `cidr`, "
            "or take nodes out with `gen node remove`"
        )

    def given(self, like: Machine, address: IPv4Address) -> dict[str, IPv4Address]:
        """Return the addresses that belong to one that the user gives; whether they are free the rules tell."""
        steps = self._steps(like)
        found = {"node": address, **_moved(address, steps)}
        if len(found) <= len(steps):
            raise UsageError(f"no node can have {address}: take one of {self._cluster.networks.node.cidr}")
        self._taken.update(found.values())
        return found

    def _steps(self, like: Machine) -> dict[str, int]:
        """Return how far the addresses of a node are from the one in the node network; in a network that follows it is
        the network that says so, whatever the node's own line does.
        """
        networks = self._cluster.networks
        followed = following(networks, like.address, with_hcas=bool(like.hardware.hcas))
        own = {str(network): address for network, address in like.addresses.items()}
        return {network: int(address) - int(like.address) for network, address in (own | followed).items()}

    def address6(self, after: IPv6Address, name: str) -> IPv6Address:
        """Return the next address of the second family."""
        cidr = self._cluster.networks.node.cidr6
        last = int(cidr.broadcast_address) if cidr else 0
        numbers = range(int(after) + 1, min(last, int(after) + _STEPS))
        found = next((each for each in map(IPv6Address, numbers) if each not in self._taken6), None)
        if found is None:
            raise UsageError(f"there is no IPv6 address left behind {after} for {name}: write its line by hand")
        self._taken6.add(found)
        return found

    def unit_port(self, like: Machine, name: str) -> tuple[str, int]:
        """Return a unit and a port that is free on all its leaves: in the unit of `like` behind its own port if there
        is one, else in the next unit.
        """
        units = self._cluster.fabric.units if self._cluster.fabric else {}
        order = [*units]
        first = order.index(like.unit) if like.unit in order else 0
        for unit in (*order[first:], *order[:first]):
            leafs = {units[unit][hca] for hca in like.hardware.hcas if hca in units[unit]}
            number = self._ports.alike(leafs, like.port or 0 if unit == like.unit else 0)
            if number is not None:
                return unit, number
        leafs = {leaf for unit in units.values() for leaf in unit.values()}
        raise self._no_port(leafs, name, "describe another unit of leaves in fabric.units and fabric.switches")

    def served(self, like: Machine) -> set[str]:
        """Return the HCAs whose rails the unit of a node serves."""
        units = self._cluster.fabric.units if self._cluster.fabric else {}
        return set(units.get(like.unit or "", {}))

    def cables(self, cables: dict[str, Port], name: str) -> dict[str, str]:
        """Return a port for each cable of a node like the one that has these: the same number on all leaves if it can
        be, else a port of the same leaf, else of another one that serves the same rail.
        """
        leafs = {port.switch for port in cables.values()}
        start = max((port.number for port in cables.values()), default=0)
        number = self._ports.alike(leafs, start) if len(leafs) == len(cables) else None
        if number is not None:
            return {hca: f"{port.switch}/{number}" for hca, port in cables.items()}
        return {hca: self._cable(hca, port, name) for hca, port in cables.items()}

    def _cable(self, hca: str, like: Port, name: str) -> str:
        others = [leaf for leaf, rail in rails(self._cluster).items() if rail == hca and leaf != like.switch]
        for leaf in (like.switch, *others):
            if number := self._ports.alike({leaf}, like.number if leaf == like.switch else 0):
                return f"{leaf}/{number}"
        raise self._no_port((like.switch, *others), name, "describe another leaf switch in fabric.switches")

    def _no_port(self, leafs: Iterable[str], name: str, fix: str) -> UsageError:
        known = switches(self._cluster)
        full = [f"{leaf} ({known[leaf][1].ports} ports)" for leaf in sorted(set(leafs)) if leaf in known]
        return UsageError(
            f"there is no port left for {name}, beside uplinks and cables, on {', '.join(full) or 'the fabric'}: {fix}"
        )

    def _hosts(self, after: IPv4Address) -> Iterator[IPv4Address]:
        cidr = self._cluster.networks.node.cidr
        first, last = int(cidr.network_address), int(cidr.broadcast_address)
        start = int(after) + 1 if after in cidr else first
        # In a network of millions the nodes are few: what is not free within so many steps never is.
        for number in chain(range(start, min(last, start + _STEPS) + 1), range(first, min(start, first + _STEPS))):
            yield IPv4Address(number)

    def _is_free(self, network: str, address: IPv4Address) -> bool:
        declared, reserved = self._cluster.networks.declared, self._cluster.networks.load_balancer
        inside = network in declared and is_host(address, declared[network].cidr)
        return inside and address not in self._taken and not (reserved and address in reserved.range)


def _moved(address: IPv4Address, steps: Mapping[str, int]) -> dict[str, IPv4Address]:
    found = {network: int(address) + step for network, step in steps.items()}
    return {network: IPv4Address(number) for network, number in found.items() if 0 <= number < 2**32}
