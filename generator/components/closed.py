"""Pods of the platform that are shut: in comes who calls them, out goes what they ask, and nothing else.

API servers call webhooks from their nodes. Cilium has a name for these; Calico tunnels all that nodes send to pods
elsewhere, so that it comes from an address among those of pods, which differs by node and is nobody's to foresee. There
a called port is open to whoever reaches it: it serves TLS, and teams' own policies let none of theirs there.
"""

from collections.abc import Sequence

from msgspec import Struct

from generator.components.common import PROMETHEUS_PORT, SCRAPERS, SYNC_WAVE, monitored_from
from generator.components.component import Manifest
from generator.components.parts import TO_API_SERVER, api_server, network_policy, pods_of, tcp
from generator.model.cluster import Cluster
from generator.model.fields import dig

DNS: Manifest = {"ports": [{"protocol": "UDP", "port": 53}, tcp(53)]}
"""Let out to names, for a network policy's rules."""


class Controller(Struct, frozen=True, kw_only=True):
    """Pods that a policy called `name` is for, by labels: API servers reach the ports `called`, Prometheus those of
    `metrics`, people by Cilium's own Ingress those `shown`, others by the rules `others`. They reach API servers and
    what the rules `asks` let them; what leaves is open where `asks` is None.
    """

    name: str
    namespace: str
    labels: dict[str, str]
    called: tuple[int, ...] = ()
    metrics: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()
    others: tuple[Manifest, ...] = ()
    asks: tuple[Manifest, ...] | None = ()


def closed(cluster: Cluster, one: Controller) -> tuple[Manifest, ...]:
    """Return the policies that shut a controller's pods for all else."""
    by_name = cluster.networks.cni == "cilium"
    anybody = [] if by_name else to_all(one.called)
    allowed = {"ingress": [*anybody, *_scraped(cluster, one.metrics), *one.others]}
    if one.asks is not None:
        allowed["egress"] = [*api_server(cluster), *one.asks]
    policy = network_policy(one.name, one.namespace, one.labels, **allowed)
    met = [*_entities(one.called, "host", "remote-node", "kube-apiserver"), *_entities(one.shown, "ingress")]
    named = {
        **({"ingress": met} if met else {}),
        **({"egress": [TO_API_SERVER]} if one.asks is not None else {}),
    }
    return (_named(policy["metadata"], one.labels, **named), policy) if by_name and named else (policy,)


def port_of(cluster: Cluster, component: str, ways: Sequence[tuple[str, ...]], ours: int) -> int:
    """Return the port that values of the user's give a program, at the first of these ways that has one, or ours."""
    values = cluster.settings(component).values
    return next((said for way in ways if isinstance(said := dig(values, *way), int)), ours)


def prometheus(cluster: Cluster) -> Manifest:
    """Select Prometheus' pods, for a network policy's rule."""
    return pods_of(monitored_from(cluster), SCRAPERS)


def to_all(ports: Sequence[int]) -> list[Manifest]:
    """Open ports to whoever reaches them, for a network policy's rules."""
    return [{"ports": [tcp(port) for port in ports]}] if ports else []


def meets_prometheus(cluster: Cluster, one: Controller) -> Manifest:
    """Let a controller's pods ask Prometheus, which lets in nobody else: by a policy beside its own. Who asks brings
    it.
    """
    allowed = {"from": [pods_of(one.namespace, one.labels)], "ports": [tcp(PROMETHEUS_PORT)]}
    return network_policy(f"{one.name}-asks", monitored_from(cluster), SCRAPERS, ingress=[allowed])


def _scraped(cluster: Cluster, ports: Sequence[int]) -> list[Manifest]:
    watched = ports and cluster.monitoring.prometheus
    return [{"from": [prometheus(cluster)], "ports": [tcp(port) for port in ports]}] if watched else []


def _entities(ports: Sequence[int], *names: str) -> list[Manifest]:
    """Let in whom Cilium knows by these names. Nodes have one where the API server is, and one as the pods' own."""
    listed = [{"port": str(port), "protocol": "TCP"} for port in ports]
    return [{"fromEntities": [*names], "toPorts": [{"ports": listed}]}] if ports else []


def _named(metadata: Manifest, labels: dict[str, str], **allowed: list[Manifest]) -> Manifest:
    """Return what only Cilium has names for. It comes a wave before what shuts the pods for all else: no call is lost
    between the two.
    """
    return {
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumNetworkPolicy",
        "metadata": {**metadata, "annotations": {SYNC_WAVE: "-1"}},
        "spec": {"endpointSelector": {"matchLabels": labels}, **allowed},
    }
