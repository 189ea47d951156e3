"""Where MinIO's drives are, and the names its parts know each other by."""

from msgspec import Struct

from generator.components.component import Manifest
from generator.model.capacity import erasure_set
from generator.model.cluster import Cluster
from generator.model.nodes import Disk, Machine

__all__ = ["LABELS", "NAMESPACE", "Layout", "layout_of", "metadata"]

NAMESPACE = "minio"
LABELS = {"app.kubernetes.io/name": "minio"}


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
