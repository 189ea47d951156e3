"""Many cables that lead to a switch that is not described."""

from time import process_time

from msgspec import structs

from generator.checks.ports import known_switch
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.nodes import Node, Switch
from generator.model.text import Port


def mistyped(cluster: Cluster, nodes: int) -> list[Finding]:
    """Return what is found where each of eight HCAs of so many nodes leads to a mistyped switch."""
    assert cluster.fabric
    fabric = structs.replace(cluster.fabric, switches=(Switch(name="ib-leaf-1", ports=2**16),))
    first = cluster.nodes[0]
    changed = tuple(wired(first, number) for number in range(nodes))
    return list(known_switch.check(structs.replace(cluster, nodes=changed, fabric=fabric)))


def wired(node: Node, number: int) -> Node:
    fabric = {f"mlx5_{hca}": Port("ib-leaf1", 8 * number + hca + 1) for hca in range(8)}
    return structs.replace(node, name=f"n{number}", fabric=fabric)


def test_each_cable_is_offered_the_port_of_its_number(ml50: Cluster) -> None:
    offered = [each.edits[0].value for each in mistyped(ml50, 3)]
    assert offered == [f"ib-leaf-1/{number}" for number in range(1, 25)]


def test_the_time_grows_as_the_cables_do(ml50: Cluster) -> None:
    few, many = (
        min(seconds_for(ml50, nodes) for _ in range(3)) for nodes in (50, 400)
    )  # the least: no other's garbage
    assert many < 24 * max(few, 0.01)


def seconds_for(cluster: Cluster, nodes: int) -> float:
    start = process_time()
    assert len(mistyped(cluster, nodes)) == 8 * nodes
    return process_time() - start
