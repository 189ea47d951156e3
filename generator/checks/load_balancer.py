"""Rules about the addresses of Services of type LoadBalancer."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from generator.checks.places import (
    blocks,
    claims,
    edges,
    entries,
    pods,
    repeats,
    services,
)
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put, remove
from generator.model.rule import rule

BALANCER: Path = ("networks", "loadBalancer")
RANGE: Path = (*BALANCER, "range")


@rule("GEN-NET-020", "addresses announced as the pod network can")
def announced_by_network(cluster: Cluster) -> Iterator[Finding]:
    """Cilium answers ARP (`l2`, the default), Calico tells routers (`bgp`); the other way round nobody would announce
    these addresses.

    Wrong:
        cni: calico
        loadBalancer: {range: 10.50.0.0/27}
    Right:
        cni: calico
        loadBalancer: {range: 10.50.0.0/27, announce: bgp, bgp: {peers: [{address: 10.10.0.1, asNumber: 64513}]}}
    """
    cni, balancer = cluster.networks.cni, cluster.networks.load_balancer
    if balancer and balancer.announce == {"cilium": "bgp", "calico": "l2"}[cni]:
        message = f"announce: {balancer.announce} is not done by {cni}"
        fix = {
            "cilium": "announce by ARP (`announce: l2`) addresses of the node network, and leave `bgp` out",
            "calico": "tell routers (`announce: bgp`, and bgp.peers), or nobody where one leads there (`none`)",
        }[cni]
        yield Finding(at=BALANCER, key=True, also=("networks", "cni"), message=message, fix=fix)


@rule("GEN-NET-026", "BGP has routers to tell")
def bgp_neighbours(cluster: Cluster) -> Iterator[Finding]:
    """Without neighbours nobody learns of the addresses, and neighbours are told nothing unless `announce` says so. A
    router is one neighbour once.

    Wrong:
        loadBalancer: {range: 10.50.0.0/27, announce: bgp}
    Right:
        loadBalancer: {range: 10.50.0.0/27, announce: bgp, bgp: {peers: [{address: 10.10.0.1, asNumber: 64513}]}}
    """
    balancer = cluster.networks.load_balancer
    if balancer is None:
        return
    peers = balancer.bgp.peers if balancer.bgp else ()
    if balancer.announce == "bgp" and not peers:
        fix = "name the router's address and its AS number in bgp.peers"
        yield Finding(at=BALANCER, key=True, message="announce: bgp names no router in bgp.peers", fix=fix)
    if balancer.announce != "bgp" and balancer.bgp:
        message = f"announce is {balancer.announce}, so nobody is told by BGP"
        fix = "say `announce: bgp`, or remove `bgp`"
        yield Finding(at=(*BALANCER, "bgp"), key=True, message=message, fix=fix)
    given = dict(entries(peers, *BALANCER, "bgp", "peers"))
    for router, at, first in repeats((str(peer.address), at) for at, peer in given.items()):
        place, other = (*at, "address"), (*first, "address")
        fix, edits = ("remove one", remove(at)) if given[at] == given[first] else ("keep the one that is meant", ())
        yield Finding(at=place, also=other, message=f"the router {router} is listed twice", fix=fix, edits=edits)


@rule("GEN-NET-027", "addresses told by BGP lie outside the node network")
def told_outside_node_network(cluster: Cluster) -> Iterator[Finding]:
    """Hosts of the node network ask for its addresses by ARP, not by way of the router, and nobody answers for these.

    Wrong:
        node: {cidr: 10.10.0.0/22}
        loadBalancer: {range: 10.10.3.192/27, announce: bgp}
    Right:
        node: {cidr: 10.10.0.0/22}
        loadBalancer: {range: 10.50.0.0/27, announce: bgp}
    """
    balancer, cidr = cluster.networks.load_balancer, cluster.networks.node.cidr
    if balancer and balancer.announce == "bgp" and balancer.range.meets(cidr):
        message = f"the range {balancer.range} is in the node network {cidr}, and is told by BGP"
        fix = "take addresses outside the node network, which your router knows from nobody else"
        yield Finding(at=RANGE, also=("networks", "node", "cidr"), message=message, fix=fix)


@rule("GEN-NET-021", "a range runs upwards")
def range_upwards(cluster: Cluster) -> Iterator[Finding]:
    """A range whose end lies before its start is empty, and the pod network refuses it.

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
        if isinstance(cidr, IPv4Network) and own.meets(cidr):
            message = f"the range {own} overlaps {name} {cidr}"
            yield Finding(at=RANGE, also=at, message=message, fix="take a range outside all networks but the node's")
