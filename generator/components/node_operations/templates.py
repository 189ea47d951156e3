"""The WorkflowTemplates of all operations, and the scripts that their steps run."""

from collections.abc import Iterable
from functools import cache

from generator.components.component import Manifest
from generator.components.indented_json import indented_json
from generator.components.node_operations.names import (
    DRIVE_REPLACEMENT,
    DRIVER_UPGRADE,
    EXPANSION,
    MAINTENANCE,
    MINIO_EXPANSION,
    NAMESPACE,
    OSD_REPLACEMENT,
    REMOVAL,
    REPLACEMENT,
    SCRIPTS,
    UPGRADE,
    labels,
)
from generator.components.parts import pod_security
from generator.components.python_steps import TOLD, TOLD_MOUNT, TOLD_VOLUME, at_exit, container, retries
from generator.components.static import read_objects, read_text
from generator.model.gpus import VENDOR

FILES = (
    "admitted.py", "api.py", "asking.py", "burn_in.py", "burn_in_nccl.py", "ceph.py", "daemons.py", "draining.py",
    "drive_replacement.py", "driver_upgrade.py", "drivers.py", "drives.py", "expansion.py", "fencing.py", "jobs.py",
    "likeness.py", "maintaining.py", "maintenance.py", "members.py", "minio_expansion.py", "naming.py",
    "offering.py", "osd_replacement.py", "osds.py", "placing.py", "planning.py", "reaching.py", "records.py",
    "removal.py", "replacement.py", "rounds.py", "standing.py", "stores.py", "together.py", "trying.py",
    "upgrade.py", "upgrading.py", "versions.py", "walks.py",
)  # fmt: skip
OF_ACCEPTANCE = ("nccl_output.py.txt", "processes.py.txt", "torch.sh", "torch_reduce.py.txt")
"""What burn-ins have of acceptance: its all-reduce, and who reads what that says."""
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
DAY = 24 * 60 * 60


def scripts() -> Manifest:
    """Return the ConfigMap with the scripts, and the Jobs that they begin."""
    files = {name: read_text(f"node_operations/{name}.txt") for name in FILES}
    files |= {name.removesuffix(".txt"): read_text(f"acceptance/{name}") for name in OF_ACCEPTANCE}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": SCRIPTS, "namespace": NAMESPACE, "labels": labels(NAMESPACE)},
        "data": {
            **files,
            "burn-in.json": indented_json(burn_in_job(), 1),
            "burn-in-nccl.json": indented_json(burn_in_nccl_job(), 1),
            "ask-ceph.json": indented_json(ask_ceph_job(), 1),
            "ask-minio.json": indented_json(ask_minio_job(), 1),
        },
    }


def burn_in_job() -> Manifest:
    """Return the Job, as yet without its node, its devices and its image, which is that of the step that makes it."""
    (made,) = read_objects("node_operations/burn-in-job.yaml")
    return made


def burn_in_nccl_job() -> Manifest:
    """Return the Job that tries GPUs together, as yet without its nodes, their devices and the image of acceptance."""
    (made,) = read_objects("node_operations/burn-in-nccl-job.yaml")
    return made


def ask_ceph_job() -> Manifest:
    """Return the Job that runs one command of Ceph, as yet without the command and its image: Rook's operator's."""
    (made,) = read_objects("node_operations/ask-ceph-job.yaml")
    template = made["spec"]["template"]
    (container,) = template["spec"]["containers"]
    (judge,) = container["env"]
    asking = {**container, "env": [{**judge, "value": read_text("node_operations/room.py.txt")}]}
    pod = {**template["spec"], "containers": [asking]}
    return {**made, "spec": {**made["spec"], "template": {**template, "spec": pod}}}


def ask_minio_job() -> Manifest:
    """Return the Job that asks MinIO, as yet without the question and what its pod has of MinIO's setup."""
    (made,) = read_objects("node_operations/ask-minio-job.yaml")
    (container,) = made["spec"]["template"]["spec"]["containers"]
    command = ["sh", "-c", read_text("node_operations/ask-minio.sh"), "ask"]
    pod = {"containers": [{**container, "command": command}]}
    template = {**made["spec"]["template"], "spec": pod}
    return {**made, "spec": {**made["spec"], "template": template}}


@cache
def expansion() -> Manifest:
    """Return the template that takes a node into the cluster."""
    return _template("expansion.yaml", EXPANSION, "expansion.py", other_nodes())


@cache
def removal() -> Manifest:
    """Return the template that empties a node."""
    return _template("removal.yaml", REMOVAL, "removal.py", other_nodes())


@cache
def replacement() -> Manifest:
    """Return the template that changes a node's machine."""
    return _template("replacement.yaml", REPLACEMENT, "replacement.py", other_nodes())


@cache
def osd_replacement() -> Manifest:
    """Return the template that changes a disk of Ceph."""
    return _template("osd-replacement.yaml", OSD_REPLACEMENT, "osd_replacement.py", other_nodes())


@cache
def drive_replacement() -> Manifest:
    """Return the template that changes a drive of MinIO."""
    return _template("drive-replacement.yaml", DRIVE_REPLACEMENT, "drive_replacement.py", other_nodes())


@cache
def minio_expansion() -> Manifest:
    """Return the template that brings MinIO to the server pools of the file."""
    return _template("minio-expansion.yaml", MINIO_EXPANSION, "minio_expansion.py", {})


@cache
def upgrade() -> Manifest:
    """Return the template that upgrades Kubernetes."""
    return _template("upgrade.yaml", UPGRADE, "upgrade.py", control_plane())


@cache
def maintenance() -> Manifest:
    """Return the template that has machines patched, rebooted, brought new files or certificates."""
    return _template("maintenance.yaml", MAINTENANCE, "maintenance.py", control_plane())


@cache
def driver_upgrade() -> Manifest:
    """Return the template that brings the newest driver of GPUs to nodes. Only pods that hold GPUs leave for it."""
    return _template("driver-upgrade.yaml", DRIVER_UPGRADE, "driver_upgrade.py", control_plane(), DRAIN_ONLY=VENDOR)


def other_nodes() -> Manifest:
    """Return that a step runs on any node but the one that it is about."""
    other = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["{{workflow.parameters.node}}"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [other]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def control_plane() -> Manifest:
    """Return that a step rather runs on the control plane, which is upgraded first: it stays where it is, also while
    its own node is upgraded.
    """
    serves = {"matchExpressions": [{"key": CONTROL_PLANE, "operator": "Exists"}]}
    terms = [{"weight": 100, "preference": serves}]
    return {
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": [{"key": CONTROL_PLANE, "operator": "Exists", "effect": "NoSchedule"}],
    }


def _template(file: str, name: str, script: str, place: Manifest, **known: str) -> Manifest:
    """Return a template whole: each of its steps without content is a pod that runs the script with the step's name.
    All are told what is `known`.
    """
    (made,) = read_objects(f"node_operations/{file}")
    spec = made["spec"]
    given = told_parameters(spec["arguments"]["parameters"])
    told = [*given, *({"name": key, "value": value} for key, value in known.items())]
    templates = [one if "steps" in one else place | _step(one, script, told) for one in spec["templates"]]
    whole = {
        **spec,
        # A month: somebody may ask what was done to a node.
        "ttlStrategy": {"secondsAfterCompletion": 28 * DAY},
        "podGC": {"strategy": "OnWorkflowSuccess", "deleteDelayDuration": "24h"},
        "podMetadata": {"labels": labels(name)},
        "securityContext": pod_security(8737, runAsGroup=8737),
        "volumes": [
            {"name": "scripts", "configMap": {"name": SCRIPTS}},
            # What a step tells the workflow; in memory, for every step has one of its own.
            TOLD_VOLUME,
        ],
        "templates": templates,
    }
    return {**made, "spec": at_exit(whole)}


def _step(own: Manifest, script: str, told: list[Manifest]) -> Manifest:
    """Return the pod of a step, with variables that it is told."""
    return {
        **own,
        "retryStrategy": retries(),
        "container": container(script, own["name"], [*told, *_known(own["name"])], TOLD_MOUNT),
    }


def told_parameters(parameters: Iterable[Manifest]) -> list[Manifest]:
    """Return the parameters of a workflow as variables of a step, beside those that are one of some words these words:
    Argo holds no run against them whose template says them.
    """
    told: list[Manifest] = []
    for one in parameters:
        variable = one["name"].upper().replace("-", "_")
        told.append({"name": variable, "value": f"{{{{workflow.parameters.{one['name']}}}}}"})
        if "enum" in one:
            told.append({"name": f"{variable}_ONE_OF", "value": " ".join(one["enum"])})
    return told


def _known(step: str) -> list[Manifest]:
    """Return what Argo tells of the run; how it ended, only where it has."""
    own: Manifest = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    run = [{"name": "RUN", "value": "{{workflow.name}}"}, {"name": "RUN_UID", "value": "{{workflow.uid}}"}]
    known: list[Manifest] = [*run, {"name": "TOLD", "value": TOLD}, own]
    return [*known, {"name": "STATUS", "value": "{{workflow.status}}"}] if step == "report" else known
