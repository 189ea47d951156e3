"""What steps of operations have in common that are written in Python."""

from generator.components.component import Manifest

IMAGE = "docker.io/library/python:3.12.12-slim-bookworm"
"""Python's standard library. Not Alpine's: the burn-in runs `nvidia-smi`, which the node puts there and needs glibc."""


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
