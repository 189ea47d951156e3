"""The WorkflowTemplate, and the scripts that its steps run."""

from functools import cache

from generator.components.component import Manifest
from generator.components.mlperf.names import BENCHMARKS, NAMESPACE, SCRIPTS, labels
from generator.components.node_operations.templates import told_parameters
from generator.components.parts import pod_security
from generator.components.python_steps import TOLD, TOLD_MOUNT, TOLD_VOLUME, container
from generator.components.static import read_objects, read_text

FILES = {
    "api.py": "node_operations/api.py.txt",
    "mlperf.py": "mlperf/mlperf.py.txt",
    "summary.py": "mlperf/summary.py.txt",
}


def scripts() -> Manifest:
    """Return the ConfigMap with the scripts of the steps."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": SCRIPTS, "namespace": NAMESPACE, "labels": labels()},
        "data": {name: read_text(path) for name, path in FILES.items()},
    }


@cache
def workflow_template() -> Manifest:
    """Return the WorkflowTemplate: the order of the steps, then each step."""
    (made,) = read_objects("mlperf/template.yaml")
    order, *steps = made["spec"]["templates"]
    parameters = told_parameters(made["spec"]["arguments"]["parameters"])
    spec = {
        **made["spec"],
        "securityContext": pod_security(8737, runAsGroup=8737),
        "volumes": [
            {"name": "scripts", "configMap": {"name": SCRIPTS}},
            {"name": "benchmarks", "configMap": {"name": BENCHMARKS}},
            TOLD_VOLUME,
        ],
        "templates": [order, *(_step(one, parameters) for one in steps)],
    }
    return {**made, "spec": spec}


def _step(own: Manifest, parameters: list[Manifest]) -> Manifest:
    asked = own.get("inputs", {}).get("parameters", ())
    given = {
        "RUN": "{{workflow.name}}",
        "TOLD": TOLD,
        **{one["name"].upper(): f"{{{{inputs.parameters.{one['name']}}}}}" for one in asked},
    }
    env = [*parameters, *({"name": name, "value": value} for name, value in given.items())]
    benchmarks = {"name": "benchmarks", "mountPath": "/benchmarks", "readOnly": True}
    return {
        **own,
        "retryStrategy": {
            "limit": "5",
            "retryPolicy": "Always",
            # 2 is the script's verdict: trying again would only repeat it.
            "expression": "asInt(lastRetry.exitCode) != 2",
            "backoff": {"duration": "15s", "factor": "4"},
        },
        "container": container("mlperf.py", own["name"], env, benchmarks, TOLD_MOUNT),
    }
