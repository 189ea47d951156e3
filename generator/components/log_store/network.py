"""Who may talk to Loki. It asks nobody who they are: whoever reaches it writes and reads the logs of any tenant."""

from generator.components.closed import prometheus
from generator.components.common import monitored_from
from generator.components.component import Manifest
from generator.components.kube_prometheus_stack.watched import GRAFANA
from generator.components.log_collector import LABELS as COLLECTORS
from generator.components.log_collector import NAMESPACE as COLLECTOR
from generator.components.log_store.bucket import Place
from generator.components.log_store.names import GOSSIP, GRPC, LABELS, MEMBERS, PORT, metadata
from generator.components.parts import pods_of, tcp
from generator.model.cluster import Cluster


def services() -> list[Manifest]:
    """Return how others reach Loki, and how its members find each other before any is ready."""
    http = {"name": "http", "port": PORT, "targetPort": "http", "protocol": "TCP"}
    members = (("grpc", GRPC), ("gossip", GOSSIP))
    inside = [{"name": name, "port": port, "targetPort": name, "protocol": "TCP"} for name, port in members]
    return [
        service("loki", {"type": "ClusterIP", "ports": [http]}),
        service(MEMBERS, {"clusterIP": "None", "publishNotReadyAddresses": True, "ports": inside}),
    ]


def service(name: str, spec: Manifest) -> Manifest:
    """Return a Service of Loki's pods."""
    spec = {"selector": LABELS, **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(name), "spec": spec}


def policy(cluster: Cluster, place: Place) -> Manifest:
    """Let in the collectors, Grafana, and Prometheus for Loki's metrics; out to each other, DNS and the bucket."""
    clients = [pods_of(COLLECTOR, COLLECTORS)]
    if cluster.monitoring.prometheus:
        clients += [pods_of(monitored_from(cluster), GRAFANA), prometheus(cluster)]
    mine, members = {"podSelector": {"matchLabels": LABELS}}, [tcp(GRPC), tcp(GOSSIP)]
    dns = [{"protocol": "UDP", "port": 53}, tcp(53)]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata("loki"),
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": clients, "ports": [tcp(PORT)]}, {"from": [mine], "ports": members}],
            "egress": [{"ports": dns}, {"to": [mine], "ports": members}, place.opening],
        },
    }
