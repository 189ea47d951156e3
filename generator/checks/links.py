"""Rules about interfaces, gateways and MTUs."""

import re
from collections.abc import Iterator
from itertools import count

from generator.checks.places import (
    addresses,
    claims,
    entries,
    given_twice,
    is_host,
    network_path,
    overrides,
)
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, put
from generator.model.nodes import Machine, NetworkOverride
from generator.model.rule import rule, warning

# What switches for data centres forward at most; what ConnectX adapters carry over IPoIB.
ETHERNET_MTU = 9216
IPOIB_MTU = 4092


@rule("GEN-NET-030", "a gateway is a host of its network")
def gateway_in_network(cluster: Cluster) -> Iterator[Finding]:
    """A gateway outside the network cannot be reached, and the first and last address of a network are no host's.

    Wrong:
        node: {cidr: 10.10.0.0/24, gateway: 10.10.1.1}
    Right:
        node: {cidr: 10.10.0.0/24, gateway: 10.10.0.1}
    """
    networks = cluster.networks.declared
    for name, at, network in overrides(cluster):
        if network.gateway and name in networks and not is_host(network.gateway, networks[name].cidr):
            cidr, also = networks[name].cidr, ("networks", name, "cidr")
            message = f"the gateway {network.gateway} is not a host of the {name} network {cidr}"
            first = cidr[0] + 1 if cidr.prefixlen <= 30 else None
            free = first and all(claim.address != first for claim in claims(cluster))
            fix = f"{first} would be one" if free else "name the router's address in it"
            edits = put((*at, "gateway"), str(first)) if free else ()
            yield Finding(at=(*at, "gateway"), also=also, message=message, fix=fix, edits=edits)


@rule("GEN-NET-031", "the node network's interface is named")
def interface_named(cluster: Cluster) -> Iterator[Finding]:
    """Cilium must be kept off InfiniBand devices by naming the Ethernet ones, and kube-vip and keepalived announce
    the endpoint on this interface.

    Wrong:
        cni: cilium
        node: {cidr: 10.10.0.0/22}
    Right:
        cni: cilium
        node: {cidr: 10.10.0.0/22, interface: eno1}
    """
    why = "Cilium" if cluster.networks.cni == "cilium" else cluster.kubernetes.endpoint.by
    nameless = [machine.name for machine in cluster.machines if not machine.networks["node"].interface]
    if nameless and why != "external":
        others = f" and {len(nameless) - 1} others" if len(nameless) > 1 else ""
        message = f"{why} needs to know the node network's interface on {nameless[0]}{others}"
        fix = "add `interface`, as `ip -br link` names it on the nodes"
        yield Finding(at=("networks", "node"), message=message, fix=fix)


@rule("GEN-NET-032", "the node network is Ethernet")
def node_network_on_ethernet(cluster: Cluster) -> Iterator[Finding]:
    """Cilium does not run on IPoIB devices, and neither bridges nor ARP announcements work there.

    Wrong:
        node: {cidr: 10.10.0.0/22, interface: ib0}
    Right:
        node: {cidr: 10.10.0.0/22, interface: eno1}
    """
    for name, at, network in overrides(cluster):
        devices = (network.interface or "", *network.bond)
        if name == "node" and any(re.match(r"ib[0-9sp]", device) for device in devices):
            message = f"the node network is on {', '.join(filter(None, devices))}, an InfiniBand device"
            yield Finding(at=(*at, "interface"), message=message, fix="name the Ethernet interface")


@warning("GEN-NET-033", "a bond has two members")
def bond_of_two(cluster: Cluster) -> Iterator[Finding]:
    """A bond of one device survives no broken cable; mostly the second name was forgotten.

    Wrong:
        interface: bond0
        bond: [eno1]
    Right:
        interface: bond0
        bond: [eno1, eno2]
    """
    for _, at, network in overrides(cluster):
        if len(network.bond) == 1:
            message = f"the bond has one member, {network.bond[0]}"
            yield Finding(at=(*at, "bond"), message=message, fix="add the second device, or remove `bond`")


@rule("GEN-NET-034", "a bond has a name of its own, and its devices are in nothing else")
def bond_named(cluster: Cluster) -> Iterator[Finding]:
    """`interface` names the bond, and a device belongs to one bond once: it is neither in another bond nor another
    network's interface, on no node. Networks share a bond through VLANs.

    Wrong:
        interface: eno1
        bond: [eno1, eno2]
    Right:
        interface: bond0
        bond: [eno1, eno2]
    """
    networks, told = cluster.networks.declared, set[Path]()
    for name, at, network in overrides(cluster):
        interface = network.interface or (networks[name].interface if name in networks else None)
        if network.bond and (interface is None or interface in network.bond):
            told.add((*at, "bond"))
            yield _nameless((*at, "bond"), None, network, put((*at, "interface"), _new_bond(cluster)))
        items = ((device, place) for place, device in entries(network.bond, *at, "bond"))
        yield from given_twice(items, "{} is in the bond twice", "name another device")
    for machine in cluster.machines:
        for finding in (*_own_names(cluster, machine), *_shared_members(cluster, machine)):
            if finding.at not in told:
                told.add(finding.at)
                yield finding


def _nameless(at: Path, also: Path | None, network: NetworkOverride, edits: tuple[Edit, ...]) -> Finding:
    message = f"the bond of {', '.join(network.bond)} needs a name of its own"
    return Finding(at=at, also=also, message=message, edits=edits)


def _new_bond(cluster: Cluster) -> str:
    """Return a name that no interface and no bond has."""
    used = {network.interface.partition(".")[0] for _, _, network in overrides(cluster) if network.interface}
    return next(name for name in map("bond{}".format, count()) if name not in used)


def _carrier(network: NetworkOverride) -> str:
    """Return the device that carries a network: the bond where it has one, else what its VLAN lies on."""
    interface = network.interface or ""
    return (network.vlan and interface.rpartition(".")[0]) or interface


def _own_names(cluster: Cluster, machine: Machine) -> Iterator[Finding]:
    """Yield what is wrong where a node's interface and its bond's devices come from different places, or are tagged."""
    for name, network in machine.networks.items():
        if _carrier(network) in network.bond:
            tag = f".{network.vlan}" if network.vlan else ""
            interface = network_path(cluster, machine, name, "interface")
            edits = put(interface, f"{_new_bond(cluster)}{tag}")
            yield _nameless(network_path(cluster, machine, name, "bond"), interface, network, edits)


def _shared_members(cluster: Cluster, machine: Machine) -> Iterator[Finding]:
    """Yield the devices of a node's bonds that carry something else as well, or lie on their own bond."""
    interfaces = _interfaces(machine)
    bonds: dict[str, str] = {}
    for name, network in machine.networks.items():
        bond, place = _carrier(network), network_path(cluster, machine, name, "bond")
        for at, device in entries(network.bond, *place):
            of, before = interfaces.get(device, name), bonds.setdefault(device, name)
            other = _carrier(machine.networks[before])
            if device.startswith(f"{bond}."):
                message = f"{device} lies on the bond {bond}, and the bond on {device}"
                yield Finding(at=at, message=message, fix="name the devices themselves")
            elif of != name:
                also = network_path(cluster, machine, of, "interface")
                message = f"{device} is in the bond {bond} and carries the {of} network"
                fix = f"name another device, or put both networks on {bond} with a `vlan` each"
                yield Finding(at=at, also=also, message=message, fix=fix)
            elif other != bond:
                also = network_path(cluster, machine, before, "bond")
                message = f"{device} is in two bonds, {other} and {bond}"
                yield Finding(at=at, also=also, message=message, fix="name another device")


def _interfaces(machine: Machine) -> dict[str, str]:
    """Return the network of each interface, and of each device that carries a tagged one."""
    found: dict[str, str] = {}
    for name, network in machine.networks.items():
        for device in (network.interface, _carrier(network)):
            if device:
                found.setdefault(device, name)
    return found


@warning("GEN-NET-035", "one MTU in a network")
def one_mtu(cluster: Cluster) -> Iterator[Finding]:
    """Large frames to a node with a smaller MTU vanish without a word: small requests work, transfers hang.

    Wrong:
        storage: {cidr: 10.20.0.0/22, mtu: 9000}
        # and in a pool
        networks: {storage: {mtu: 1500}}
    Right:
        storage: {cidr: 10.20.0.0/22, mtu: 9000}
    """
    networks = cluster.networks.declared
    found = {
        (name, network.mtu): network_path(cluster, machine, name, "mtu")
        for machine in reversed(cluster.machines)
        for name, network in machine.networks.items()
        if network.mtu != networks[name].mtu
    }
    for (name, mtu), at in found.items():
        common = networks[name].mtu or "the nodes' own"
        message = f"MTU {mtu} in the {name} network, where it is {common} elsewhere"
        also = ("networks", name, "mtu")
        yield Finding(at=at, also=also, message=message, fix="give all nodes of the network one MTU")


@warning("GEN-NET-036", "an MTU that the network carries")
def mtu_carried(cluster: Cluster) -> Iterator[Finding]:
    """Ethernet switches forward up to 9216 bytes, and IPoIB in datagram mode (the only one of newer adapters)
    carries 4092.

    Wrong:
        node: {cidr: 10.10.0.0/22, mtu: 65520}
    Right:
        node: {cidr: 10.10.0.0/22, mtu: 9000}
    """
    for name, at, network in overrides(cluster):
        kind, most, usual = ("IPoIB", IPOIB_MTU, IPOIB_MTU) if name == "ipoib" else ("Ethernet", ETHERNET_MTU, 9000)
        infiniband = (network.interface or "").startswith("ib")
        if (network.mtu or 0) > most and not (infiniband and name == "storage"):
            message = f"MTU {network.mtu} is more than {kind} carries ({most})"
            yield Finding(at=(*at, "mtu"), message=message, edits=put((*at, "mtu"), usual))


@rule("GEN-NET-037", "only networks that the cluster has")
def network_declared(cluster: Cluster) -> Iterator[Finding]:
    """What differs on a pool or node, differs from a network of the cluster; without one it has no effect. An
    address needs a network as well.

    Wrong:
        networks: {node: {cidr: 10.10.0.0/22}}
        # and in a pool
        networks: {storage: {interface: eno2}}
    Right:
        networks: {node: {cidr: 10.10.0.0/22}, storage: {cidr: 10.20.0.0/22, interface: eno2}}
    """
    networks = cluster.networks.declared
    places = [(name, at) for name, at, _ in overrides(cluster)]
    places += [(claim.network, claim.at) for claim in addresses(cluster)]
    for name, at in places:
        if name not in networks:
            fix = f"add networks.{name}, or remove this"
            yield Finding(at=at, key=True, message=f"the cluster has no {name} network", fix=fix)


@warning("GEN-NET-038", "an interface belongs to one network")
def interface_in_one_network(cluster: Cluster) -> Iterator[Finding]:
    """Two networks on one interface share its bandwidth and its broken cables: VLANs (`vlan`) say that it is
    meant.

    Wrong:
        node: {cidr: 10.10.0.0/22, interface: eno1}
        storage: {cidr: 10.20.0.0/22, interface: eno1}
    Right:
        node: {cidr: 10.10.0.0/22, interface: eno1}
        storage: {cidr: 10.20.0.0/22, interface: eno2}
    """
    items = (
        (network.interface, ("networks", name, "interface"))
        for name, network in cluster.networks.declared.items()
        if network.interface and not network.vlan
    )
    yield from given_twice(items, "{} carries two networks", "name another interface, or give the network its `vlan`")


@rule("GEN-NET-039", "a tagged interface is named after what carries it")
def vlan_named(cluster: Cluster) -> Iterator[Finding]:
    """`interface` names the tagged interface itself: its name says which one carries it (Linux' own way), so that the
    files for nodes are complete.

    Wrong:
        storage: {cidr: 10.20.0.0/22, interface: bond0, vlan: 20}
    Right:
        storage: {cidr: 10.20.0.0/22, interface: bond0.20, vlan: 20}
    """
    networks = cluster.networks.declared
    for name, at, network in overrides(cluster):
        whole = networks.get(name, network)
        interface, vlan = network.interface or whole.interface, network.vlan or whole.vlan
        own = network.interface or network.vlan
        if own and interface and vlan and not (interface.endswith(f".{vlan}") and interface.rpartition(".")[0]):
            key = "interface" if network.interface else "vlan"
            message = f"VLAN {vlan} of the {name} network is on {interface}, which names no tagged interface"
            edits = put((*at, "interface"), f"{interface.partition('.')[0]}.{vlan}")
            yield Finding(at=(*at, key), message=message, edits=edits)
