"""Rules about interfaces, gateways, MTUs and the load balancer's addresses."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Network

from generator.checks.places import (
    addresses,
    blocks,
    claims,
    edges,
    entries,
    given_twice,
    is_host,
    network_path,
    overrides,
    pods,
    services,
)
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path
from generator.model.rule import rule, warning

RANGE: Path = ("networks", "loadBalancer", "range")
# What switches for data centres forward at most; what ConnectX adapters carry over IPoIB.
ETHERNET_MTU = 9216
IPOIB_MTU = 4092


@rule(
    "GEN-NET-020",
    "load-balancer addresses need Cilium",
    wrong="cni: calico\nloadBalancer: {range: 10.10.3.192/27}\n",
    right="cni: cilium\nloadBalancer: {range: 10.10.3.192/27}\n",
)
def load_balancer_by_cilium(cluster: Cluster) -> Iterator[Finding]:
    """Cilium gives out these addresses and announces them; with Calico nobody would."""
    cni, also = cluster.networks.cni, ("networks", "cni")
    if cluster.networks.load_balancer and cni != "cilium":
        message = f"loadBalancer needs cni: cilium, and cni is {cni}"
        fix = "remove loadBalancer, or change cni"
        yield Finding(at=("networks", "loadBalancer"), key=True, also=also, message=message, fix=fix)


@rule(
    "GEN-NET-021",
    "a range runs upwards",
    wrong="range: 10.10.3.254-10.10.3.224\n",
    right="range: 10.10.3.224-10.10.3.254\n",
)
def range_upwards(cluster: Cluster) -> Iterator[Finding]:
    """A range whose end lies before its start is empty, and Cilium refuses it."""
    balancer = cluster.networks.load_balancer
    if balancer and balancer.range.size <= 0:
        first, last = balancer.range.first, balancer.range.last
        yield Finding(at=RANGE, message=f"the range {balancer.range} ends before it begins", fix=f"{last}-{first}")


@rule(
    "GEN-NET-022",
    "addresses announced by ARP lie in the node network",
    wrong="node: {cidr: 10.10.0.0/24}\nloadBalancer: {range: 10.10.3.192/27}\n",
    right="node: {cidr: 10.10.0.0/22}\nloadBalancer: {range: 10.10.3.192/27}\n",
)
def range_in_node_network(cluster: Cluster) -> Iterator[Finding]:
    """A node answers ARP for these addresses, and only its own network asks by ARP."""
    balancer, cidr = cluster.networks.load_balancer, cluster.networks.node.cidr
    if balancer and balancer.announce == "l2" and not (balancer.range.first in cidr and balancer.range.last in cidr):
        message = f"the range {balancer.range} is not inside the node network {cidr}"
        fix = f"take addresses of {cidr} that no node has, or announce: none where a router leads there"
        yield Finding(at=RANGE, also=("networks", "node", "cidr"), message=message, fix=fix)


@rule(
    "GEN-NET-025",
    "services get addresses that a host may have",
    wrong="node: {cidr: 10.10.0.0/22}\nloadBalancer: {range: 10.10.3.224-10.10.3.255}\n",
    right="node: {cidr: 10.10.0.0/22}\nloadBalancer: {range: 10.10.3.224-10.10.3.254}\n",
)
def range_of_hosts(cluster: Cluster) -> Iterator[Finding]:
    """The first and the last address of a network are its own name and its broadcast: no host answers there."""
    balancer, cidr = cluster.networks.load_balancer, cluster.networks.node.cidr
    for address in edges(cidr) if balancer and balancer.announce == "l2" else ():
        # A range that leaves the network has a finding of its own.
        if balancer and address in balancer.range and balancer.range.first in cidr and balancer.range.last in cidr:
            message = f"the range {balancer.range} holds {address}, which no host of {cidr} may have"
            first, last = max(balancer.range.first, cidr[0] + 1), min(balancer.range.last, cidr[-1] - 1)
            yield Finding(at=RANGE, also=("networks", "node", "cidr"), message=message, fix=f"range: {first}-{last}")


@rule(
    "GEN-NET-023",
    "nobody else has the load balancer's addresses",
    wrong="loadBalancer: {range: 10.10.0.96/27}\n# and\n- {name: gpu-01, pool: gpu, address: 10.10.0.101}\n",
    right="loadBalancer: {range: 10.10.3.192/27}\n# and\n- {name: gpu-01, pool: gpu, address: 10.10.0.101}\n",
)
def range_to_itself(cluster: Cluster) -> Iterator[Finding]:
    """Two hosts that answer for one address take each other's traffic, now and then."""
    balancer = cluster.networks.load_balancer
    for claim in claims(cluster) if balancer else ():
        if balancer and claim.address in balancer.range:
            message = f"the range {balancer.range} holds {claim.address}, the address of {claim.owner}"
            yield Finding(at=RANGE, also=claim.at, message=message, fix="take a range that nothing else uses")


@rule(
    "GEN-NET-024",
    "load-balancer addresses apart from other networks",
    wrong="storage: {cidr: 10.20.0.0/22}\nloadBalancer: {range: 10.20.0.128/27, announce: none}\n",
    right="storage: {cidr: 10.20.0.0/22}\nloadBalancer: {range: 10.50.0.0/27, announce: none}\n",
)
def range_apart(cluster: Cluster) -> Iterator[Finding]:
    """Only the node network may hold addresses of services; elsewhere they hide what is there."""
    balancer, node = cluster.networks.load_balancer, cluster.networks.node.cidr
    if not balancer:
        return
    own, between = balancer.range, [each for each in blocks(cluster) if each.cidr != node]
    for name, at, cidr in (*between, *pods(cluster), *services(cluster)):
        if isinstance(cidr, IPv4Network) and own.first <= cidr[-1] and cidr[0] <= own.last:
            message = f"the range {own} overlaps {name} {cidr}"
            yield Finding(at=RANGE, also=at, message=message, fix="take a range outside all networks but the node's")


@rule(
    "GEN-NET-030",
    "a gateway is a host of its network",
    wrong="node: {cidr: 10.10.0.0/24, gateway: 10.10.1.1}\n",
    right="node: {cidr: 10.10.0.0/24, gateway: 10.10.0.1}\n",
)
def gateway_in_network(cluster: Cluster) -> Iterator[Finding]:
    """A gateway outside the network cannot be reached, and the first and last address of a network are no host's."""
    networks = cluster.networks.declared
    for name, at, network in overrides(cluster):
        if network.gateway and name in networks and not is_host(network.gateway, networks[name].cidr):
            cidr, also = networks[name].cidr, ("networks", name, "cidr")
            message = f"the gateway {network.gateway} is not a host of the {name} network {cidr}"
            fix = f"{cidr[0] + 1} would be one" if cidr.prefixlen <= 30 else ""
            yield Finding(at=(*at, "gateway"), also=also, message=message, fix=fix)


@rule(
    "GEN-NET-031",
    "the node network's interface is named",
    wrong="cni: cilium\nnode: {cidr: 10.10.0.0/22}\n",
    right="cni: cilium\nnode: {cidr: 10.10.0.0/22, interface: eno1}\n",
)
def interface_named(cluster: Cluster) -> Iterator[Finding]:
    """Cilium must be kept off InfiniBand devices by naming the Ethernet ones, and kube-vip and keepalived announce
    the endpoint on this interface.
    """
    why = "Cilium" if cluster.networks.cni == "cilium" else cluster.kubernetes.endpoint.by
    nameless = [machine.name for machine in cluster.machines if not machine.networks["node"].interface]
    if nameless and why != "external":
        others = f" and {len(nameless) - 1} others" if len(nameless) > 1 else ""
        message = f"{why} needs to know the node network's interface on {nameless[0]}{others}"
        fix = "add `interface`, as `ip -br link` names it on the nodes"
        yield Finding(at=("networks", "node"), message=message, fix=fix)


@rule(
    "GEN-NET-032",
    "the node network is Ethernet",
    wrong="node: {cidr: 10.10.0.0/22, interface: ib0}\n",
    right="node: {cidr: 10.10.0.0/22, interface: eno1}\n",
)
def node_network_on_ethernet(cluster: Cluster) -> Iterator[Finding]:
    """Cilium does not run on IPoIB devices, and neither bridges nor ARP announcements work there."""
    for name, at, network in overrides(cluster):
        devices = (network.interface or "", *network.bond)
        if name == "node" and any(re.match(r"ib[0-9sp]", device) for device in devices):
            message = f"the node network is on {', '.join(filter(None, devices))}, an InfiniBand device"
            yield Finding(at=(*at, "interface"), message=message, fix="name the Ethernet interface")


@warning(
    "GEN-NET-033",
    "a bond has two members",
    wrong="interface: bond0\nbond: [eno1]\n",
    right="interface: bond0\nbond: [eno1, eno2]\n",
)
def bond_of_two(cluster: Cluster) -> Iterator[Finding]:
    """A bond of one device survives no broken cable; mostly the second name was forgotten."""
    for _, at, network in overrides(cluster):
        if len(network.bond) == 1:
            message = f"the bond has one member, {network.bond[0]}"
            yield Finding(at=(*at, "bond"), message=message, fix="add the second device, or remove `bond`")


@rule(
    "GEN-NET-034",
    "a bond has a name of its own and each device once",
    wrong="interface: eno1\nbond: [eno1, eno2]\n",
    right="interface: bond0\nbond: [eno1, eno2]\n",
)
def bond_named(cluster: Cluster) -> Iterator[Finding]:
    """`interface` names the bond, and a device belongs to one bond once."""
    networks = cluster.networks.declared
    for name, at, network in overrides(cluster):
        interface = network.interface or (networks[name].interface if name in networks else None)
        if network.bond and (interface is None or interface in network.bond):
            message = f"the bond of {', '.join(network.bond)} needs a name of its own"
            yield Finding(at=(*at, "bond"), message=message, fix="interface: bond0")
        items = ((device, place) for place, device in entries(network.bond, *at, "bond"))
        yield from given_twice(items, "{} is in the bond twice", "name another device")


@warning(
    "GEN-NET-035",
    "one MTU in a network",
    wrong="storage: {cidr: 10.20.0.0/22, mtu: 9000}\n# and in a pool\nnetworks: {storage: {mtu: 1500}}\n",
    right="storage: {cidr: 10.20.0.0/22, mtu: 9000}\n",
)
def one_mtu(cluster: Cluster) -> Iterator[Finding]:
    """Large frames to a node with a smaller MTU vanish without a word: small requests work, transfers hang."""
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


@warning(
    "GEN-NET-036",
    "an MTU that the network carries",
    wrong="node: {cidr: 10.10.0.0/22, mtu: 65520}\n",
    right="node: {cidr: 10.10.0.0/22, mtu: 9000}\n",
)
def mtu_carried(cluster: Cluster) -> Iterator[Finding]:
    """Ethernet switches forward up to 9216 bytes, and IPoIB in datagram mode (the only one of newer adapters)
    carries 4092.
    """
    for name, at, network in overrides(cluster):
        kind, most, usual = ("IPoIB", IPOIB_MTU, IPOIB_MTU) if name == "ipoib" else ("Ethernet", ETHERNET_MTU, 9000)
        infiniband = (network.interface or "").startswith("ib")
        if (network.mtu or 0) > most and not (infiniband and name == "storage"):
            message = f"MTU {network.mtu} is more than {kind} carries ({most})"
            yield Finding(at=(*at, "mtu"), message=message, fix=f"mtu: {usual}")


@rule(
    "GEN-NET-037",
    "only networks that the cluster has",
    wrong="networks: {node: {cidr: 10.10.0.0/22}}\n# and in a pool\nnetworks: {storage: {interface: eno2}}\n",
    right="networks: {node: {cidr: 10.10.0.0/22}, storage: {cidr: 10.20.0.0/22, interface: eno2}}\n",
)
def network_declared(cluster: Cluster) -> Iterator[Finding]:
    """What differs on a pool or node, differs from a network of the cluster; without one it has no effect. An
    address needs a network as well.
    """
    networks = cluster.networks.declared
    places = [(name, at) for name, at, _ in overrides(cluster)]
    places += [(claim.network, claim.at) for claim in addresses(cluster)]
    for name, at in places:
        if name not in networks:
            fix = f"add networks.{name}, or remove this"
            yield Finding(at=at, key=True, message=f"the cluster has no {name} network", fix=fix)


@warning(
    "GEN-NET-038",
    "an interface belongs to one network",
    wrong="node: {cidr: 10.10.0.0/22, interface: eno1}\nstorage: {cidr: 10.20.0.0/22, interface: eno1}\n",
    right="node: {cidr: 10.10.0.0/22, interface: eno1}\nstorage: {cidr: 10.20.0.0/22, interface: eno2}\n",
)
def interface_in_one_network(cluster: Cluster) -> Iterator[Finding]:
    """Two networks on one interface share its bandwidth and its broken cables: VLANs (`vlan`) say that it is
    meant.
    """
    items = (
        (network.interface, ("networks", name, "interface"))
        for name, network in cluster.networks.declared.items()
        if network.interface and not network.vlan
    )
    yield from given_twice(items, "{} carries two networks", "name another interface, or give the network its `vlan`")
