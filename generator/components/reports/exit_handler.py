"""What makes an operation tell how it ended: a patch of its WorkflowTemplate."""

from typing import Any

from generator.components.component import Manifest
from generator.components.parts import UNPRIVILEGED, pod_security, resources
from generator.components.python_steps import IMAGE
from generator.components.reports.objects import LABELS
from generator.components.static import read_objects
from generator.model.monitoring import Operations

SCHEDULED = "-[0-9]{10}$"
"""How the names of runs end that a schedule began: with the time. Argo can compare no labels here, for it takes the
quotes within for the end of the text, and a condition that it cannot read would fail a run that went well.
"""
ALWAYS = ""
FAILED_OR_BY_PEOPLE = f"'{{{{workflow.status}}}}' != 'Succeeded' || '{{{{workflow.name}}}}' !~ '{SCHEDULED}'"
"""When somebody is told: a success is news to who waits for it, and nobody waits for a schedule."""


def operations(settings: Operations, template: Manifest) -> tuple[Manifest, ...]:
    """Return what gives a WorkflowTemplate its exit handler. One that has a handler already keeps it: both run at once,
    so that neither waits for the other, and the former's outcome counts as it did.
    """
    spec, name = template["spec"], template["metadata"]["name"]
    handler, message = read_objects("reports/templates.yaml")
    ((tell,),) = handler["steps"]
    condition = ALWAYS if settings.tell == "all" else FAILED_OR_BY_PEOPLE
    own = [{"name": spec["onExit"], "template": spec["onExit"]}] if "onExit" in spec else []
    steps = [[*own, {**tell, **({"when": condition} if condition else {})}]]
    return (
        {"op": "add", "path": "/spec/onExit", "value": handler["name"]},
        {"op": "add", "path": "/spec/templates/-", "value": {**handler, "steps": steps}},
        {"op": "add", "path": "/spec/templates/-", "value": pod(message, name)},
    )


def pod(message: Manifest, operation: str) -> Manifest:
    """Return the template of the pod that tells how a run of an operation ended."""
    container: dict[str, Any] = message["container"]
    whole = {
        **container,
        "image": IMAGE,
        "env": [*container["env"], {"name": "OPERATION", "value": operation}],
        "resources": resources("50m", "64Mi", "128Mi"),
        "securityContext": UNPRIVILEGED,
    }
    security = pod_security(8737, runAsGroup=8737, fsGroup=8737)
    # Its own label, so that no policy of the operation's pods is its, and this one's is none of theirs.
    return {**message, "metadata": {"labels": LABELS}, "securityContext": security, "container": whole}
