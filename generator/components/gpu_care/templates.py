"""The WorkflowTemplates, what their steps run, and when they begin by themselves."""

import json
from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.gpu_care.names import DRAIN, NAME, SCRIPTS, labels
from generator.components.gpu_care.xids import table
from generator.components.node_operations.names import NAMESPACE
from generator.components.node_operations.templates import DAY, told_parameters
from generator.components.parts import pod_security
from generator.components.python_steps import TOLD, TOLD_MOUNT, TOLD_VOLUME, container, retries
from generator.components.static import read_objects, read_text
from generator.components.workflows.scheduled import given
from generator.model.gpu_care import GpuCare
from generator.model.gpus import VENDOR

FILES = ("exporter.py", "gpu_care.py", "gpu_cleared.py", "gpu_drain.py", "gpu_nodes.py", "judging.py", "marking.py")
DRAIN_VARIABLES = [
    {"name": "DRAIN_ONLY", "value": VENDOR},
    {"name": "RUN", "value": "{{workflow.name}}"},
    {"name": "TOLD", "value": TOLD},
]
SHARED = ("api.py", "draining.py")
"""What operations on nodes have as well."""


def scripts() -> Manifest:
    """Return the ConfigMap with the scripts, and what each Xid means."""
    own = {name: read_text(f"gpu_care/{name}.txt") for name in FILES}
    shared = {name: read_text(f"node_operations/{name}.txt") for name in SHARED}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": SCRIPTS, "namespace": NAMESPACE, "labels": labels(NAME)},
        "data": {**own, **shared, "xids.json": json.dumps(table(), indent=1, sort_keys=True)},
    }


def templates() -> Iterator[Manifest]:
    """Yield the templates whole: each of their steps without content is a pod that runs a script with its name."""
    for made in read_objects("gpu_care/gpu-care.yaml"):
        spec, name = made["spec"], made["metadata"]["name"]
        whole = {
            **spec,
            # A day of looks: what was found is on the nodes.
            "ttlStrategy": {"secondsAfterSuccess": DAY, "secondsAfterFailure": 7 * DAY},
            "podGC": {"strategy": "OnWorkflowSuccess"},
            "podMetadata": {"labels": labels(name)},
            "securityContext": pod_security(8737, runAsGroup=8737),
            "volumes": [
                {"name": "scripts", "configMap": {"name": SCRIPTS}},
                TOLD_VOLUME,
            ],
            "templates": [one if "steps" in one else _step(one, spec, name) for one in spec["templates"]],
        }
        yield {**made, "spec": whole}


def _step(own: Manifest, spec: Manifest, name: str) -> Manifest:
    """Return the pod of a step."""
    parameters = spec.get("arguments", {}).get("parameters", ())
    node = "{{inputs.parameters.node}}" if "inputs" in own else ""
    of_drain = [{"name": "NODE", "value": node}, *DRAIN_VARIABLES]
    env = [*told_parameters(parameters), *(of_drain if name == DRAIN else ())]
    return {
        **own,
        "retryStrategy": retries(),
        "container": container(f"{name.replace('-', '_')}.py", own["name"], env, TOLD_MOUNT),
    }


def schedules(care: GpuCare) -> Iterator[Manifest]:
    """Yield when looks begin, and, where jobs are to leave sick nodes, when these do."""
    yield _schedule(NAME, "*/5 * * * *", given({"percent-per-day": str(care.percent_per_day)}))
    if care.drain:
        yield _schedule(DRAIN, "2-59/15 * * * *", {})


def _schedule(name: str, when: str, arguments: Manifest) -> Manifest:
    """Return a CronWorkflow. While a run is not at its end the next is left out."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "CronWorkflow",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels(name)},
        "spec": {
            "schedules": [when],
            "timezone": "Etc/UTC",
            "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 3,
            "workflowMetadata": {"labels": labels(name)},
            "workflowSpec": {"workflowTemplateRef": {"name": name}, **arguments},
        },
    }
