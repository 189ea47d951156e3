"""What rules about storage share: where disks, Ceph's pools and storage classes stand in the file."""

from collections.abc import Iterator
from typing import NamedTuple

from generator.checks.places import hardware_path
from generator.model.capacity import ceph_hosts, ceph_raw
from generator.model.cluster import Cluster
from generator.model.finding import Path
from generator.model.nodes import Disk, Machine
from generator.model.storage import CephPool

__all__ = [
    "DiskList",
    "PlacedPool",
    "ceph_pools",
    "default_classes",
    "disk_lists",
    "failure_domains",
    "storage_classes",
]

CEPH: Path = ("storage", "ceph")
OBJECTS: Path = ("storage", "objects")


class DiskList(NamedTuple):
    """A list of disks, and the nodes that have it."""

    at: Path
    disks: tuple[Disk, ...]
    machines: tuple[Machine, ...]


class PlacedPool(NamedTuple):
    """A Ceph pool: what messages call it, where it stands, and what it is for."""

    name: str
    at: Path
    pool: CephPool
    use: str


def disk_lists(cluster: Cluster) -> list[DiskList]:
    """Return each list of disks once, in the order in which nodes use them."""
    found: dict[Path, list[Machine]] = {}
    for machine in cluster.machines:
        found.setdefault(hardware_path(cluster, machine, "disks"), []).append(machine)
    return [DiskList(at, machines[0].disks, tuple(machines)) for at, machines in found.items()]


def ceph_pools(cluster: Cluster) -> Iterator[PlacedPool]:
    """Yield Ceph's pools; `use` is block, file, bucket, or metadata."""
    ceph = cluster.storage.ceph
    for index, pool in enumerate(ceph.block_pools if ceph else ()):
        yield PlacedPool(f"block pool {pool.name}", (*CEPH, "blockPools", index), pool, "block")
    for index, each in enumerate(ceph.filesystems if ceph else ()):
        at, of = (*CEPH, "filesystems", index), f"of filesystem {each.name}"
        yield PlacedPool(f"metadata pool {of}", (*at, "metadata"), each.metadata, "metadata")
        for number, pool in enumerate(each.data):
            yield PlacedPool(f"data pool {pool.name} {of}", (*at, "data", number), pool, "file")
    for index, store in enumerate(ceph.object_stores if ceph else ()):
        at, of = (*CEPH, "objectStores", index), f"of object store {store.name}"
        yield PlacedPool(f"metadata pool {of}", (*at, "metadata"), store.metadata, "metadata")
        yield PlacedPool(f"data pool {of}", (*at, "data"), store.data, "bucket")


def failure_domains(cluster: Cluster, pool: CephPool) -> int:
    """Return how many hosts or racks have disks of the pool's class."""
    hosts = [machine for machine in ceph_hosts(cluster) if ceph_raw(machine, pool.device_class)]
    return len({machine.rack for machine in hosts if machine.rack} if pool.failure_domain == "rack" else hosts)


def storage_classes(cluster: Cluster) -> Iterator[tuple[str, Path]]:
    """Yield the storage classes that the cluster gets, each with the place that names it."""
    storage = cluster.storage
    if storage.objects:
        yield "minio-local", OBJECTS
    if storage.scratch:
        yield storage.scratch.storage_class, ("storage", "scratch", "storageClass")
    for placed in ceph_pools(cluster):
        if placed.use != "metadata":
            yield _ceph_class(cluster, placed)
    if storage.nfs:
        yield storage.nfs.storage_class, ("storage", "nfs", "storageClass")


def _ceph_class(cluster: Cluster, placed: PlacedPool) -> tuple[str, Path]:
    pool, ceph = placed.pool, cluster.storage.ceph
    if pool.storage_class:
        return pool.storage_class, (*placed.at, "storageClass")
    if placed.use == "block" or ceph is None:
        return pool.name, (*placed.at, "name")
    index = int(placed.at[3])
    if placed.use == "file":
        return f"{ceph.filesystems[index].name}-{pool.name}", (*placed.at, "name")
    return f"{ceph.object_stores[index].name}-bucket", (*placed.at[:4], "name")


def default_classes(cluster: Cluster) -> list[PlacedPool]:
    """Return the pools whose storage class is the default one for volumes."""
    return [placed for placed in ceph_pools(cluster) if placed.pool.default and placed.use in {"block", "file"}]
