"""Ways back of volumes as WorkflowTemplates: `gen restore` does the same, by the same objects."""

import json
from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.parts import pod_security
from generator.components.python_steps import container, retries
from generator.components.static import read_objects, read_text
from generator.components.volsync import able
from generator.components.volsync.names import NAMESPACE, RESTORE
from generator.components.volsync.restoring import claim, comparison, destination
from generator.components.volsync.sources import volume_kind
from generator.components.workflows.restore import operation
from generator.components.workflows.scheduled import arguments
from generator.model.backup import VolumeBackup
from generator.model.cluster import Cluster

LABELS = {"app.kubernetes.io/name": RESTORE, "app.kubernetes.io/part-of": "volsync"}
SCRIPTS = f"{RESTORE}-scripts"
INTO, AT, UID = "@INTO@", "@AT@", "@UID@"
"""What a run puts in: the new claim's name, the time that is gone back to, the new claim's uid."""
ENVIRONMENT = {
    "INTO": "{{workflow.parameters.into}}",
    "AT": "{{workflow.parameters.at}}",
    "SINCE": "{{workflow.creationTimestamp.s}}",
}
STEPS = ("fill", "compare")


def objects(cluster: Cluster) -> Iterator[Manifest]:
    """Yield a template for each backup, what it makes, and the scripts that all of them run."""
    found = able(cluster)
    if found:
        data = {"restore.py": "volsync/restore.py.txt", "api.py": "node_operations/api.py.txt"}
        yield _config_map(SCRIPTS, {name: read_text(path) for name, path in data.items()})
    for one in found:
        yield _config_map(_plan_name(one), {"plan.json": json.dumps(plan(cluster, one), indent=1)})
        yield workflow_template(one)


def _config_map(name: str, data: dict[str, str]) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": LABELS}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _plan_name(backup: VolumeBackup) -> str:
    return f"{RESTORE}.{backup.name}"


def plan(cluster: Cluster, backup: VolumeBackup) -> Manifest:
    """Return what a run makes in the team's namespace, but for what only the run knows."""
    ceph = cluster.storage.ceph
    shared = ceph and volume_kind(ceph, backup.source.storage_class) == "cephfs"
    held = {"metadata": {"name": INTO, "uid": UID}}
    return {
        "team": backup.source.team,
        "live": backup.source.claim,
        "claim": claim(backup, INTO, str(backup.size), ["ReadWriteMany" if shared else "ReadWriteOnce"]),
        "destination": destination(cluster, backup, INTO, AT),
        "comparison": comparison(cluster, backup, held, AT),
    }


def workflow_template(backup: VolumeBackup) -> Manifest:
    """Return the WorkflowTemplate of a backup."""
    (made,) = read_objects("volsync/restore.yaml")
    (order,) = made["spec"]["templates"]
    spec = {
        **made["spec"],
        **arguments(made, {"name": backup.name, "into": "", "at": ""}),
        "securityContext": pod_security(8737, runAsGroup=8737),
        "volumes": [
            {"name": "scripts", "configMap": {"name": SCRIPTS}},
            {"name": "plan", "configMap": {"name": _plan_name(backup)}},
        ],
        "templates": [order, *map(_step, STEPS)],
    }
    return {**made, "metadata": {**made["metadata"], "name": operation(backup.name)}, "spec": spec}


def _step(name: str) -> Manifest:
    env = [{"name": key, "value": value} for key, value in ENVIRONMENT.items()]
    return {
        "name": name,
        "retryStrategy": retries(),
        "container": container("restore.py", name, env, {"name": "plan", "mountPath": "/plan", "readOnly": True}),
    }
