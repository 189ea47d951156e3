"""What Grafana shows of GPUs, their fabric, storage, queues and operations: a dashboard for each part that is there.

A dashboard is a file beside this one: variables, and panels with their queries by the words of the legend. What Grafana
needs beyond that is the same for all.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from generator.components.argo_workflows import operated
from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.static import read_objects
from generator.model.cluster import Cluster

WIDTH = 24
SIZES = {"stat": (6, 4), "timeseries": (12, 8), "bargauge": (12, 8), "table": (24, 8)}
"""Width and height of a kind of panel on Grafana's grid."""
SOURCE: Manifest = {"type": "prometheus", "uid": "${datasource}"}
OF_POOL = f"label_{re.sub('[^A-Za-z0-9]', '_', POOL)}"
"""What kube-state-metrics calls the label of nodes with their pool, where it is told to tell it."""
NODES = {
    "pool": {"label": "Pool", "query": f"label_values(kube_node_labels, {OF_POOL})"},
    "node": {"label": "Node", "query": f'label_values(kube_node_labels{{{OF_POOL}=~"$pool"}}, node)'},
}
NOW = ("bargauge", "table")
"""Kinds of panels that show one value of each series."""


def shown(cluster: Cluster) -> Iterator[str]:
    """Yield the dashboards whose parts the cluster has."""
    parts = {
        "gpus": cluster.gpu_nodes,
        "rdma": cluster.fabric and any(machine.hardware.hcas for machine in cluster.machines),
        "ceph": cluster.storage.ceph,
        "minio": cluster.storage.objects,
        "kueue": cluster.teams,
        "volcano": cluster.teams,
        "argo-cd": True,
        "argo-workflows": operated(cluster),
        "backups": cluster.watched_backups or cluster.watched_drills,
        "volume-backups": any(not one.suspended for one in cluster.volume_backups),
    }
    yield from (name for name, there in parts.items() if there)


def boards(cluster: Cluster, namespace: str) -> Iterator[Manifest]:
    """Yield the ConfigMaps that the chart's sidecar takes by their label."""
    for name in shown(cluster):
        (said,) = read_objects(f"kube_prometheus_stack/boards/{name}.yaml")
        yield taken(f"dashboard-{name}", namespace, f"{name}.json", model(name, said))


def taken(name: str, namespace: str, file: str, content: Manifest) -> Manifest:
    """Return the ConfigMap of a dashboard: the chart's sidecar takes those of its namespace with this label."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"grafana_dashboard": "1"}},
        "data": {file: json.dumps(content, indent=2) + "\n"},
    }


def model(name: str, said: Manifest) -> Manifest:
    """Return Grafana's own model of a dashboard. It leads to the logs of the same time and node, where they are kept in
    the cluster; elsewhere no dashboard has that tag.
    """
    logs = {"type": "dashboards", "tags": ["logs"], "title": "Logs", "keepTime": True, "includeVars": True}
    return {
        "title": said["title"],
        "uid": f"gen-{name}",
        "tags": ["gen"],
        "schemaVersion": 39,
        "editable": False,
        "timezone": "",
        "refresh": "1m",
        "time": {"from": said.get("from", "now-6h"), "to": "now"},
        "links": [{**logs, "asDropdown": False}],
        "templating": {"list": [source(), *map(variable, said.get("variables", ()))]},
        "panels": placed(said["panels"]),
    }


def source() -> Manifest:
    """Return the variable of the data source."""
    current = {"text": "Prometheus", "value": "prometheus"}
    known = {"name": "datasource", "label": "Data source", "type": "datasource"}
    return {**known, "query": "prometheus", "current": current}


def variable(said: Manifest) -> Manifest:
    """Return a variable: what Prometheus has of a label. Pools and nodes are Kubernetes' own."""
    chosen = {"refresh": 2, "multi": True, "includeAll": True, "current": {"text": "All", "value": "$__all"}}
    return {"type": "query", "datasource": SOURCE, **NODES.get(said["name"], {}), **said, **chosen}


def placed(said: list[Manifest]) -> list[Manifest]:
    """Return the panels, beside each other as far as they fit."""
    made: list[Manifest] = []
    x = y = tall = 0
    for number, one in enumerate(said, 1):
        width, height = SIZES[one.get("kind", "timeseries")]
        if x + width > WIDTH:
            x, y, tall = 0, y + tall, 0
        made.append(panel(number, one, {"x": x, "y": y, "w": width, "h": height}))
        x, tall = x + width, max(tall, height)
    return made


def panel(number: int, said: Manifest, place: Manifest) -> Manifest:
    """Return a panel with its queries."""
    kind = said.get("kind", "timeseries")
    options: Manifest = (
        {} if kind in ("timeseries", "table") else {"options": {"reduceOptions": {"calcs": ["lastNotNull"]}}}
    )
    return {
        "id": number,
        "title": said["title"],
        "type": kind,
        **({"description": said["description"]} if "description" in said else {}),
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": said.get("unit", "short")}, "overrides": []},
        **options,
        "targets": [
            target(chr(ord("A") + place), legend, query, kind)
            for place, (legend, query) in enumerate(said["queries"].items())
        ],
    }


def target(letter: str, legend: str, query: str, kind: str) -> Manifest:
    """Return a query."""
    now: dict[str, Any] = {"instant": True, **({"format": "table"} if kind == "table" else {})} if kind in NOW else {}
    return {"refId": letter, "expr": query, "legendFormat": legend, **now}
