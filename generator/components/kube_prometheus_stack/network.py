"""Who reaches Prometheus, Alertmanager, Grafana and what else the stack runs, and whom they ask.

Labels and ports are those of the pods that chart 88.5.3 makes. What leaves Prometheus is open, for it asks in every
namespace, on nodes and beyond; so is what leaves Alertmanager: where it sends to may stand in a Secret, where
webhooks' addresses are. Who asks Prometheus, and whom Grafana asks, brings a policy for that.
"""

from collections.abc import Iterator

from generator.components.ceph_cluster.names import READER as LOGS
from generator.components.cilium import serves_ingress
from generator.components.closed import DNS, Controller, closed, port_of, to_all
from generator.components.common import PROMETHEUS_PORT, SCRAPERS, exposed, monitored_from
from generator.components.component import Manifest
from generator.components.kube_prometheus_stack.watched import GRAFANA
from generator.components.parts import in_namespace, tcp
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping
from generator.model.monitoring import Prometheus

STACK = "kube-prometheus-stack"
ALERTMANAGER = {"app.kubernetes.io/name": "alertmanager"}
OPERATOR = {"app.kubernetes.io/component": "prometheus-operator"}
STATE_METRICS = {"app.kubernetes.io/name": "kube-state-metrics"}
ALERTS, RELOADER = 9093, 8080
"""Ports of Alertmanager, and of what has it and Prometheus read their files anew."""
GOSSIP = (tcp(9094), {"protocol": "UDP", "port": 9094})
"""Where several pods of Alertmanager, or of Grafana, find each other."""
CLUSTER_IP = "ClusterIP"


def policies(cluster: Cluster, settings: Prometheus) -> Iterator[Manifest]:
    """Yield what shuts each part."""
    namespace = monitored_from(cluster)
    alerting = cluster.monitoring.zabbix is None
    parts = [
        prometheus(cluster, namespace),
        grafana(cluster, settings, namespace),
        operator(cluster, namespace),
        state_metrics(cluster, namespace),
        *([alertmanager(cluster, namespace)] if alerting else []),
    ]
    for one in parts:
        yield from closed(cluster, one)


def prometheus(cluster: Cluster, namespace: str) -> Controller:
    """Let in Prometheus itself and Grafana."""
    return Controller(
        name="prometheus",
        namespace=namespace,
        labels=SCRAPERS,
        metrics=(PROMETHEUS_PORT, RELOADER),
        others=(_peers(GRAFANA, tcp(PROMETHEUS_PORT)), *_shown(cluster, "prometheus")),
        asks=None,
    )


def alertmanager(cluster: Cluster, namespace: str) -> Controller:
    """Let in Prometheus with its alerts, Grafana, which has it as a data source, and others of its kind."""
    return Controller(
        name="alertmanager",
        namespace=namespace,
        labels=ALERTMANAGER,
        metrics=(ALERTS, RELOADER),
        others=(_peers(GRAFANA, tcp(ALERTS)), _peers(ALERTMANAGER, *GOSSIP), *_shown(cluster, "alertmanager")),
        asks=None,
    )


def grafana(cluster: Cluster, settings: Prometheus, namespace: str) -> Controller:
    """Let in people by the site's Ingress: Cilium's own by its name, any other from wherever its pods are. Out it goes
    to what it shows; with values of the user's to wherever these have it go, as where people log in.
    """
    port = port_of(cluster, STACK, [("grafana", "service", "targetPort")], 3000)
    shown, by_name = (port,) if exposed(cluster, settings.host) else (), serves_ingress(cluster)
    anybody = [] if by_name else to_all(shown)
    return Controller(
        name="grafana",
        namespace=namespace,
        labels=GRAFANA,
        metrics=(port,),
        shown=shown if by_name else (),
        others=(_peers(GRAFANA, *GOSSIP), *anybody, *_shown(cluster, "grafana")),
        asks=None if "grafana" in cluster.settings(STACK).values else tuple(_asked(cluster)),
    )


def _asked(cluster: Cluster) -> Iterator[Manifest]:
    """Yield whom Grafana asks: its data sources, and others of its kind. Loki's own policy says at which port."""
    yield DNS
    yield _peers(GRAFANA, *GOSSIP, way="to")
    yield _peers(SCRAPERS, tcp(PROMETHEUS_PORT), way="to")
    yield _peers(ALERTMANAGER, tcp(ALERTS), way="to")
    if cluster.monitoring.logs and not cluster.monitoring.logs.to:
        yield {"to": [in_namespace(LOGS)]}


def operator(cluster: Cluster, namespace: str) -> Controller:
    """Let API servers have its webhooks judge rules; Prometheus reads its metrics at the same port."""
    port = port_of(cluster, STACK, [("prometheusOperator", "tls", "internalPort")], 10250)
    return Controller(name="prometheus-operator", namespace=namespace, labels=OPERATOR, called=(port,), metrics=(port,))


def state_metrics(cluster: Cluster, namespace: str) -> Controller:
    """Let in Prometheus alone: it tells of every object of the cluster."""
    port = port_of(cluster, STACK, [("kube-state-metrics", "service", "port")], 8080)
    return Controller(name="kube-state-metrics", namespace=namespace, labels=STATE_METRICS, metrics=(port, 8081))


def _shown(cluster: Cluster, part: str) -> list[Manifest]:
    """Let everybody in where values of the user's show a part to others, by an Ingress, a route, or a Service that is
    not for pods alone: by these it may have any port, and any proxy before it.
    """
    values = mapping(cluster.settings(STACK).values.get(part))
    ways = [mapping(values.get("ingress")), *map(mapping, mapping(values.get("route")).values())]
    others = (dig(values, "service", "type") or CLUSTER_IP) != CLUSTER_IP
    return [{}] if others or any(way.get("enabled") is True for way in ways) else []


def _peers(labels: dict[str, str], *ports: Manifest, way: str = "from") -> Manifest:
    """Return a rule for pods of the stack's own namespace."""
    return {way: [{"podSelector": {"matchLabels": labels}}], "ports": [*ports]}
