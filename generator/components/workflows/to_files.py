"""Backups of buckets in folders of an NFS export: what copies them, tries the copies, and brings them back.

What runs is Python's standard library alone, and the export is mounted by the node. The pods that restore and try are
those of other targets, by their files, but for what they are told and what they run.
"""

from collections.abc import Iterable, Iterator

from generator.components.component import Manifest
from generator.components.parts import UNPRIVILEGED
from generator.components.python_steps import IMAGE
from generator.components.static import read_objects, read_text
from generator.components.workflows import backup, drill, exports, restore
from generator.components.workflows.runs import Ends
from generator.components.workflows.scheduled import arguments, cron_workflow, drill_workflow, given
from generator.components.workflows.turns import turn, turns_in
from generator.model.backup import Backup
from generator.model.cluster import Cluster

FILES = ("backup.py", "drill.py", "objects.py", "restore.py", "store.py", "words.py")
SCRIPTS = "file-backup-scripts"
BACKUP, DRILL = "backup-to-files", "drill-of-files"
READ_ONCE_IN = 28 * 86400
"""Within how many seconds each file of a copy is read."""
MOUNTS = (
    {"name": "scripts", "mountPath": "/scripts", "readOnly": True},
    {"name": "work", "mountPath": "/work"},
    {"name": "ca", "mountPath": "/ca", "readOnly": True},
)


def objects(cluster: Cluster, ends: tuple[Ends, ...], namespace: str) -> Iterator[Manifest]:
    """Yield what runs the backups that go to folders, tries them, and brings them back; nothing where none does."""
    if not ends:
        return
    yield scripts(namespace)
    yield of_namespace(backup_template(), namespace)
    yield of_namespace(drill_template(), namespace)
    for one in ends:
        yield schedule(cluster, one, namespace)
        yield tried(one, namespace)
        yield of_namespace(brought_back(one), namespace)


def of_namespace(made: Manifest, namespace: str) -> Manifest:
    """Return a template of a namespace, labelled as backups are."""
    metadata = {"labels": backup.LABELS, **made["metadata"], "namespace": namespace}
    return {**made, "metadata": metadata}


def scripts(namespace: str) -> Manifest:
    """Return the ConfigMap with what the pods run."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": SCRIPTS, "namespace": namespace, "labels": backup.LABELS},
        "data": {name: read_text(f"workflows/files/{name}.txt") for name in FILES},
    }


def backup_template() -> Manifest:
    """Return the WorkflowTemplate of the backup. Its metric is that of other backups."""
    (made,) = read_objects("workflows/files/backup.yaml")
    spec = {**made["spec"], "metrics": backup.workflow_template()["spec"]["metrics"]}
    return {**made, "spec": whole(spec, "backup")}


def drill_template() -> Manifest:
    """Return the WorkflowTemplate of the drill."""
    (made,) = read_objects("workflows/drill.yaml")
    names = ("name", "claim", "folder", "sample", "sample-bytes")
    asked = [*({"name": name} for name in names), {"name": "at", "value": ""}, {"name": "seed", "value": ""}]
    spec = {**made["spec"], "arguments": {"parameters": asked}, **not_while_kept("drill-{{workflow.parameters.name}}")}
    return {**made, "metadata": {**made["metadata"], "name": DRILL}, "spec": whole(spec, "drill")}


def brought_back(ends: Ends) -> Manifest:
    """Return the WorkflowTemplate that brings a backup back."""
    item = ends.item
    told = {
        "into": None,
        "name": item.name,
        "claim": exports.claim_name(ends.to.place),
        "folder": item.target.bucket,
        "live-url": ends.url,
        "live-bucket": item.source.bucket,
        "live-secret": ends.owns,
        "restore-secret": ends.makes,
        "restored-names": ends.names,
        "room": str(ends.room),
        "at": "",
        "switch": "none",
        "free": "",
    }
    (made,) = read_objects("workflows/restore.yaml")
    spec = {**made["spec"], **arguments(made, told)}
    spec |= not_while_kept("restore-{{workflow.parameters.live-bucket}}")
    metadata = {**made["metadata"], "name": restore.operation(item.name)}
    return {**made, "metadata": metadata, "spec": whole(spec, "restore")}


def not_while_kept(own: str) -> Manifest:
    """Return the locks of who reads: its own, and that of the step that removes what is old."""
    return {"synchronization": {"mutexes": [{"name": own}, {"name": "files-{{workflow.parameters.name}}"}]}}


def whole(spec: Manifest, operation: str) -> Manifest:
    """Return what a template says with what all its pods have."""
    (shared,) = read_objects("workflows/files/step.yaml")
    order, *steps = spec["templates"]
    env = [*shared["all"], *shared[operation]]
    target = {"name": "target", "mountPath": "/target", **({"readOnly": True} if operation == "restore" else {})}
    mounts: list[Manifest] = [*MOUNTS, target]
    retried = shared["retryStrategy"]
    templates = [pod(one, operation, env, mounts) | {"retryStrategy": retried} for one in steps]
    return {**spec, **shared["spec"], "templates": [order, *templates]}


def pod(step: Manifest, operation: str, env: list[Manifest], mounts: list[Manifest]) -> Manifest:
    """Return a step with its container; those of a restore after the first know what that chose."""
    if operation != "restore" or restore.chooses(step):
        return {**step, "container": container(step, operation, env, mounts)}
    made = container(step, operation, [*env, *restore.told(step)], mounts)
    return {**step, "inputs": {"parameters": [{"name": restore.WHEN}]}, "container": made}


def container(step: Manifest, operation: str, env: list[Manifest], mounts: list[Manifest]) -> Manifest:
    """Return a step's container: what its file says of this step alone, but for keys of a target that has none here."""
    own = step["container"]
    other = [one for one in own.get("env", ()) if not one["name"].startswith("BACKUP_")]
    known = {one["name"] for one in env}
    return {
        "image": IMAGE,
        "command": ["python3", f"/scripts/{operation}.py"],
        "args": own["args"],
        "env": [*env, *(one for one in other if one["name"] not in known and one["name"] != "READY_SECONDS")],
        "resources": own["resources"],
        "securityContext": UNPRIVILEGED,
        "volumeMounts": mounts,
    }


def schedule(cluster: Cluster, ends: Ends, namespace: str) -> Manifest:
    """Return the CronWorkflow of a backup."""
    item = ends.item
    arguments = {
        "name": item.name,
        "cluster": cluster.name,
        "source-url": ends.url,
        "source-bucket": item.source.bucket,
        "source-secret": ends.reads,
        "place": ends.to.place,
        "claim": exports.claim_name(ends.to.place),
        "folder": item.target.bucket,
        "keep-days": str(item.keep_days),
        "rounds": str(rounds(item)),
        "turn": turn(ends.to.place),
        "turns-in": turns_in(cluster),
        **({} if ends.etags else {"etags": "other"}),
    }
    spec = {"workflowTemplateRef": {"name": BACKUP}, **given(arguments)}
    return cron_workflow(item, namespace, backup.LABELS, spec)


def rounds(item: Backup) -> int:
    """Return after how many runs each file was read once: as many as there are in four weeks, 256 at most."""
    return max(1, min(256, READ_ONCE_IN * 2 // item.too_old))


def tried(ends: Ends, namespace: str) -> Manifest:
    """Return the CronWorkflow that tries a backup."""
    item = ends.item
    arguments = {
        "name": item.name,
        "claim": exports.claim_name(ends.to.place),
        "folder": item.target.bucket,
        "sample": str(item.drill.objects),
        "sample-bytes": str(item.drill.bytes.value),
    }
    spec = {"workflowTemplateRef": {"name": DRILL}, **given(arguments)}
    return drill_workflow(item, namespace, drill.LABELS, spec)


def going(ends: Iterable[Ends]) -> tuple[Ends, ...]:
    """Return those that go to folders."""
    return tuple(one for one in ends if one.to.filed)
