"""Rules about the ports of fabric switches."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count
from math import ceil
from typing import NamedTuple

from generator.checks.places import entries, repeats
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path
from generator.model.nodes import Switch
from generator.model.rule import rule
from generator.model.text import Port
from generator.spec.near import suggest


class Cable(NamedTuple):
    """An HCA that is plugged into a switch."""

    node: str
    hca: str
    port: Port
    at: Path


def cables(cluster: Cluster) -> list[Cable]:
    """Return all cables, in the order of the file."""
    return [
        Cable(node.name, hca, port, (*at, "fabric", hca))
        for at, node in entries(cluster.nodes, "nodes")
        for hca, port in node.fabric.items()
    ]


def switches(cluster: Cluster) -> dict[str, tuple[Path, Switch]]:
    """Return the switches by name, each with its place; of two with one name the first."""
    found = entries(cluster.fabric.switches if cluster.fabric else (), "fabric", "switches")
    return {switch.name: (at, switch) for at, switch in reversed(found)}


def free_ports(cluster: Cluster) -> dict[str, str]:
    """Return the first port without a cable of each switch that has one left beside its uplinks."""
    used = defaultdict[str, set[int]](set)
    for cable in cables(cluster):
        used[cable.port.switch].add(cable.port.number)
    free = {}
    for name, (_, switch) in switches(cluster).items():
        number = next(number for number in count(1) if number not in used[name])
        taken = sum(1 for each in used[name] if each <= switch.ports)
        if number <= switch.ports and taken < switch.ports - switch.uplinks:
            free[name] = f"{name}/{number}"
    return free


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
    known = switches(cluster)
    for cable in cables(cluster) if cluster.fabric else ():
        if cable.port.switch not in known:
            add = "add the switch to fabric.switches"
            fix = suggest(cable.port.switch, known, add, f"{{}}/{cable.port.number}")
            message = f"{cable.hca} of {cable.node} leads to {cable.port.switch}, which is not described"
            yield Finding(at=cable.at, also=("fabric", "switches"), message=message, fix=fix)


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
    known, ports = switches(cluster), free_ports(cluster)
    for cable in cables(cluster):
        at, switch = known.get(cable.port.switch, ((), None))
        if switch and cable.port.number > switch.ports:
            free = ports.get(switch.name)
            message = f"{switch.name} has {switch.ports} ports, and {cable.node} is on port {cable.port.number}"
            fix = f"{free} is free" if free else f"{switch.name} has no free port"
            yield Finding(at=cable.at, also=(*at, "ports"), message=message, fix=fix)


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
    ports, owners = free_ports(cluster), {cable.at: cable for cable in cables(cluster)}
    for port, at, first in repeats((cable.port, cable.at) for cable in owners.values()):
        one, other = owners[at], owners[first]
        free = ports.get(port.switch)
        message = f"{one.hca} of {one.node} is on {port}, where {other.hca} of {other.node} is"
        yield Finding(at=at, also=first, message=message, fix=f"{free} is free" if free else "no port of it is free")


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
            fix = f"uplinks: {max(0, switch.ports - used)}, or move nodes to another switch"
            yield Finding(at=(*at, field), message=f"{switch.name} has {switch.ports} ports: {sum_}", fix=fix)


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
            fix = f"uplinks: {needed}, or oversubscription: {ceil(ratio * 10) / 10:g}"
            yield Finding(at=(*at, "uplinks"), also=("fabric", "oversubscription"), message=message, fix=fix)
