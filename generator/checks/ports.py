"""Rules about the ports of fabric switches."""

from collections import Counter
from collections.abc import Iterator
from math import ceil

from generator.checks.cables import FreePorts, Moves, cables, switches
from generator.checks.places import repeats
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, in_words, put
from generator.model.nodes import Switch
from generator.model.rule import rule
from generator.model.text import Port
from generator.spec.near import did_you_mean, near


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
    known, moves = switches(cluster), Moves(cluster)
    for cable in cables(cluster):
        at, switch = known.get(cable.port.switch, ((), None))
        if switch and cable.port.number > switch.ports:
            fix, edits = moves.away(cable)
            message = f"{switch.name} has {switch.ports} ports, and {cable.node} is on port {cable.port.number}"
            fix = fix or f"{switch.name} has no free port"
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
    moves, owners = Moves(cluster), {cable.own: cable for cable in cables(cluster)}
    for port, at, first in repeats((cable.port, cable.own) for cable in owners.values()):
        one, other = owners[at], owners[first]
        message = f"{one.hca} of {one.node} is on {port}, where {other.hca} of {other.node} is"
        if one.at == other.at:  # whatever port the node says, it says it for both
            cause = f"rails of a unit lead to one leaf, {one.port.switch}"
            fix = "let each rail of the unit lead to a leaf of its own"
            yield Finding(at=one.at, message=message, fix=fix, cause=cause)
            continue
        fix, edits = moves.away(one)
        # One port in a unit is as many cables.
        cause = "" if one.at == one.own else f"{one.node} has the port of another node"
        fix = fix or "no port of it is free"
        yield Finding(at=one.at, also=other.at, message=message, fix=fix, edits=edits, cause=cause)


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
