"""What Prometheus alerts of: nodes whose logs nobody reads, and lines that are lost."""

from typing import Any

from generator.components.component import Manifest
from generator.components.log_collector.names import LABELS, NAMESPACE

# Metrics of Alloy 1.18.1: internal/component/common/loki/client/metrics.go.
UP = f'up{{job="{NAMESPACE}/alloy"}}'
RULES: list[dict[str, Any]] = [
    {
        "alert": "LogsNotCollected",
        "expr": f"kube_node_info unless on (node) ({UP} == 1)",
        "for": "15m",
        "labels": {"severity": "warning"},
        "annotations": {"summary": "Nobody reads the logs of {{ $labels.node }}"},
    },
    {
        "alert": "LogsNotSent",
        "expr": "sum by (node) (rate(loki_write_sent_entries_total[15m])) == 0",
        "for": "15m",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": "No line of {{ $labels.node }} was taken for half an hour: its journal alone has some"
        },
    },
    {
        "alert": "LogLinesLost",
        "expr": "sum by (node, tenant, reason) (increase(loki_write_dropped_entries_total[15m])) > 0",
        "for": "15m",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": "Lines of {{ $labels.tenant }} on {{ $labels.node }} are lost: {{ $labels.reason }}"
        },
    },
]


def rule_group() -> Manifest:
    """Return the rules, the same on every cluster."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "alloy", "namespace": NAMESPACE, "labels": LABELS},
        "spec": {"groups": [{"name": "log-collector", "rules": RULES}]},
    }
