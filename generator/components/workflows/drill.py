"""The drill of a backup: a part of it brought back into a pod, compared with what was backed up, recorded."""

from functools import cache

from generator.components.component import Manifest
from generator.components.minio.settings import CLIENT_IMAGE
from generator.components.static import read_objects
from generator.components.workflows import backup
from generator.components.workflows.steps import reaching_minio, whole

LABELS = {"app.kubernetes.io/name": "drill", "app.kubernetes.io/part-of": "workflows"}
NEWEST = "argo_workflows_drill_last_success_seconds"
"""A metric of `drill.yaml`, with Argo Workflows' prefix: when the newest good drill of the label `backup` began."""
GOOD = "argo_workflows_drill_good"
"""Another one: 1 where the last drill of the label `backup` was good, 0 where it failed."""


@cache
def workflow_template() -> Manifest:
    """Return the WorkflowTemplate: the order of the steps, then each step. Its pods are as those of backups."""
    (made,), shared = read_objects("workflows/drill.yaml"), backup.workflow_template()["spec"]
    order, *steps = made["spec"]["templates"]
    spec = {
        **made["spec"],
        "securityContext": shared["securityContext"],
        "volumes": shared["volumes"],
        "templates": [order, *(whole(step, "workflows/drill-step.yaml", CLIENT_IMAGE) for step in steps)],
    }
    return reaching_minio({**made, "spec": spec}, "backup-url")
