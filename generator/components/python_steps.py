"""What steps of operations have in common that are written in Python."""

from generator.components.component import Manifest
from generator.components.parts import UNPRIVILEGED, resources

IMAGE = "docker.io/library/python:3.12.12-slim-bookworm"
"""Python's standard library. Not Alpine's: the burn-in runs `nvidia-smi`, which the node puts there and needs glibc."""
TOLD = "/told"
"""Where a step leaves what the workflow asks it for."""
TOLD_VOLUME: Manifest = {"name": "told", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
"""In memory, for every step has one of its own."""
TOLD_MOUNT: Manifest = {"name": "told", "mountPath": TOLD}
EXIT_MINUTES = 60
"""How long an exit handler may take, all its tries together: a workflow's own deadline does not count for it, and the
run holds its locks until it has ended.
"""
EXIT_AWAY_SECONDS = 600
"""For how long a step at the end waits for an API server that is away: it has one try more, and not twelve."""


def retries() -> Manifest:
    """Return how often a step is tried again whose pod was lost, or that no API server answered for long: one step
    may go over all nodes of a cluster, and take days.
    """
    return {
        "limit": "12",
        "retryPolicy": "Always",
        # 2 is the script's verdict: trying again would only repeat it.
        "expression": "asInt(lastRetry.exitCode) != 2",
        "backoff": {"duration": "15s", "factor": "4", "cap": "5m"},
    }


def at_exit(spec: Manifest) -> Manifest:
    """Return the spec of a workflow whose exit handler comes to an end: the step that `onExit` names, tried twice, each
    time for a quarter of `EXIT_MINUTES` until its pod has a node, and for as long after that.

    A pod's `timeout` becomes its deadline as well, which counts from when it has a node (v4.0.2: `createWorkflowPod`).
    Argo's own retries would not do: they bound no pod that finds no node, and there are none of them once a run was
    stopped or is past its deadline (v4.0.2: `checkTemplateTimeout`, `processNodeRetries`).
    """
    name = spec["onExit"]
    (step,) = (one for one in spec["templates"] if one["name"] == name)
    others = [one for one in spec["templates"] if one is not step]
    away = {"name": "AWAY", "value": str(EXIT_AWAY_SECONDS)}
    once = {
        **{key: value for key, value in step.items() if key != "retryStrategy"},
        "timeout": f"{EXIT_MINUTES // 4}m",
        "container": {**step["container"], "env": [*step["container"]["env"], away]},
    }
    first = {"name": name, "template": name, "continueOn": {"failed": True, "error": True}}
    again = {"name": f"{name}-again", "template": name, "when": f"'{{{{steps.{name}.status}}}}' != 'Succeeded'"}
    order = {"name": "exit", "steps": [[first], [again]]}
    return {**spec, "onExit": order["name"], "templates": [*others, order, once]}


def container(
    script: str,
    step: str,
    env: list[Manifest],
    *mounts: Manifest,
    needs: tuple[str, str, str] = ("50m", "64Mi", "256Mi"),
) -> Manifest:
    """Return the container of a step, which is an argument of the script."""
    return {
        "image": IMAGE,
        "command": ["python3", "-u", "-B", f"/scripts/{script}"],
        "args": [step],
        "env": env,
        "resources": resources(*needs),
        "securityContext": UNPRIVILEGED,
        "volumeMounts": [{"name": "scripts", "mountPath": "/scripts", "readOnly": True}, *mounts],
    }
