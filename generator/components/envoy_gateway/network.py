"""Whom Envoy Gateway and its Envoys may talk to. Only Calico's clusters have them, which knows nodes by address."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.envoy_gateway.layout import LABELS, NAMESPACE, PORTS, PROXIES, XDS
from generator.components.kueue import TEAM
from generator.components.parts import api_server, network_policy, tcp
from generator.model.cluster import Cluster

_NAMES = {"ports": [{"protocol": "UDP", "port": 53}, tcp(53)]}


def policies(cluster: Cluster) -> Iterator[Manifest]:
    """Yield them: all of the namespace is shut, Envoy Gateway tells Envoys, and these are reached by everybody and
    reach teams with hosts. Each such team lets them in itself.
    """
    teams = [team.name for team in cluster.teams if team.hosts]
    reached = {"namespaceSelector": {"matchExpressions": [{"key": TEAM, "operator": "In", "values": teams}]}}
    told = {"from": [{"podSelector": {"matchLabels": PROXIES}}], "ports": [tcp(XDS)]}
    asked = {"to": [{"podSelector": {"matchLabels": LABELS}}], "ports": [tcp(XDS)]}
    yield policy("default-deny", {})
    yield policy("envoy-gateway", LABELS, ingress=[told], egress=api_server(cluster))
    anybody = {"ports": [tcp(port) for port in PORTS]}
    yield policy("envoys", PROXIES, ingress=[anybody], egress=[asked, _NAMES, *([{"to": [reached]}] if teams else [])])


def policy(name: str, labels: dict[str, str], **allowed: list[Manifest]) -> Manifest:
    """Allow pods with these labels only this, in both directions."""
    return network_policy(name, NAMESPACE, labels, **{"egress": [], **allowed})
