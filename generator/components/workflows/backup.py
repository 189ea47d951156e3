"""The backup of a bucket: copy, prove, compare, record, keep."""

from functools import cache

from generator.components.component import Manifest
from generator.components.minio.settings import CLIENT_IMAGE
from generator.components.rook_ceph import NAMESPACE
from generator.components.static import read_objects, read_text
from generator.components.workflows.steps import OF_BACKUP, reaching_minio, whole

LABELS = {"app.kubernetes.io/name": "backup", "app.kubernetes.io/part-of": "workflows"}
NEWEST = "argo_workflows_backup_last_success_seconds"
"""The metric of `backup.yaml`, with Argo Workflows' prefix: when the newest good run of the label `backup` began."""
COMPARER = "docker.io/rclone/rclone:1.75.0"
"""The image of the program that compares, which is another one than that which copies."""
OTHERS = {
    "compare": ("workflows/compare-step.yaml", COMPARER),
    "keep": ("workflows/keep-step.yaml", CLIENT_IMAGE),
}
"""The steps that are not as the others: what they have instead, and their image."""
SCRIPTS = (
    "backup.sh",
    "buckets.sh",
    "client.sh",
    "compare.sh",
    "drill.sh",
    "guard.sh",
    "keep.sh",
    "ready.sh",
    "records.sh",
    "restore.sh",
)
"""The scripts of backup, restore and drill, and what they share."""


@cache
def workflow_template() -> Manifest:
    """Return the WorkflowTemplate: the order of the steps, then each step."""
    (made,) = read_objects("workflows/backup.yaml")
    order, *steps = made["spec"]["templates"]
    templates = [order, *(whole(step, *OTHERS.get(step["name"], (OF_BACKUP, CLIENT_IMAGE))) for step in steps)]
    return reaching_minio({**made, "spec": {**made["spec"], "templates": templates}}, "target-url")


def scripts() -> Manifest:
    """Return the ConfigMap with the scripts of the backup, the restore and the drill, and what they read."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "backup-scripts", "namespace": NAMESPACE, "labels": LABELS},
        "data": {name: read_text(f"workflows/{name}") for name in SCRIPTS},
    }
