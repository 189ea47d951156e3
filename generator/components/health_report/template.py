"""The WorkflowTemplate, the scripts that it runs, and when it begins by itself."""

from generator.components.component import Manifest
from generator.components.health_report import FACTS, LABELS, NAME, NAMESPACE, SCRIPTS
from generator.components.kube_prometheus_stack import prometheus_url
from generator.components.parts import pod_security
from generator.components.python_steps import TOLD, TOLD_MOUNT, TOLD_VOLUME, container, retries
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
            TOLD_VOLUME,
        ],
        "templates": [{**order, "steps": steps}, _look(cluster, look), *([_tell()] if told else [])],
    }
    return {**made, "spec": spec}


def _look(cluster: Cluster, own: Manifest) -> Manifest:
    """Return the step that reads the cluster, and reaches nothing outside."""
    url = prometheus_url(cluster) if cluster.monitoring.prometheus else ""
    env = [{"name": "PROMETHEUS", "value": url}, {"name": "TOLD", "value": TOLD}]
    facts = {"name": "facts", "mountPath": "/facts", "readOnly": True}
    return {
        **own,
        "retryStrategy": {**retries(), "limit": "3"},
        "container": container(
            "health_report.py", own["name"], env, facts, TOLD_MOUNT, needs=("100m", "128Mi", "512Mi")
        ),
    }


def _tell() -> Manifest:
    """Return the step that tells: an exit handler's pod with a text of its own. It holds the webhook, and no rights on
    the cluster.
    """
    _, message = read_objects("reports/templates.yaml")
    whole = pod(message, NAME)
    telling = {**whole["container"], "env": [{"name": "TEXT", "value": "{{inputs.parameters.message}}"}]}
    return {**whole, "name": "tell", "inputs": {"parameters": [{"name": "message"}]}, "container": telling}


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
