"""Rules about units of the fabric: leaf switches that nodes are plugged into alike."""

from collections.abc import Iterator

from generator.checks.cables import switches
from generator.checks.places import entries, sections, unknown
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.rule import rule


@rule("GEN-FAB-015", "units that are described")
def known_unit(cluster: Cluster) -> Iterator[Finding]:
    """A unit says which leaf switch serves the rail of each HCA; without it a node's port leads nowhere.

    Wrong:
        units: {su-1: {mlx5_0: ib-leaf-1, mlx5_1: ib-leaf-2}}
        # and of a pool
        unit: su1
    Right:
        units: {su-1: {mlx5_0: ib-leaf-1, mlx5_1: ib-leaf-2}}
        # and of a pool
        unit: su-1
    """
    known = cluster.fabric.units if cluster.fabric else {}
    for place, section in sections(cluster):
        if section.unit is not None and section.unit not in known:
            message, cause = f"there is no unit {section.unit}", f"unit {section.unit} is not described"
            also, otherwise = ("fabric", "units") if known else None, "describe it in fabric.units"
            yield unknown((*place, "unit"), section.unit, known, message, otherwise, also=also, cause=cause)


@rule("GEN-FAB-016", "rails that lead to a switch of the fabric")
def rails_known(cluster: Cluster) -> Iterator[Finding]:
    """Only switches that are described can be counted.

    Wrong:
        switches: [{name: ib-leaf-1, ports: 40}]
        units: {su-1: {mlx5_0: ib-leaf1}}
    Right:
        switches: [{name: ib-leaf-1, ports: 40}]
        units: {su-1: {mlx5_0: ib-leaf-1}}
    """
    known = switches(cluster)
    for unit, rails in cluster.fabric.units.items() if cluster.fabric else ():
        for hca, leaf in rails.items():
            if leaf not in known:
                at, message = ("fabric", "units", unit, hca), f"{leaf} is not described"
                otherwise = "add the switch to fabric.switches"
                yield unknown(at, leaf, known, message, otherwise, also=("fabric", "switches"))


@rule("GEN-FAB-017", "a port on the leaves of a unit")
def port_in_unit(cluster: Cluster) -> Iterator[Finding]:
    """`port` is the number of the port on the leaf of each rail; which leaves these are the node's unit says.

    Wrong:
        - {name: gpu-01, ..., port: 7}   # and neither the node nor its pool has a `unit`
    Right:
        - {name: gpu-01, ..., unit: su-1, port: 7}
    """
    units = {machine.index: machine.unit for machine in cluster.machines}
    for at, node in entries(cluster.nodes, "nodes"):
        if node.port is not None and units.get(int(at[1]), "unknown pool") is None:
            message = f"{node.name} has port {node.port}, and neither it nor pool {node.pool} has a unit"
            fix = f"add `unit` to pool {node.pool} or to the node, and describe it in fabric.units"
            yield Finding(at=(*at, "port"), also=("pools", node.pool), message=message, fix=fix)
