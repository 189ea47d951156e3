"""The WorkflowTemplate, the scripts that it runs, and when it begins by itself."""

from generator.components.component import Manifest
from generator.components.health_report.names import FACTS, LABELS, NAME, NAMESPACE, SCRIPTS
from generator.components.kube_prometheus_stack import prometheus_url
from generator.components.node_operations.templates import TOLD
from generator.components.parts import UNPRIVILEGED, pod_security, resources
from generator.components.python_steps import IMAGE, retries
from generator.components.reports.exit_handler import pod
from generator.components.static import read_objects, read_text
from generator.model.cluster import Cluster

OWN = ("capacity.py", "happened.py", "health_report.py", "installed.py", "reading.py", "saying.py")
FILES = {
    "api.py": "node_operations/api.py.txt",
    "report.py": "reports/report.py.txt",
    **{name: f"health_report/{name}.txt" for name in OWN},
}
MONDAYS = "0 7 * * 1"
"""When the report begins, in the site's time: it is read before the week does."""


def scripts() -> Manifest:
    """Return the ConfigMap with the scripts."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": SCRIPTS, "namespace": NAMESPACE, "labels": LABELS},
        "data": {name: read_text(path) for name, path in FILES.items()},
    }


def workflow_template(cluster: Cluster) -> Manifest:
    """Return the WorkflowTemplate: a step that reads, and one that tells where a messenger is named."""
    made, telling = read_objects("health_report/template.yaml")
    order, look = made["spec"]["templates"]
    told = bool(cluster.monitoring.operations)
    steps = [*order["steps"], *([[telling]] if told else [])]
    spec = {
        **made["spec"],
        "podMetadata": {"labels": LABELS},
        "securityContext": pod_security(8737, runAsGroup=8737),
        "volumes": [
            {"name": "scripts", "configMap": {"name": SCRIPTS}},
            {"name": "facts", "configMap": {"name": FACTS}},
            {"name": "told", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        ],
        "templates": [{**order, "steps": steps}, _look(cluster, look), *([_tell()] if told else [])],
    }
    return {**made, "spec": spec}


def _look(cluster: Cluster, own: Manifest) -> Manifest:
    """Return the step that reads the cluster, and reaches nothing outside."""
    url = prometheus_url(cluster) if cluster.monitoring.prometheus else ""
    return {
        **own,
        "retryStrategy": {**retries(), "limit": "3"},
        "container": {
            "image": IMAGE,
            "command": ["python3", "-u", "-B", "/scripts/health_report.py"],
            "args": [own["name"]],
            "env": [{"name": "PROMETHEUS", "value": url}, {"name": "TOLD", "value": TOLD}],
            "resources": resources("100m", "128Mi", "512Mi"),
            "securityContext": UNPRIVILEGED,
            "volumeMounts": [
                {"name": "scripts", "mountPath": "/scripts", "readOnly": True},
                {"name": "facts", "mountPath": "/facts", "readOnly": True},
                {"name": "told", "mountPath": TOLD},
            ],
        },
    }


def _tell() -> Manifest:
    """Return the step that tells: an exit handler's pod with a text of its own. It holds the webhook, and no rights on
    the cluster.
    """
    _, message = read_objects("reports/templates.yaml")
    whole = pod(message, NAME)
    container = {**whole["container"], "env": [{"name": "TEXT", "value": "{{inputs.parameters.message}}"}]}
    return {**whole, "name": "tell", "inputs": {"parameters": [{"name": "message"}]}, "container": container}


def schedule(cluster: Cluster) -> Manifest:
    """Return the CronWorkflow. A run that could not start in time is made up for within six hours."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "CronWorkflow",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": LABELS},
        "spec": {
            "schedules": [MONDAYS],
            "timezone": cluster.site.timezone,
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 21600,
            "successfulJobsHistoryLimit": 2,
            "failedJobsHistoryLimit": 4,
            "workflowMetadata": {"labels": LABELS},
            "workflowSpec": {"workflowTemplateRef": {"name": NAME}},
        },
    }
