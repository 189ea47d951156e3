"""How people see the logs: a data source of Grafana's, and a dashboard that others link to."""

import json
from collections.abc import Iterator

from generator.components.common import monitored_from
from generator.components.component import Manifest
from generator.components.log_collector import PLATFORM
from generator.components.log_store.names import LABELS, NAMESPACE, URL, metadata
from generator.components.static import read_objects
from generator.model.cluster import Cluster


def views(cluster: Cluster) -> Iterator[Manifest]:
    """Yield what Grafana's sidecars take from their namespace, and the monitor of Loki's own metrics."""
    namespace = monitored_from(cluster)
    yield _for_grafana(namespace, "loki-data-source", "grafana_datasource", "loki.yaml", data_sources(cluster))
    (dashboard,) = read_objects("log_store/dashboard.yaml")
    yield _for_grafana(namespace, "logs", "grafana_dashboard", "logs.json", dashboard)
    yield monitor()


def data_sources(cluster: Cluster) -> Manifest:
    """Return the data source of the logs of all tenants. The header is how Loki is told whose logs are asked for: it is
    no secret, though Grafana keeps headers with its secrets.
    """
    tenants = "|".join([PLATFORM, *(team.name for team in cluster.teams)])
    return {
        "apiVersion": 1,
        "datasources": [
            {
                "name": "Loki",
                "uid": "loki",
                "type": "loki",
                "access": "proxy",
                "url": URL,
                "editable": False,
                "jsonData": {"httpHeaderName1": "X-Scope-OrgID", "maxLines": 1000},
                "secureJsonData": {"httpHeaderValue1": tenants},
            }
        ],
    }


def _for_grafana(namespace: str, name: str, label: str, file: str, content: Manifest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {label: "1"}},
        "data": {file: json.dumps(content, indent=2) + "\n"},
    }


def monitor() -> Manifest:
    """Return the ServiceMonitor of Loki's own metrics, of the one Service with its port for clients."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata("loki"),
        "spec": {
            "namespaceSelector": {"matchNames": [NAMESPACE]},
            "selector": {"matchLabels": LABELS},
            "endpoints": [{"port": "http", "interval": "30s"}],
        },
    }
