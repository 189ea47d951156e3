"""What Prometheus alerts of: nodes whose logs nobody reads, and lines that are lost."""

from generator.components.alerting import LOGS, alert, prometheus_rule
from generator.components.component import Manifest
from generator.components.log_collector import LABELS, NAMESPACE

WELL = 'max by (node) (kube_node_status_condition{condition="Ready",status="true"}) == 1'
# Metrics of Alloy 1.18.1: internal/component/common/loki/client/metrics.go.
UP = f'up{{job="{NAMESPACE}/alloy"}}'
RULES = (
    alert(
        "LogsNotCollected",
        "warning",
        f"Nobody reads the logs of {{{{ $labels.node }}}}: {LOGS}",
        f"{WELL} unless on (node) ({UP} == 1)",
        "15m",
    ),
    alert(
        "LogsNotSent",
        "warning",
        f"No line of {{{{ $labels.node }}}} was taken for half an hour, and its journal alone has some: {LOGS}",
        "sum by (node) (rate(loki_write_sent_entries_total[15m])) == 0",
        "15m",
    ),
    alert(
        "LogLinesLost",
        "warning",
        f"Lines of {{{{ $labels.tenant }}}} on {{{{ $labels.node }}}} are lost ({{{{ $labels.reason }}}}): {LOGS}",
        "sum by (node, tenant, reason) (increase(loki_write_dropped_entries_total[15m])) > 0",
        "15m",
    ),
)


def rule_group() -> Manifest:
    """Return the rules, the same on every cluster."""
    return prometheus_rule({"name": "alloy", "namespace": NAMESPACE, "labels": LABELS}, "log-collector", RULES)
