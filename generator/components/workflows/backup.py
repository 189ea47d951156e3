"""The backup of a Ceph bucket to MinIO: copy, prove, record."""

from functools import cache

from generator.components.component import Manifest
from generator.components.minio.versions import VERSIONS as MINIO
from generator.components.rook_ceph import NAMESPACE
from generator.components.static import read_objects, read_text

LABELS = {"app.kubernetes.io/name": "backup", "app.kubernetes.io/part-of": "workflows"}
NEWEST = "argo_workflows_backup_last_success_seconds"
"""The metric of `backup.yaml`, with Argo Workflows' prefix: when the newest good run of the label `backup` began."""
CLIENT_IMAGE = MINIO.known[0].images["client"]
TARGET_URL = "https://minio.minio.svc:9000"
"""Where MinIO answers: the default of `backup.yaml`."""


@cache
def workflow_template() -> Manifest:
    """Return the WorkflowTemplate: the order of the steps, then each step."""
    (made,) = read_objects("workflows/backup.yaml")
    order, *steps = made["spec"]["templates"]
    return {**made, "spec": {**made["spec"], "templates": [order, *map(_whole, steps)]}}


def _whole(step: Manifest) -> Manifest:
    (common,) = read_objects("workflows/backup-step.yaml")
    own, shared = step["container"], common["container"]
    container = {
        "image": CLIENT_IMAGE,
        "command": shared["command"],
        "args": own["args"],
        "env": [*shared["env"], *own.get("env", [])],
        "resources": own["resources"],
        "securityContext": shared["securityContext"],
        "volumeMounts": shared["volumeMounts"],
    }
    return {"name": step["name"], "retryStrategy": common["retryStrategy"], **step, "container": container}


SCRIPTS = ("backup.sh", "buckets.sh", "client.sh", "restore.sh")
"""The scripts of backup and restore, and what they share."""


def scripts() -> Manifest:
    """Return the ConfigMap with the scripts of the backup and of the restore, and what both read."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "backup-scripts", "namespace": NAMESPACE, "labels": LABELS},
        "data": {name: read_text(f"workflows/{name}") for name in SCRIPTS},
    }
