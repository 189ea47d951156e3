"""Copies of datasets at nodes: what is read in every epoch comes from the node's own disk."""

from collections.abc import Iterator

from generator.components.common import CACHE, IGNORE_HEALTH, OWN_LABELS
from generator.components.component import Component, Manifest, Namespace
from generator.components.dataset_cache import DEFINITION, NAMESPACE
from generator.components.datasets import (
    BOUND,
    CACHE_FOLDER,
    READ,
    cache_name,
    cached,
    claim,
    claim_name,
    in_ceph,
    modes,
    volume,
    volume_name,
)
from generator.components.parts import UNPRIVILEGED, network_policy, on_nodes, resources, tolerations
from generator.components.python_steps import IMAGE
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.storage import Dataset

SCRIPT = "fill.py"
READY = "/state/ready"
"""There while the copy is of the version that the dataset has."""
SECONDS = 60
"""Between two looks at a dataset's version."""


def install(cluster: Cluster) -> Component:
    """Fill a folder of each such node with each of these datasets, and give it to the dataset's teams to read. One
    volume is for all nodes: its path is the same on each, and leads to the node's own copy.
    """
    made = [item for dataset in cached(cluster) for item in _of(cluster, dataset)]
    stores = ("ceph-cluster",) if any(in_ceph(cluster)) else ()
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Copies of datasets on nodes' own disks",
        version="v1",
        # Folders of a node are none of a namespace that is less than privileged.
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        base=(network_policy(NAMESPACE, NAMESPACE, {}, egress=[]), program()),
        objects=tuple(made),
        needs=(*stores, *(("csi-nfs",) if any(one.share for one in cached(cluster)) else ())),
        ignore=(BOUND,),
    )


def program() -> Manifest:
    """Return what its pods run."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAMESPACE, "namespace": NAMESPACE},
        "data": {SCRIPT: read_text("dataset_cache/fill.py.txt")},
    }


def _mark() -> str:
    """Return what changes with the program, which its pods read when they start."""
    from hashlib import sha256  # noqa: PLC0415 - it loads OpenSSL, which most clusters need not wait for

    return sha256(read_text("dataset_cache/fill.py.txt").encode()).hexdigest()[:8]


def _of(cluster: Cluster, dataset: Dataset) -> Iterator[Manifest]:
    """Yield what fills the copies of a dataset, and the volumes by which its teams read them."""
    yield claim(dataset, NAMESPACE, READ, claim_name(dataset), volume_name(dataset, NAMESPACE))
    yield _daemon_set(cluster, dataset)
    for team in modes(cluster, dataset):
        yield _volume(dataset, team)


def _volume(dataset: Dataset, team: str) -> Manifest:
    """Return a team's way to the copies, for reading alone: kubelet joins `ro` to how it binds the folder (1.35:
    `local.go`). Before the first copy is whole there is no such folder, and pods wait for it.
    """
    affinity = on_nodes({CACHE: ["true"]})["requiredDuringSchedulingIgnoredDuringExecution"]
    where = {"local": {"path": f"{folder(dataset)}/current"}, "nodeAffinity": {"required": affinity}}
    return volume(dataset, cache_name(dataset, team), READ, (cache_name(dataset), team), ["ro"], **where)


def folder(dataset: Dataset) -> str:
    """Return where a node has its copies of a dataset."""
    return f"{CACHE_FOLDER}/{dataset.name}"


def _daemon_set(cluster: Cluster, dataset: Dataset) -> Manifest:
    """Return what fills, a pod on each node. No wave waits for it: it is ready while nothing is to be
    copied: once the copy of the version that the owner names is whole, or while there is none.
    """
    labels = {"app.kubernetes.io/name": NAMESPACE, "app.kubernetes.io/instance": dataset.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": dataset.name,
            "namespace": NAMESPACE,
            "labels": labels,
            "annotations": {IGNORE_HEALTH: "true"},
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
            "template": {
                "metadata": {"labels": labels, "annotations": {f"{OWN_LABELS}/settings": _mark()}},
                "spec": _pod(cluster, dataset),
            },
        },
    }


def _pod(cluster: Cluster, dataset: Dataset) -> Manifest:
    """Return a pod: root, whose copies nobody else may change, and which reads what its owner alone may read."""
    machines = cluster.cache_hosts
    disk = min(each.size.value for machine in machines for each in machine.disks_for("cache"))
    env = {"SIZE": dataset.size.value, "DISK": disk, "SECONDS": SECONDS, "READY": READY}
    security = {**UNPRIVILEGED, "capabilities": {"drop": ["ALL"], "add": ["DAC_READ_SEARCH"]}}
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "nodeSelector": {CACHE: "true"},
        "tolerations": tolerations(machines),
        "securityContext": {"runAsUser": 0, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 5,
        "containers": [
            {
                "name": "fill",
                "image": IMAGE,
                "command": ["python3", "-u", "-B", f"/scripts/{SCRIPT}"],
                "env": [{"name": name, "value": str(value)} for name, value in env.items()],
                "readinessProbe": {"exec": {"command": ["test", "-e", READY]}, "periodSeconds": 10},
                "resources": resources("100m", "128Mi", "2Gi"),
                "securityContext": security,
                "volumeMounts": [
                    {"name": "dataset", "mountPath": "/dataset", "readOnly": True},
                    {"name": "cache", "mountPath": "/cache"},
                    {"name": "scripts", "mountPath": "/scripts", "readOnly": True},
                    {"name": "state", "mountPath": "/state"},
                ],
            }
        ],
        "volumes": [
            {"name": "dataset", "persistentVolumeClaim": {"claimName": claim_name(dataset), "readOnly": True}},
            {"name": "cache", "hostPath": {"path": folder(dataset), "type": "DirectoryOrCreate"}},
            {"name": "scripts", "configMap": {"name": NAMESPACE}},
            {"name": "state", "emptyDir": {"sizeLimit": "1Mi"}},
        ],
    }
