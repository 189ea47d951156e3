"""Rules about the ports of nodes themselves that pods take."""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from generator.build.objects import Built
from generator.build.pods import Pod, containers, pods
from generator.components import listening
from generator.components.listening import Listener
from generator.model.cluster import Cluster
from generator.model.fields import dig, spots
from generator.model.finding import Finding, Path
from generator.model.nodes import Machine
from generator.model.plural import plural
from generator.model.rule import warning
from generator.rules.nodes import nodes_of
from generator.rules.placement import obstacles


class Taken(NamedTuple):
    """A port of a node that a pod takes, and where the pod says it."""

    at: Path
    port: int
    protocol: str


def taken(pod: Pod, key: str) -> Iterator[Taken]:
    """Yield the ports that a pod's containers name by `containerPort` or `hostPort`, well formed ones."""
    for at, one in containers(pod):
        for way, listed in spots(one, "ports.*"):
            port = dig(listed, key)
            if isinstance(port, int) and port:
                yield Taken((*at, *way, key), port, str(dig(listed, "protocol") or "TCP").lower())


@warning("GEN-POD-060", "the host firewall lets in what listens on nodes")
def let_in(built: Built) -> Iterator[Finding]:
    """A pod on the host's network listens on its node, and with `networks.firewall` a node lets in only what is known
    to listen there. What components of gen listen on is known; another program's port is opened in the cluster file.
    One that only its own node asks (a probe) works without: take it out of `ports`, or waive this.

    Wrong:
        spec: {hostNetwork: true, containers: [{name: main, ports: [{containerPort: 9256}]}]}
    Right:
        # in the cluster file
        firewall: {by: nftables, admins: [...], open: [{name: process-exporter, port: 9256, from: [pods, nodes]}]}
    """
    cluster = built.cluster
    if cluster is None or cluster.networks.firewall is None:
        return
    known = [one for one in listening(cluster) if isinstance(one, Listener)]
    for pod in pods(built):
        ports = list(taken(pod, "containerPort")) if pod.spec.get("hostNetwork") is True else ()
        for one in ports:
            shut = [machine for machine in _machines(pod, built, cluster) if not _is_known(known, one, machine)]
            if shut:
                more = f" and {plural(len(shut) - 1, 'other node')}" if len(shut) > 1 else ""
                message = f"the firewall of {shut[0].name}{more} lets nobody in to port {one.port} ({one.protocol})"
                fix = "name it in networks.firewall.open"
                yield pod.finding(message, *one.at, fix=fix)


def _machines(pod: Pod, built: Built, cluster: Cluster) -> Iterator[Machine]:
    """Yield the nodes that a pod may be on."""
    names = {node.name for node in nodes_of(built) if not obstacles(pod, node)}
    return (machine for machine in cluster.machines if machine.name in names)


def _is_known(known: list[Listener], one: Taken, machine: Machine) -> bool:
    return any(each.covers(one.port, one.protocol) and each.on(machine) for each in known)


@warning("GEN-POD-061", "a port of a node is taken once")
def taken_once(built: Built) -> Iterator[Finding]:
    """Two daemon sets that want the same port of a node have one pod too few there: with `hostPort` (and on the host's
    network every `containerPort` is one) the scheduler places only the first, and the second waits for ever.

    Wrong:
        # two exporters, each in a DaemonSet of every node
        spec: {hostNetwork: true, containers: [{name: main, ports: [{containerPort: 9100}]}]}
    Right:
        spec: {hostNetwork: true, containers: [{name: main, ports: [{containerPort: 9105}]}]}
    """
    nodes = nodes_of(built)
    daemons = [pod for pod in pods(built) if nodes and pod.maker.kind == "DaemonSet"]
    listed = [(pod, ports) for pod in daemons if (ports := list(_on_node(pod)))]
    for (first, theirs), (second, ours) in combinations(listed, 2):
        for one in ours:
            if any((one.port, one.protocol) == (other.port, other.protocol) for other in theirs):
                where = [node for node in nodes if not obstacles(first, node) and not obstacles(second, node)]
                if where:
                    message = f"port {one.port} of {where[0].name} is {first.maker.full_name}'s"
                    yield second.finding(message, *one.at, fix="let one of them listen on another port")


def _on_node(pod: Pod) -> Iterator[Taken]:
    """Yield the ports of its node that a pod takes. On the host's network the API server makes them `hostPort`s."""
    return taken(pod, "containerPort" if pod.spec.get("hostNetwork") is True else "hostPort")
