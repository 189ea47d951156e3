"""What rules on the fabric share: which HCA is plugged in where, and which ports are free."""

from collections import Counter, defaultdict
from collections.abc import Collection
from functools import cached_property
from itertools import chain

from msgspec import Struct

from generator.checks.places import entries
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Path, put
from generator.model.nodes import Machine, Switch
from generator.model.text import Port


class Cable(Struct, frozen=True):
    """An HCA that is plugged into a switch: `at` is where the file says so, the node's port or its own cable, and `own`
    where the node can say otherwise.
    """

    node: str
    hca: str
    port: Port
    at: Path
    own: Path


def cables(cluster: Cluster) -> list[Cable]:
    """Return all cables, in the order of the file."""
    said: dict[Path, dict[str, Port]] = {("nodes", each.index): unit_cables(cluster, each) for each in cluster.machines}
    return [
        _cable(node.name, hca, port, at, follows=said.get(at, {}).get(hca) == port)
        for at, node in entries(cluster.nodes, "nodes")
        for hca, port in node.fabric.items()
    ]


def _cable(node: str, hca: str, port: Port, at: Path, *, follows: bool) -> Cable:
    own = (*at, "fabric", hca)
    return Cable(node, hca, port, (*at, "port") if follows else own, own)


def unit_cables(cluster: Cluster, machine: Machine) -> dict[str, Port]:
    """Return the cables that a node's port in its unit stands for."""
    rails = cluster.fabric.units.get(machine.unit or "", {}) if cluster.fabric else {}
    return {hca: Port(leaf, machine.port) for hca, leaf in rails.items()} if machine.port else {}


def switches(cluster: Cluster) -> dict[str, tuple[Path, Switch]]:
    """Return the switches by name, each with its place; of two with one name the first."""
    found = entries(cluster.fabric.switches if cluster.fabric else (), "fabric", "switches")
    return {switch.name: (at, switch) for at, switch in reversed(found)}


class FreePorts:
    """Offers ports without a cable, beside the uplinks of their switch, and each of them once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @cached_property
    def _free(self) -> "dict[str, _SwitchPorts]":
        used = defaultdict[str, set[int]](set)
        for cable in cables(self._cluster):
            used[cable.port.switch].add(cable.port.number)
        return {name: _SwitchPorts(switch, used[name]) for name, (_, switch) in switches(self._cluster).items()}

    def take(self, port: Port) -> str:
        """Return this port where nobody has it, else another one of its switch; empty where there is none left."""
        free = self._free.get(port.switch)
        return (free.take(port.number) or free.next()) if free else ""

    def on(self, switch: str) -> str:
        """Return a port of this switch, empty where there is none left."""
        free = self._free.get(switch)
        return free.next() if free else ""

    def anywhere(self, switch: str | None = None) -> str:
        """Return a port, of this switch if it can be; empty where there is none left."""
        found = map(self.on, (*((switch,) if switch else ()), *self._free))
        return next(filter(None, found), "")

    def alike(self, leafs: Collection[str], after: int = 0) -> int | None:
        """Return a number that is free on all these switches, behind `after` if it can be; None where there is none."""
        found = [self._free[leaf] for leaf in leafs if leaf in self._free]
        if not found or len(found) < len(leafs) or not all(each.room for each in found):
            return None
        last = min(each.ports for each in found)
        numbers = chain(range(after + 1, last + 1), range(1, min(after, last) + 1))
        number = next((number for number in numbers if all(each.is_free(number) for each in found)), None)
        for each in found if number else ():
            each.take(number or 0)
        return number

    def rooms(self) -> dict[str, int]:
        """Return how many ports each switch has left, in the order of the file."""
        return {name: free.room for name, free in reversed(self._free.items())}


class _SwitchPorts:
    """The ports of one switch: `used` are those that have a cable."""

    def __init__(self, switch: Switch, used: set[int]) -> None:
        self.ports = switch.ports
        self._name, self._used = switch.name, used
        self.room = max(0, switch.ports - switch.uplinks - sum(1 for each in used if each <= switch.ports))
        self._numbers = iter(range(1, switch.ports + 1))

    def is_free(self, number: int) -> bool:
        """Tell whether nobody has this port, or was offered it, and there is room for a cable."""
        return self.room > 0 and number not in self._used and number <= self.ports

    def take(self, number: int) -> str:
        """Return this port, which nobody is offered again; empty where somebody has it or no port is left."""
        if not self.is_free(number):
            return ""
        self.room -= 1
        self._used.add(number)
        return f"{self._name}/{number}"

    def next(self) -> str:
        """Return the first port that nobody has, empty where there is none left."""
        return next(filter(None, map(self.take, self._numbers)), "") if self.room else ""


class Moves:
    """Offers other ports for cables: on the same switch, or on all leaves of a unit for a node with a port there."""

    def __init__(self, cluster: Cluster) -> None:
        self._ports = FreePorts(cluster)
        self._leafs = {each.index: _unit_leafs(cluster, each) for each in cluster.machines}
        self._offered: dict[Path, int | None] = {}

    def away(self, cable: Cable) -> tuple[str, tuple[Edit, ...]]:
        """Return what is free, in words, and the change; the same for all cables of a port in a unit."""
        if cable.at == cable.own:
            free = self._ports.on(cable.port.switch)
            return (f"{free} is free", put(cable.own, free)) if free else ("", ())
        if cable.at not in self._offered:
            self._offered[cable.at] = self._ports.alike(self._leafs[int(cable.at[1])])
        number = self._offered[cable.at]
        return (f"port {number} is free on all its leaves", put(cable.at, number)) if number else ("", ())


def _unit_leafs(cluster: Cluster, machine: Machine) -> set[str]:
    said = unit_cables(cluster, machine)
    return {port.switch for hca, port in machine.fabric.items() if said.get(hca) == port}


def rails(cluster: Cluster) -> dict[str, str]:
    """Return the HCA whose rail each leaf serves: at least three of four of its cables, and three in all, are of it."""
    leafs = defaultdict[str, Counter[str]](Counter)
    for cable in cables(cluster):
        leafs[cable.port.switch][cable.hca] += 1
    common = {leaf: hcas.most_common(1)[0] for leaf, hcas in leafs.items()}
    return {leaf: hca for leaf, (hca, number) in common.items() if number >= max(3, leafs[leaf].total() * 0.75)}
