"""Tier 1: local NVMe of nodes as volumes that vanish with their claim."""

from collections.abc import Iterator

from generator.components.closed import Controller, closed
from generator.components.common import SCRATCH, prometheus_crds, release_of
from generator.components.component import Component, Manifest, Namespace, Release
from generator.components.parts import UNPRIVILEGED, pod_security, tolerations
from generator.components.scratch import DEFINITION, NAMESPACE, NO_PROVISIONER, VERSIONS, hosts
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from generator.model.storage import Scratch

CLEANUP = "local-volume-node-cleanup"
LABELS = {"app.kubernetes.io/name": CLEANUP}


def install(cluster: Cluster) -> Component:
    """Install the static provisioner on the nodes with scratch disks. It makes one volume of each mount point below
    `hostDir` and wipes it when its claim goes; nodes without such a disk never run it.
    """
    settings = cluster.storage.scratch
    machines = hosts(cluster)
    assert settings
    version = VERSIONS.of(cluster)
    chart = version.chart("local-static-provisioner")
    return Component(
        name="scratch",
        tier=DEFINITION.tier,
        summary="Scratch volumes on local NVMe, wiped when their claim goes",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        objects=(
            storage_class(settings),
            *node_cleanup(settings, version.images["node-cleanup"]),
            *shut(cluster),
        ),
        releases=(Release(chart, chart.name, NAMESPACE, values(cluster, settings, machines)),),
        needs=prometheus_crds(cluster),
        kinds=DEFINITION.chart_kinds,
    )


def shut(cluster: Cluster) -> Iterator[Manifest]:
    """Shut its pods, which speak with API servers alone; Prometheus reads what the provisioners tell."""
    _, namespace = release_of(cluster, "scratch", NAMESPACE)
    labels = {"app.kubernetes.io/name": "local-static-provisioner"}
    yield from closed(cluster, Controller(name="provisioner", namespace=namespace, labels=labels, metrics=(8080,)))
    yield from closed(cluster, Controller(name=CLEANUP, namespace=NAMESPACE, labels=LABELS))


def storage_class(settings: Scratch) -> Manifest:
    """Return the class of the volumes that are there. It binds late: the pod chooses the node."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": settings.storage_class},
        "provisioner": NO_PROVISIONER,
        "volumeBindingMode": "WaitForFirstConsumer",
        # Deleted with its claim: nothing here is kept.
        "reclaimPolicy": "Delete",
    }


def values(cluster: Cluster, settings: Scratch, machines: tuple[Machine, ...]) -> Manifest:
    """Return the chart's values. Volumes go with their Node object: a node that comes back under the same name
    offers its disks anew.
    """
    return {
        "classes": [
            {
                "name": settings.storage_class,
                "hostDir": settings.host_dir,
                "volumeMode": "Filesystem",
                "accessMode": "ReadWriteOnce",
                "fsType": settings.filesystem,
                # Used for a block device linked below hostDir; upstream's `shred` would wear the flash out.
                "blockCleanerCommand": ["/scripts/blkdiscard.sh"],
            }
        ],
        "setPVOwnerRef": True,
        "nodeSelector": {SCRATCH: "true"},
        "tolerations": tolerations(machines),
        "priorityClassName": "system-node-critical",
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "serviceMonitor": {"enabled": cluster.monitoring.prometheus is not None, "interval": "60s"},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "metrics"}},
    }


def node_cleanup(settings: Scratch, image: str) -> tuple[Manifest, ...]:
    """Delete the claims whose node is gone: their volumes will never be there again, and the pods that wait for them
    could not start anywhere. Only for this class: no other volume is looked at.
    """
    return (
        *read_objects("scratch/node-cleanup-rights.yaml"),
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": CLEANUP, "namespace": NAMESPACE, "labels": LABELS},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": LABELS},
                "template": {"metadata": {"labels": LABELS}, "spec": _cleanup_pod(settings, image)},
            },
        },
    )


def _cleanup_pod(settings: Scratch, image: str) -> Manifest:
    return {
        "serviceAccountName": CLEANUP,
        "securityContext": pod_security(65532),
        "containers": [
            {
                "name": CLEANUP,
                "image": image,
                # Five minutes: a Node object that is made again at once keeps its claims.
                "args": [f"--storageclass-names={settings.storage_class}", "--pvc-deletion-delay=5m"],
                "ports": [{"name": "metrics", "containerPort": 8080}],
                "livenessProbe": {"tcpSocket": {"port": "metrics"}, "periodSeconds": 60},
                "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
                "securityContext": UNPRIVILEGED,
            }
        ],
    }
