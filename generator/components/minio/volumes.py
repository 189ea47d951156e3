"""The volumes of MinIO's drives."""

from collections.abc import Iterator

from generator.components.component import Manifest, protect
from generator.components.minio.layout import LABELS, NAMESPACE, STORAGE_CLASS, ServerPool, claim_name
from generator.components.static import read_objects
from generator.model.nodes import Machine
from generator.model.storage import Objects


def storage_class() -> Manifest:
    """Return the class of the drives' volumes."""
    (made,) = read_objects("minio/storage-class.yaml")
    return protect(made)


def volumes(objects: Objects, pool: ServerPool) -> Iterator[Manifest]:
    """Yield a volume for each drive, kept for one drive of one server. A drive knows its place among the others, and
    MinIO refuses those that stand elsewhere: claims that are made again must find their own.
    """
    for ordinal, machine in enumerate(pool.machines):
        for number, disk in enumerate(machine.drives_for("objects")[: pool.drives]):
            claim = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": NAMESPACE,
                "name": f"{claim_name(number)}-{pool.name}-{ordinal}",
            }
            yield volume(machine, number, str(disk.size), objects.drive_folder(number), claim)


def volume(machine: Machine, number: int, size: str, folder: str, claim: dict[str, str]) -> Manifest:
    """Return drive `number` of a node, mounted at this folder, for one claim: never deleted."""
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
                "claimRef": claim,
                "local": {"path": folder},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [hostname]}]}},
            },
        }
    )


def metadata(name: str, **more: Manifest) -> Manifest:
    """Return the metadata of an object of MinIO's."""
    return {"name": name, "namespace": NAMESPACE, "labels": LABELS, **more}
