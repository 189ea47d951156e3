"""Rules about the addresses of Services of type LoadBalancer."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from generator.checks.places import (
    blocks,
    claims,
    edges,
    pods,
    services,
)
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put
from generator.model.rule import rule

RANGE: Path = ("networks", "loadBalancer", "range")


@rule("GEN-NET-020", "load-balancer addresses need Cilium")
def load_balancer_by_cilium(cluster: Cluster) -> Iterator[Finding]:
    """Cilium gives out these addresses and announces them; with Calico nobody would.

    Wrong:
        cni: calico
        loadBalancer: {range: 10.10.3.192/27}
    Right:
        cni: cilium
        loadBalancer: {range: 10.10.3.192/27}
    """
    cni, also = cluster.networks.cni, ("networks", "cni")
    if cluster.networks.load_balancer and cni != "cilium":
        message = f"loadBalancer needs cni: cilium, and cni is {cni}"
        fix = "remove loadBalancer, or change cni"
        yield Finding(at=("networks", "loadBalancer"), key=True, also=also, message=message, fix=fix)


@rule("GEN-NET-021", "a range runs upwards")
def range_upwards(cluster: Cluster) -> Iterator[Finding]:
    """A range whose end lies before its start is empty, and Cilium refuses it.

    Wrong:
        range: 10.10.3.254-10.10.3.224
    Right:
        range: 10.10.3.224-10.10.3.254
    """
    balancer = cluster.networks.load_balancer
    if balancer and balancer.range.size <= 0:
        first, last = balancer.range.first, balancer.range.last
        message = f"the range {balancer.range} ends before it begins"
        yield Finding(at=RANGE, message=message, edits=put(RANGE, f"{last}-{first}"))


@rule("GEN-NET-022", "addresses announced by ARP lie in the node network")
def range_in_node_network(cluster: Cluster) -> Iterator[Finding]:
    """A node answers ARP for these addresses, and only its own network asks by ARP.

    Wrong:
        node: {cidr: 10.10.0.0/24}
        loadBalancer: {range: 10.10.3.192/27}
    Right:
        node: {cidr: 10.10.0.0/22}
        loadBalancer: {range: 10.10.3.192/27}
    """
    balancer, cidr = cluster.networks.load_balancer, cluster.networks.node.cidr
    if balancer and balancer.announce == "l2" and not (balancer.range.first in cidr and balancer.range.last in cidr):
        message = f"the range {balancer.range} is not inside the node network {cidr}"
        fix = f"take addresses of {cidr} that no node has, or announce: none where a router leads there"
        yield Finding(at=RANGE, also=("networks", "node", "cidr"), message=message, fix=fix)


@rule("GEN-NET-025", "services get addresses that a host may have")
def range_of_hosts(cluster: Cluster) -> Iterator[Finding]:
    """The first and the last address of a network are its own name and its broadcast: no host answers there.

    Wrong:
        node: {cidr: 10.10.0.0/22}
        loadBalancer: {range: 10.10.3.224-10.10.3.255}
    Right:
        node: {cidr: 10.10.0.0/22}
        loadBalancer: {range: 10.10.3.224-10.10.3.254}
    """
    balancer, cidr = cluster.networks.load_balancer, cluster.networks.node.cidr
    for address in edges(cidr) if balancer and balancer.announce == "l2" else ():
        # A range that leaves the network has a finding of its own.
        if balancer and address in balancer.range and balancer.range.first in cidr and balancer.range.last in cidr:
            message = f"the range {balancer.range} holds {address}, which no host of {cidr} may have"
            first, last = max(balancer.range.first, cidr[0] + 1), min(balancer.range.last, cidr[-1] - 1)
            also, edits = ("networks", "node", "cidr"), put(RANGE, f"{first}-{last}")
            yield Finding(at=RANGE, also=also, message=message, edits=edits)


@rule("GEN-NET-023", "nobody else has the load balancer's addresses")
def range_to_itself(cluster: Cluster) -> Iterator[Finding]:
    """Two hosts that answer for one address take each other's traffic, now and then.

    Wrong:
        loadBalancer: {range: 10.10.0.96/27}
        # and
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
    Right:
        loadBalancer: {range: 10.10.3.192/27}
        # and
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
    """
    balancer = cluster.networks.load_balancer
    for claim in claims(cluster) if balancer else ():
        if balancer and claim.address in balancer.range:
            message = f"the range {balancer.range} holds {claim.address}, the address of {claim.owner}"
            yield Finding(at=RANGE, also=claim.at, message=message, fix="take a range that nothing else uses")


@rule("GEN-NET-024", "load-balancer addresses apart from other networks")
def range_apart(cluster: Cluster) -> Iterator[Finding]:
    """Only the node network may hold addresses of services; elsewhere they hide what is there.

    Wrong:
        storage: {cidr: 10.20.0.0/22}
        loadBalancer: {range: 10.20.0.128/27, announce: none}
    Right:
        storage: {cidr: 10.20.0.0/22}
        loadBalancer: {range: 10.50.0.0/27, announce: none}
    """
    balancer, node = cluster.networks.load_balancer, cluster.networks.node.cidr
    if not balancer:
        return
    own, between = balancer.range, [each for each in blocks(cluster) if each.cidr != node]
    for name, at, cidr in (*between, *pods(cluster), *services(cluster)):
        if isinstance(cidr, IPv4Network) and own.first <= cidr[-1] and cidr[0] <= own.last:
            message = f"the range {own} overlaps {name} {cidr}"
            yield Finding(at=RANGE, also=at, message=message, fix="take a range outside all networks but the node's")
