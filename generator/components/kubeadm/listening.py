"""What listens on nodes beside components: SSH, and what kubeadm and the endpoint start.

Ports are those of https://kubernetes.io/docs/reference/networking/ports-and-protocols/ and of kubeadm's defaults.
"""

from collections.abc import Iterator
from functools import partial

from generator.components.common import API_PORT
from generator.components.listening import CLUSTER, Listener, Listening, Peer, Protocol, on_control_plane
from generator.model.cluster import Cluster
from generator.model.firewall import Firewall, OpenPort
from generator.model.nodes import Machine

VRRP = 112
# The steps copy certificates from one control-plane node to the others.
_SSH = (Peer.ADMINS, Peer.CONTROL_PLANE)
PEER_PORT = 2380


def node_listeners(cluster: Cluster) -> Iterator[Listening]:
    """Yield what listens on nodes whatever the components."""
    firewall = cluster.networks.firewall
    yield Listener(name="ssh", port=firewall.ssh if firewall else 22, peers=_SSH)
    yield Listener(name="kubelet", port=10250, peers=CLUSTER)
    api = (*CLUSTER, Peer.ADMINS, Peer.CLIENTS)
    yield Listener(name="api-server", port=API_PORT, peers=api, on=on_control_plane)
    yield Listener(name="etcd", port=2379, last=PEER_PORT, peers=(Peer.CONTROL_PLANE,), on=on_control_plane)
    yield from _metrics(cluster)
    yield from _endpoint(cluster)
    if cluster.networks.kube_proxy:
        yield Listener(name="kube-proxy-health", port=10256, closed="no load balancer asks nodes for their health")
    yield from _own(firewall) if firewall else ()


def _metrics(cluster: Cluster) -> Iterator[Listener]:
    """Yield the control plane's metrics: without Prometheus they stay on loopback (`init.scraped`)."""
    ports = {"etcd-metrics": 2381, "controller-manager": 10257, "scheduler": 10259}
    for name, port in ports.items() if cluster.monitoring.prometheus else ():
        yield Listener(name=name, port=port, peers=CLUSTER, on=on_control_plane)


def _endpoint(cluster: Cluster) -> Iterator[Listening]:
    by = cluster.kubernetes.endpoint.by
    if by == "keepalived":
        yield Protocol(name="keepalived", number=VRRP, peers=(Peer.CONTROL_PLANE,), on=on_control_plane)
    if by == "kube-vip":
        # It listens there whether or not `prometheus_server` says so (kube-vip issue 415).
        yield Listener(name="kube-vip-metrics", port=2112, closed="nobody reads its metrics", on=on_control_plane)


def _own(firewall: Firewall) -> Iterator[Listener]:
    for one in firewall.open:
        yield Listener(
            name=one.name,
            port=one.port,
            last=one.last,
            protocol=one.protocol,
            peers=tuple(Peer(peer) for peer in one.from_),
            on=partial(_is_on, one),
        )


def _is_on(one: OpenPort, machine: Machine) -> bool:
    return not one.pools or machine.pool in one.pools
