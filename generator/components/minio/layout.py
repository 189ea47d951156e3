"""Where MinIO's drives are, their volumes, and the names MinIO's parts know each other by."""

from collections.abc import Iterator

from msgspec import Struct

from generator.components.component import Manifest, protect
from generator.components.static import read_objects
from generator.model.capacity import erasure_set
from generator.model.cluster import Cluster
from generator.model.nodes import Disk, Machine
from generator.model.storage import Objects

NAMESPACE = "minio"
LABELS = {"app.kubernetes.io/name": "minio"}
STORAGE_CLASS = "minio-local"
SERVICE = f"minio.{NAMESPACE}.svc"
PORT = 9000
CONSOLE_PORT = 9001


class Layout(Struct, frozen=True, kw_only=True):
    """The nodes, how many drives each gives, how many drives of an erasure set hold parity, and the claims' size."""

    machines: tuple[Machine, ...]
    drives: int
    parity: int
    size: str


def layout_of(cluster: Cluster) -> Layout | None:
    """Return how MinIO lies on its pool's nodes; None where no layout fits, which a rule reports. Every node gives
    as many drives as the one with the fewest: the endpoints are one pattern for all.
    """
    objects = cluster.storage.objects
    machines = cluster.in_pools(objects.pool) if objects else ()
    drives = min((len(drives_of(machine)) for machine in machines), default=0)
    found = erasure_set(len(machines), drives) if drives else None
    if found is None:
        return None
    smallest = min(disk.size for machine in machines for disk in drives_of(machine))
    return Layout(machines=machines, drives=drives, parity=found.parity, size=str(smallest))


def drives_of(machine: Machine) -> tuple[Disk, ...]:
    """Return one entry for each drive, in the order in which they are mounted below `hostDir`."""
    return tuple(disk for disk in machine.disks_for("objects") for _ in range(disk.count))


def metadata(name: str, **more: Manifest) -> Manifest:
    """Return the metadata of an object of MinIO's."""
    return {"name": name, "namespace": NAMESPACE, "labels": LABELS, **more}


def storage_class() -> Manifest:
    """Return the class of the drives' volumes."""
    (made,) = read_objects("minio/storage-class.yaml")
    return protect(made)


def volumes(objects: Objects, layout: Layout) -> Iterator[Manifest]:
    """Yield a volume for each drive. Which pod gets which node is left to the scheduler: MinIO knows its drives by
    what is written on them, and a node that replaces another needs no place in a list.
    """
    for machine in layout.machines:
        for number, disk in enumerate(drives_of(machine)[: layout.drives]):
            yield volume(machine, number, str(disk.size), objects.host_dir)


def volume(machine: Machine, number: int, size: str, host_dir: str) -> Manifest:
    """Return drive `number` of a node, mounted at `<host_dir>/drive-<number>`: never deleted."""
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
