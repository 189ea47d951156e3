"""Rules about the InfiniBand fabric: switches, HCAs, rails."""

from collections.abc import Iterator

from generator.checks.cables import FreePorts, cables, rails, switches
from generator.checks.places import by_place, entries, given_twice, hardware_path, unknown
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, in_words, put
from generator.model.nodes import Machine
from generator.model.rule import rule, warning
from generator.spec.near import misnamed


@rule("GEN-FAB-001", "HCAs are part of a fabric")
def hcas_have_fabric(cluster: Cluster) -> Iterator[Finding]:
    """Without `fabric` nothing is installed that gives InfiniBand to pods.

    Wrong:
        hardware: {cpu: 128, memory: 1Ti, hcas: [mlx5_0]}
        # and no `fabric` in the spec
    Right:
        fabric:
          switches: [{name: ib-leaf-1, ports: 40}]
    """
    if cluster.fabric:
        return
    with_hcas = [machine for machine in cluster.machines if machine.hardware.hcas]
    for at, (first, *_) in by_place(cluster, with_hcas, "hcas").items():
        message = f"{first.name} has InfiniBand devices, and the cluster has no fabric"
        yield Finding(at=at, message=message, fix="describe the switches in `fabric`, or remove `hcas`")
    for cable in cables(cluster):
        message = f"{cable.hca} of {cable.node} is plugged into {cable.port}, and the cluster has no fabric"
        yield Finding(at=cable.at, message=message, fix="describe the switches in `fabric`")


@warning("GEN-FAB-002", "a fabric joins something")
def fabric_used(cluster: Cluster) -> Iterator[Finding]:
    """Drivers and plugins would be installed for nobody.

    Wrong:
        fabric:
          switches: [{name: ib-leaf-1, ports: 40}]
        # and no pool with `hcas`
    Right:
        hardware: {cpu: 128, memory: 1Ti, hcas: [mlx5_0]}
    """
    if cluster.fabric and not any(machine.hardware.hcas for machine in cluster.machines):
        fix = "add `hcas` to pools, or remove fabric"
        yield Finding(at=("fabric",), key=True, message="no node has `hcas`", fix=fix)


@rule("GEN-FAB-003", "switch names are unique")
def switch_names_unique(cluster: Cluster) -> Iterator[Finding]:
    """Cables name the switch they lead to.

    Wrong:
        switches: [{name: ib-leaf-1, ports: 40}, {name: ib-leaf-1, ports: 40}]
    Right:
        switches: [{name: ib-leaf-1, ports: 40}, {name: ib-leaf-2, ports: 40}]
    """
    found = cluster.fabric.switches if cluster.fabric else ()
    items = ((switch.name, (*at, "name")) for at, switch in entries(found, "fabric", "switches"))
    return given_twice(items, "two switches are named {}", "rename or remove one")


@rule("GEN-FAB-004", "HCA names are unique on a node")
def hcas_unique(cluster: Cluster) -> Iterator[Finding]:
    """The kernel gives each device a name of its own, as `ibstat -l` shows them.

    Wrong:
        hcas: [mlx5_0, mlx5_0]
    Right:
        hcas: [mlx5_0, mlx5_1]
    """
    for place, (machine, *_) in by_place(cluster, cluster.machines, "hcas").items():
        items = ((hca, at) for at, hca in entries(machine.hardware.hcas, *place))
        yield from given_twice(items, "{} is listed twice", "name the other device")


@rule("GEN-FAB-005", "cables begin at an HCA of the node")
def cable_of_hca(cluster: Cluster) -> Iterator[Finding]:
    """A port that no device uses hides the one that has none.

    Wrong:
        hcas: [mlx5_0, mlx5_1]
        # and on a node
        fabric: {mlx5_2: ib-leaf-1/1}
    Right:
        hcas: [mlx5_0, mlx5_1]
        # and on a node
        fabric: {mlx5_1: ib-leaf-1/1}
    """
    for machine in cluster.machines if cluster.fabric else ():
        for hca, loose in misnamed(machine.fabric, machine.hardware.hcas):
            message = f"{machine.name} has no HCA {hca}: it has {', '.join(machine.hardware.hcas) or 'none'}"
            at, also = ("nodes", machine.index, "fabric", hca), hardware_path(cluster, machine, "hcas")
            otherwise = "add it to `hcas`, or remove the cable"
            yield unknown(at, hca, loose, message, otherwise, key=True, also=also)


@warning("GEN-FAB-009", "every HCA has a cable")
def hca_cabled(cluster: Cluster) -> Iterator[Finding]:
    """A job over all HCAs is as slow as the one without a link, and the ports left of a switch are miscounted.

    Wrong:
        hcas: [mlx5_0, mlx5_1]
        # and on a node
        fabric: {mlx5_0: ib-leaf-1/1}
    Right:
        hcas: [mlx5_0, mlx5_1]
        # and on a node
        fabric: {mlx5_0: ib-leaf-1/1, mlx5_1: ib-leaf-2/1}
    """
    units = cluster.fabric.units if cluster.fabric else {}
    # A port in a unit that is not described, or in none, is told of elsewhere.
    led = [machine for machine in cluster.machines if cluster.fabric and (not machine.port or machine.unit in units)]
    found = [(machine, _loose(machine)) for machine in led if _loose(machine)]
    ports, leafs = FreePorts(cluster), {hca: leaf for leaf, hca in rails(cluster).items()} if found else {}
    for machine, loose in found:
        at: Path = ("nodes", machine.index)
        own = units.get(machine.unit or "", {}) if machine.port is None else {}
        edits = _unit_port(at, {own.get(hca, "") for hca in loose}, ports) or _cables(at, loose, leafs, ports)
        fix = f"{in_words(edits)} would be free" if edits else "the switches have no free port left"
        message = f"{machine.name} has no switch port for {', '.join(loose)}"
        yield Finding(at=(*at, "fabric") if machine.fabric else at, message=message, fix=fix, edits=edits)


def _unit_port(at: Path, leafs: set[str], ports: FreePorts) -> tuple[Edit, ...]:
    """Return the change that gives a node a port on all these leaves."""
    number = ports.alike(leafs)
    return put((*at, "port"), number) if number else ()


def _cables(at: Path, hcas: list[str], leafs: dict[str, str], ports: FreePorts) -> tuple[Edit, ...]:
    """Return the changes that give each HCA a port, on the leaf of its rail if it can be; none where one gets none."""
    free = {hca: ports.anywhere(leafs.get(hca)) for hca in hcas}
    whole = all(free.values())
    return tuple(edit for hca, port in free.items() for edit in put((*at, "fabric", hca), port)) if whole else ()


def _loose(machine: Machine) -> list[str]:
    return [hca for hca in dict.fromkeys(machine.hardware.hcas) if hca not in machine.fabric]


@warning("GEN-FAB-012", "leaf switches are joined")
def leafs_joined(cluster: Cluster) -> Iterator[Finding]:
    """Nodes on a switch without uplinks reach only each other, unless the GPUs of a node carry on between rails.

    Wrong:
        switches: [{name: ib-leaf-1, ports: 40}, {name: ib-leaf-2, ports: 40}]
    Right:
        switches: [{name: ib-leaf-1, ports: 40, uplinks: 16}, {name: ib-leaf-2, ports: 40, uplinks: 16}]
    """
    found = switches(cluster)
    for at, switch in found.values():
        if len(found) > 1 and not switch.uplinks:
            message = f"{switch.name} has no uplinks to the other {len(found) - 1} switches"
            yield Finding(at=at, message=message, fix="add `uplinks`")


@warning("GEN-FAB-013", "a rail on its own leaf")
def rails_straight(cluster: Cluster) -> Iterator[Finding]:
    """Where each leaf serves one rail (the same HCA of every node), a crossed cable sends the rail's traffic over
    the spines.

    Wrong:
        - {name: gpu-01, ..., fabric: {mlx5_0: ib-leaf-2/9, mlx5_1: ib-leaf-1/9}}   # all others the other way
    Right:
        - {name: gpu-01, ..., fabric: {mlx5_0: ib-leaf-1/9, mlx5_1: ib-leaf-2/9}}
    """
    by_leaf, ports = rails(cluster), FreePorts(cluster)
    leafs = {hca: leaf for leaf, hca in reversed(by_leaf.items())}
    for cable in cables(cluster):
        rail, own = by_leaf.get(cable.port.switch, cable.hca), leafs.get(cable.hca)
        if rail != cable.hca and own:
            message = f"{cable.hca} of {cable.node} is on {cable.port.switch}, which serves {rail}"
            free = ports.on(own)
            fix = f"{cable.hca} belongs to {own}" + (f", where {free} is free" if free else "")
            yield Finding(at=cable.at, message=message, fix=fix, edits=put(cable.own, free) if free else ())


@warning("GEN-FAB-014", "HCAs can be told from Ethernet cards")
def ipoib_declared(cluster: Cluster) -> Iterator[Finding]:
    """The plugin that hands HCAs to pods knows InfiniBand by the type of the network device on top, so each HCA
    needs an IPoIB device; without one it registers no HCA and reports no error.

    Wrong:
        # hcas, and no networks.ipoib
    Right:
        networks:
          ipoib: {cidr: 10.30.0.0/22, interface: ibs1}
    """
    if cluster.fabric and not cluster.networks.ipoib and any(machine.hardware.hcas for machine in cluster.machines):
        message = "nodes have HCAs, and networks has no ipoib"
        fix = "add networks.ipoib with the `cidr` and `interface` of IP over InfiniBand"
        yield Finding(at=("networks",), key=True, also=("fabric",), message=message, fix=fix)
