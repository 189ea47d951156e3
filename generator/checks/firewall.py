"""Rules about the host firewall: who would be locked out, and what would be open by mistake."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from generator.checks.places import entries, overlap, pods, services, unknown
from generator.components import listening
from generator.components.listening import Listener
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path
from generator.model.firewall import OpenPort
from generator.model.rule import rule

FIREWALL: Path = ("networks", "firewall")
OPEN: Path = (*FIREWALL, "open")


@rule("GEN-NET-060", "somebody may come in through the firewall")
def administrators(cluster: Cluster) -> Iterator[Finding]:
    """Without a network that administrators come from, nobody reaches a node by SSH once the firewall is confirmed,
    except from another control-plane node.

    Wrong:
        firewall: {by: nftables, admins: []}
    Right:
        firewall: {by: nftables, admins: [10.50.0.0/24]}
    """
    firewall = cluster.networks.firewall
    if firewall and not firewall.admins:
        fix = "name the networks that people and Ansible come from"
        yield Finding(at=(*FIREWALL, "admins"), message="nobody could reach the nodes by SSH", fix=fix)


@rule("GEN-NET-061", "who is let in comes from outside of the pod and service networks")
def from_outside(cluster: Cluster) -> Iterator[Finding]:
    """Pods have the addresses of the pod network: with it among `admins` each of them reaches SSH on every node.
    Nobody sends from an address of the service network. An address of a node network is fine: a jump host may be there.

    Wrong:
        podCIDR: 10.244.0.0/16
        firewall: {by: nftables, admins: [10.0.0.0/8]}
    Right:
        podCIDR: 10.244.0.0/16
        firewall: {by: nftables, admins: [10.50.0.0/24]}
    """
    firewall = cluster.networks.firewall
    if firewall is None:
        return
    for key, given in (("admins", firewall.admins), ("clients", firewall.clients)):
        for at, network in entries(given, *FIREWALL, key):
            inner = [(block, f"pods would count as {key}") for block in pods(cluster)]
            inner += [(block, "nobody sends from there") for block in services(cluster)]
            for block, why in inner:
                if overlap(network, block.cidr):
                    message = f"{network} overlaps {block.name} {block.cidr}: {why}"
                    fix = "name the networks that people come from, one by one"
                    yield Finding(at=at, also=block.at, message=message, fix=fix)


@rule("GEN-NET-062", "the API server's load balancer gets through the firewall")
def load_balancer_comes_in(cluster: Cluster) -> Iterator[Finding]:
    """A load balancer outside of the cluster asks every control-plane node whether it is well, and sends what it gets
    there. Locked out, it takes all of them for dead, and the cluster has no API server any more. It may send from other
    addresses than the one that it is reached by: name those.

    Wrong:
        endpoint: {address: "api.lab.example.org:6443", by: external}
        firewall: {by: nftables, admins: [10.50.0.0/24]}
    Right:
        endpoint: {address: "api.lab.example.org:6443", by: external}
        firewall: {by: nftables, admins: [10.50.0.0/24], clients: [10.51.0.4/31]}
    """
    firewall, endpoint = cluster.networks.firewall, cluster.kubernetes.endpoint
    if firewall is None or endpoint.by != "external" or firewall.clients:
        return
    if not any(_holds(network, endpoint.host) for network in (cluster.networks.node.cidr, *firewall.admins)):
        message = f"the load balancer at {endpoint.host} reaches no API server"
        fix = "name the addresses that it sends from in `clients`"
        yield Finding(at=FIREWALL, key=True, also=("kubernetes", "endpoint"), message=message, fix=fix)


def _holds(network: IPv4Network, host: str) -> bool:
    try:
        return IPv4Address(host) in network
    except ValueError:
        return False


@rule("GEN-NET-063", "a port of a node has one listener")
def one_listener(cluster: Cluster) -> Iterator[Finding]:
    """Two programs cannot listen on one port of a node: the second does not start. What components listen on is known
    (docs/firewall.md); what is opened beside that needs another port, or nodes that have none of it.

    Wrong:
        open: [{name: exporter, port: 9100, from: [pods]}]   # node-exporter, which comes with monitoring.prometheus
    Right:
        open: [{name: exporter, port: 9105, from: [pods]}]
    """
    firewall = cluster.networks.firewall
    own = firewall.open if firewall else ()
    listeners = [one for one in listening(cluster) if isinstance(one, Listener)] if own else []
    # Those of the file come in its order, after what kubeadm starts and before components.
    mine = {one.name for one in own}
    for at, opened in entries(own, *OPEN):
        for other in listeners:
            if other.name not in mine and _meets(cluster, opened, other):
                message = f"port {other.port} is {other.name}'s on the same nodes"
                yield Finding(at=(*at, "port"), message=message, fix="let yours listen on another port")


def _meets(cluster: Cluster, opened: OpenPort, other: Listener) -> bool:
    apart = (opened.last or opened.port) < other.port or opened.port > (other.last or other.port)
    if apart or opened.protocol != other.protocol:
        return False
    machines = (machine for machine in cluster.machines if not opened.pools or machine.pool in opened.pools)
    return any(other.on(machine) for machine in machines)


@rule("GEN-NET-064", "what is opened is there to be opened")
def opened_exists(cluster: Cluster) -> Iterator[Finding]:
    """A range ends where it begins or later, its pools are pools of the cluster, and somebody may come in.

    Wrong:
        open: [{name: game, port: 7000, last: 6000, from: [nodes]}]
    Right:
        open: [{name: game, port: 6000, last: 7000, from: [nodes]}]
    """
    firewall = cluster.networks.firewall
    for at, opened in entries(firewall.open if firewall else (), *OPEN):
        if opened.last is not None and opened.last < opened.port:
            message = f"the range ends at {opened.last}, before {opened.port}"
            yield Finding(at=(*at, "last"), message=message, fix="write the smaller number at `port`")
        if not opened.from_:
            yield Finding(at=(*at, "from"), message="it is open to nobody", fix="say who may reach it, or remove it")
        for place, pool in entries(opened.pools, *at, "pools"):
            if pool not in cluster.pools:
                message, otherwise = f"there is no pool {pool}", f"name one of {', '.join(cluster.pools)}"
                yield unknown(place, pool, cluster.pools, message, otherwise, also=("pools",))
