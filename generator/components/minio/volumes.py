"""MinIO's drives as volumes: local, one for each drive, and never deleted."""

from collections.abc import Iterator

from generator.components.component import Manifest, protect
from generator.components.minio.layout import LABELS, Layout, drives_of
from generator.model.nodes import Machine
from generator.model.storage import Objects

__all__ = ["STORAGE_CLASS", "storage_class", "volumes"]

STORAGE_CLASS = "minio-local"


def storage_class() -> Manifest:
    """Return a class apart from the scratch one: that one wipes what it gets back."""
    return protect(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": STORAGE_CLASS, "labels": LABELS},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
            "reclaimPolicy": "Retain",
        }
    )


def volumes(objects: Objects, layout: Layout) -> Iterator[Manifest]:
    """Yield a volume for each drive. Which pod gets which node is left to the scheduler: MinIO knows its drives by
    what is written on them, and a node that replaces another needs no place in a list.
    """
    for machine in layout.machines:
        for number, disk in enumerate(drives_of(machine)[: layout.drives]):
            yield volume(machine, number, str(disk.size), objects.host_dir)


def volume(machine: Machine, number: int, size: str, host_dir: str) -> Manifest:
    """Return drive `number` of a node, mounted at `<host_dir>/drive-<number>`."""
    hostname = {"key": "kubernetes.io/hostname", "operator": "In", "values": [machine.name]}
    return protect(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"minio-{machine.name}-{number}", "labels": LABELS},
            "spec": {
                "capacity": {"storage": size},
                "accessModes": ["ReadWriteOnce"],
                "volumeMode": "Filesystem",
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": STORAGE_CLASS,
                "local": {"path": f"{host_dir}/drive-{number}"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [hostname]}]}},
            },
        }
    )
