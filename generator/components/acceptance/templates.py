"""The WorkflowTemplate, what its steps run, and what the jobs run that they start."""

from functools import cache

from generator.components import mpi_operator
from generator.components.acceptance.names import JOBS, NAMESPACE, PROGRAMS, SCRIPTS, labels
from generator.components.component import Manifest
from generator.components.node_operations.templates import DAY, told_parameters
from generator.components.parts import pod_security
from generator.components.python_steps import at_exit, container, retries
from generator.components.static import read_objects, read_text

FILES = (
    "acceptance.py",
    "burn_output.py",
    "failover.py",
    "fio_output.py",
    "judging.py",
    "nccl_output.py",
    "objects_output.py",
    "perftest_output.py",
    "running.py",
    "training_output.py",
)
IN_PODS = (
    "all_reduce.sh",
    "disks.conf",
    "disks.sh",
    "gpu_burn.py",
    "inference.py",
    "object_stores.py",
    "pairs.sh",
    "processes.py",
    "synthetic.py",
    "torch.sh",
    "torch_reduce.py",
    "training.py",
    "training.sh",
)


def scripts() -> Manifest:
    """Return the ConfigMap with the scripts of the steps. They ask the API server as operations on nodes do."""
    files = {name: read_text(f"acceptance/{name}.txt") for name in FILES}
    return _config_map(NAMESPACE, SCRIPTS, {"api.py": read_text("node_operations/api.py.txt"), **files})


def programs() -> Manifest:
    """Return the ConfigMap with what the jobs' pods run."""
    files = {name: read_text(f"acceptance/{name}{'.txt' if name.endswith('.py') else ''}") for name in IN_PODS}
    return _config_map(JOBS, PROGRAMS, {**mpi_operator.programs(), **files})


def _config_map(namespace: str, name: str, data: dict[str, str]) -> Manifest:
    metadata = {"name": name, "namespace": namespace, "labels": labels()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@cache
def acceptance() -> Manifest:
    """Return the template whole: each of its steps without content is a pod that runs the script with its name."""
    (made,) = read_objects("acceptance/acceptance.yaml")
    spec = made["spec"]
    given = told_parameters(spec["arguments"]["parameters"])
    whole = {
        **spec,
        # A year: what it measured when the hardware was new is asked for long after. Records stay longer.
        "ttlStrategy": {"secondsAfterCompletion": 365 * DAY},
        "podGC": {"strategy": "OnWorkflowSuccess", "deleteDelayDuration": "24h"},
        "podMetadata": {"labels": labels()},
        "securityContext": pod_security(8737, runAsGroup=8737),
        "volumes": [{"name": "scripts", "configMap": {"name": SCRIPTS}}],
        "templates": [one if "steps" in one else _step(one, given) for one in spec["templates"]],
    }
    return {**made, "spec": at_exit(whole)}


def _step(own: Manifest, given: list[Manifest]) -> Manifest:
    """Return the pod of a step, which is told all parameters."""
    known = [{"name": "RUN", "value": "{{workflow.name}}"}]
    status = [{"name": "STATUS", "value": "{{workflow.status}}"}] if own["name"] == "report" else []
    return {
        **own,
        "retryStrategy": retries(),
        "container": container("acceptance.py", own["name"], [*given, *known, *status]),
    }
