"""What the objects of `gpu-care` are known by, and the marks that it sets on nodes."""

from generator.components import gpu_operator
from generator.components.common import OWN_LABELS

NAME = "gpu-care"
DRAIN = "gpu-drain"
CLEARED = "gpu-cleared"
SCRIPTS = "gpu-care-scripts"
SICK = gpu_operator.SICK
"""The annotation that says what is wrong with a node of that taint: JSON, `at` and `what`."""
SUSPECT = f"{OWN_LABELS}/gpu-suspect"
"""An annotation of the same form: what is only reported."""
LOOKED = "argo_workflows_gpu_care_last_success_seconds"
"""When the newest good look at all GPUs began, in seconds since 1970."""
LATE = 3600
"""Seconds without a good look, of which there is one every five minutes: nobody would see a GPU fall sick."""


def labels(name: str) -> dict[str, str]:
    """Return the labels of an object."""
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": NAME}
