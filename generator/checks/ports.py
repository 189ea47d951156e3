"""Rules about the ports of fabric switches."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import chain
from math import ceil
from typing import NamedTuple

from generator.checks.places import entries, repeats
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, in_words, put
from generator.model.nodes import Machine, Switch
from generator.model.rule import rule
from generator.model.text import Port
from generator.spec.near import did_you_mean, near


class Cable(NamedTuple):
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


def rails(cluster: Cluster) -> dict[str, str]:
    """Return the HCA whose rail each leaf serves: at least three of four of its cables, and three in all, are of it."""
    leafs = defaultdict[str, Counter[str]](Counter)
    for cable in cables(cluster):
        leafs[cable.port.switch][cable.hca] += 1
    common = {leaf: hcas.most_common(1)[0] for leaf, hcas in leafs.items()}
    return {leaf: hca for leaf, (hca, number) in common.items() if number >= max(3, leafs[leaf].total() * 0.75)}


@rule("GEN-FAB-006", "cables end at a switch of the fabric")
def known_switch(cluster: Cluster) -> Iterator[Finding]:
    """Only switches that are described can be counted.

    Wrong:
        switches: [{name: ib-leaf-1, ports: 40}]
        # and on a node
        fabric: {mlx5_0: ib-leaf1/1}
    Right:
        switches: [{name: ib-leaf-1, ports: 40}]
        # and on a node
        fabric: {mlx5_0: ib-leaf-1/1}
    """
    known, ports = switches(cluster), FreePorts(cluster)
    for cable in cables(cluster) if cluster.fabric else ():
        if cable.port.switch not in known and cable.at == cable.own:
            message = f"{cable.hca} of {cable.node} leads to {cable.port.switch}, which is not described"
            fix = "add the switch to fabric.switches"
            edits: tuple[Edit, ...] = ()
            if name := near(cable.port.switch, known):
                port = ports.take(Port(name, cable.port.number))
                fix, edits = did_you_mean(port or name), put(cable.at, port) if port else ()
            also, cause = ("fabric", "switches"), f"switch {cable.port.switch} is not described"
            yield Finding(at=cable.at, also=also, message=message, fix=fix, edits=edits, cause=cause)


@rule("GEN-FAB-007", "ports that a switch has")
def port_exists(cluster: Cluster) -> Iterator[Finding]:
    """Ports count from 1 to the number of ports of the switch.

    Wrong:
        switches: [{name: ib-leaf-1, ports: 40}]
        # and on a node
        fabric: {mlx5_0: ib-leaf-1/41}
    Right:
        switches: [{name: ib-leaf-1, ports: 40}]
        # and on a node
        fabric: {mlx5_0: ib-leaf-1/40}
    """
    known, ports = switches(cluster), FreePorts(cluster)
    for cable in cables(cluster):
        at, switch = known.get(cable.port.switch, ((), None))
        if switch and cable.port.number > switch.ports:
            free = ports.on(switch.name)
            message = f"{switch.name} has {switch.ports} ports, and {cable.node} is on port {cable.port.number}"
            fix = f"{free} is free" if free else f"{switch.name} has no free port"
            edits = put(cable.own, free) if free else ()
            yield Finding(at=cable.at, also=(*at, "ports"), message=message, fix=fix, edits=edits)


@rule("GEN-FAB-008", "one cable in a port")
def port_once(cluster: Cluster) -> Iterator[Finding]:
    """A port takes one cable; of two that are written down, one is elsewhere.

    Wrong:
        - {name: n1, ..., fabric: {mlx5_0: ib-leaf-1/1}}
        - {name: n2, ..., fabric: {mlx5_0: ib-leaf-1/1}}
    Right:
        - {name: n1, ..., fabric: {mlx5_0: ib-leaf-1/1}}
        - {name: n2, ..., fabric: {mlx5_0: ib-leaf-1/2}}
    """
    ports, owners = FreePorts(cluster), {cable.own: cable for cable in cables(cluster)}
    for port, at, first in repeats((cable.port, cable.own) for cable in owners.values()):
        one, other = owners[at], owners[first]
        free = ports.on(port.switch)
        message = f"{one.hca} of {one.node} is on {port}, where {other.hca} of {other.node} is"
        fix, edits = (f"{free} is free", put(at, free)) if free else ("no port of it is free", ())
        yield Finding(at=one.at, also=other.at, message=message, fix=fix, edits=edits)


def node_ports(cluster: Cluster) -> Counter[str]:
    """Return how many ports of each switch lead to nodes."""
    return Counter(port.switch for port in {cable.port for cable in cables(cluster)})


@rule("GEN-FAB-010", "a switch has ports for its nodes and uplinks")
def ports_suffice(cluster: Cluster) -> Iterator[Finding]:
    """A port leads to a node or to a spine, not to both.

    Wrong:
        switches: [{name: ib-leaf-1, ports: 40, uplinks: 32}]   # and nine nodes
    Right:
        switches: [{name: ib-leaf-1, ports: 40, uplinks: 20}]
    """
    nodes = node_ports(cluster)
    for at, switch in switches(cluster).values():
        used, field = nodes[switch.name], "uplinks" if switch.uplinks else "ports"
        if (needed := used + switch.uplinks) > switch.ports:
            sum_ = f"{used} for nodes and {switch.uplinks} uplinks are {needed}"
            left, least = switch.ports - used, _uplinks(cluster, used)
            edits = put((*at, "uplinks"), left) if switch.uplinks and left >= least else ()
            fix = "" if edits else f"move {_beyond(cluster, switch, used)} of its cables to another switch"
            yield Finding(
                at=(*at, field), message=f"{switch.name} has {switch.ports} ports: {sum_}", fix=fix, edits=edits
            )


def _uplinks(cluster: Cluster, used: int) -> int:
    """Return the fewest uplinks that carry so many ports of nodes."""
    return max(1, ceil(used / cluster.fabric.oversubscription)) if cluster.fabric else 0


def _beyond(cluster: Cluster, switch: Switch, used: int) -> int:
    """Return how many of its cables a switch cannot have, with the uplinks that the rest needs."""
    fits = (number for number in range(used, 0, -1) if number + _needed(cluster, switch, number) <= switch.ports)
    return used - next(fits, 0)


def _needed(cluster: Cluster, switch: Switch, used: int) -> int:
    return _uplinks(cluster, used) if switch.uplinks else 0


@rule("GEN-FAB-011", "no more oversubscription than is accepted")
def oversubscription(cluster: Cluster) -> Iterator[Finding]:
    """With more node ports than uplinks, jobs that span leaf switches wait for each other.

    Wrong:
        oversubscription: 1
        switches: [{name: ib-leaf-1, ports: 40, uplinks: 8}]   # and sixteen nodes
    Right:
        oversubscription: 2
        switches: [{name: ib-leaf-1, ports: 40, uplinks: 8}]
    """
    nodes, fabric = node_ports(cluster), cluster.fabric
    for at, switch in switches(cluster).values():
        used = nodes[switch.name]
        if fabric and switch.uplinks and used > switch.uplinks * fabric.oversubscription:
            ratio, needed = used / switch.uplinks, ceil(used / fabric.oversubscription)
            over = f"{ratio:.3g} to 1, more than {fabric.oversubscription:g} to 1"
            message = f"{switch.name} has {used} node ports for {switch.uplinks} uplinks: {over}"
            also: Path = ("fabric", "oversubscription")
            more, accepted = put((*at, "uplinks"), needed), put(also, ceil(ratio * 10) / 10)
            # More uplinks than the switch has ports for would be the next finding.
            fits = used + needed <= switch.ports
            fix = f"{in_words(more)}, or {in_words(accepted)}" if fits else in_words(accepted)
            yield Finding(at=(*at, "uplinks"), also=also, message=message, fix=fix, edits=more if fits else accepted)
