"""How operations end, told to monitoring: metrics of each WorkflowTemplate that gen writes."""

from generator.components.component import Component, Manifest
from generator.components.reports.templates import changed
from generator.components.static import read_objects

SUCCEEDED = "argo_workflows_operation_last_success_seconds"
"""A metric of `metrics.yaml`, with Argo Workflows' prefix: when the newest good run of the label `operation` ended."""
FAILED = "argo_workflows_operation_last_failure_seconds"
"""Another one: when the newest run ended that failed or was stopped."""
TOLD_FOR = 24 * 60 * 60
"""How long a failure is told, in seconds, where no run has gone well since."""
SCHEDULED = (
    "backup", "backup-to-files", "drill", "drill-of-files", "etcd-backup", "etcd-backup-to-files", "gpu-care",
    "volume-drill", "zabbix-backup", "zabbix-drill",
)  # fmt: skip
"""Operations whose alerts tell, in Prometheus and in Zabbix, that they did not work for too long."""


def measured(component: Component) -> Component:
    """Return a component whose operations tell monitoring how they ended."""
    return changed(component, _told)


def _told(one: Manifest) -> Manifest:
    """Return a WorkflowTemplate with the metrics beside its own ones."""
    labels = [{"key": "operation", "value": one["metadata"]["name"]}]
    own = one["spec"].get("metrics", {}).get("prometheus", [])
    metrics = [*own, *({**metric, "labels": labels} for metric in read_objects("reports/metrics.yaml"))]
    return {**one, "spec": {**one["spec"], "metrics": {"prometheus": metrics}}}
