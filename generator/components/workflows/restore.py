"""The way back of a bucket from its backup: looked at, copied into a new bucket, proven, switched where asked."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.static import read_objects
from generator.components.workflows import backup
from generator.components.workflows.scheduled import arguments
from generator.components.workflows.steps import whole
from generator.components.workflows.targets import WAY

WHEN = "when"
"""What the first step tells the others: when the backup had ended that is brought back."""


def deadline() -> int:
    """Return how long a run may take, in seconds."""
    (made,) = read_objects("workflows/restore.yaml")
    return int(made["spec"]["activeDeadlineSeconds"])


def operation(name: str) -> str:
    """Return the name of the WorkflowTemplate that brings a backup back."""
    return f"restore-{name}"


def workflow_template(name: str, image: str, given: dict[str, str]) -> Manifest:
    """Return the WorkflowTemplate of a backup, of which `given` says where both ends and their keys are."""
    (made,), shared = read_objects("workflows/restore.yaml"), backup.workflow_template()["spec"]
    order, *steps = made["spec"]["templates"]
    asked = {"at": "", "switch": "none", "sample": "32", "free": ""}
    told: dict[str, str | None] = {"into": None, **dict.fromkeys(WAY, ""), **given, **asked}
    spec = {
        **made["spec"],
        **arguments(made, told),
        "securityContext": shared["securityContext"],
        "volumes": shared["volumes"],
        "templates": [order, *(_whole(step, image) for step in steps)],
    }
    return {**made, "metadata": {**made["metadata"], "name": operation(name)}, "spec": spec}


def _whole(step: Manifest, image: str) -> Manifest:
    inputs = {} if chooses(step) else {"inputs": {"parameters": [{"name": WHEN}]}}
    return {**whole(step, "workflows/restore-step.yaml", image, *told(step)), **inputs}


def chooses(step: Manifest) -> bool:
    """Tell whether a step is the one that tells the others what to bring back."""
    return any(one["name"] == WHEN for one in step.get("outputs", {}).get("parameters", ()))


def told(step: Manifest) -> Iterator[Manifest]:
    """Yield what the other steps know of it."""
    if not chooses(step):
        yield {"name": "WHEN", "value": f"{{{{inputs.parameters.{WHEN}}}}}"}
