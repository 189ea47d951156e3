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
