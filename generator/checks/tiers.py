"""What rules about storage share: where disks, Ceph's pools and storage classes stand in the file."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from generator.checks.places import by_place, entries, unknown
from generator.components.ceph_cluster.names import block_class, bucket_class, file_class
from generator.components.minio.layout import STORAGE_CLASS
from generator.model.backup import CopyTarget
from generator.model.capacity import ceph_raw
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, put, remove
from generator.model.nodes import Disk, Machine
from generator.model.storage import Bucket, CephFilesystem, CephObjectStore, CephPool, ObjectUser
from generator.model.teams import TeamBucket

CEPH: Path = ("storage", "ceph")
OBJECTS: Path = ("storage", "objects")
ELSEWHERE: Path = ("storage", "elsewhere")
CLASS_KIND = "storage.k8s.io/StorageClass"
"""As `kinds` of `extras` name it."""


class DiskList(NamedTuple):
    """A list of disks, and the nodes that have it."""

    at: Path
    disks: tuple[Disk, ...]
    machines: list[Machine]


class PlacedDisk(NamedTuple):
    """A disk, or several of one model: where it stands, and the nodes that have it."""

    at: Path
    disk: Disk
    machines: list[Machine]


class PlacedPool(NamedTuple):
    """A Ceph pool: what messages call it, where it stands, and what it is for."""

    name: str
    at: Path
    pool: CephPool
    use: str


def disk_lists(cluster: Cluster) -> list[DiskList]:
    """Return each list of disks once, in the order in which nodes use them."""
    found = by_place(cluster, cluster.machines, "disks")
    return [DiskList(at, machines[0].hardware.disks, machines) for at, machines in found.items()]


def disks(cluster: Cluster) -> Iterator[PlacedDisk]:
    """Yield the disks of all lists."""
    for at, found, machines in disk_lists(cluster):
        yield from (PlacedDisk(place, disk, machines) for place, disk in entries(found, *at))


def idle_disks(cluster: Cluster, use: str, pools: Collection[str]) -> Iterator[tuple[Path, str]]:
    """Yield the first disk for this use in each list of nodes that are not in these pools, with their pool."""
    for at, found, machines in disk_lists(cluster):
        first = next((index for index, disk in enumerate(found) if disk.use == use), None)
        if first is not None and machines[0].pool not in pools:
            yield (*at, first), machines[0].pool


def block_pools(cluster: Cluster) -> list[tuple[Path, CephPool]]:
    """Return Ceph's pools of block devices, each with its place."""
    ceph = cluster.storage.ceph
    return entries(ceph.block_pools if ceph else (), *CEPH, "blockPools")


def filesystems(cluster: Cluster) -> list[tuple[Path, CephFilesystem]]:
    """Return Ceph's filesystems, each with its place."""
    ceph = cluster.storage.ceph
    return entries(ceph.filesystems if ceph else (), *CEPH, "filesystems")


def object_stores(cluster: Cluster) -> list[tuple[Path, CephObjectStore]]:
    """Return Ceph's object stores, each with its place."""
    ceph = cluster.storage.ceph
    return entries(ceph.object_stores if ceph else (), *CEPH, "objectStores")


def server_pools(cluster: Cluster) -> list[tuple[Path, str]]:
    """Return the node pools that MinIO is on, each with the place that names it."""
    objects = cluster.storage.objects
    return [((*OBJECTS, "pool"), objects.pool), *entries(objects.expansions, *OBJECTS, "expansions")] if objects else []


def buckets(cluster: Cluster) -> list[tuple[Path, Bucket]]:
    """Return MinIO's buckets, each with its place."""
    objects = cluster.storage.objects
    return entries(objects.buckets if objects else (), *OBJECTS, "buckets")


def missing_bucket(cluster: Cluster, at: Path, target: CopyTarget, who: str) -> Iterator[Finding]:
    """Yield what is wrong where a backup goes to a bucket of MinIO that is not there; `who` begins the sentence."""
    known = [bucket.name for _, bucket in buckets(cluster)]
    if target.in_minio is not None and target.in_minio not in known:
        add = "add it to storage.objects.buckets" if cluster.storage.objects else "add storage.objects with this bucket"
        yield unknown(at, target.bucket, known, f"{who} to bucket {target.bucket}, which is not there", add)


def kept_for(at: Path, bucket: Bucket, days: int, *, locked: bool) -> tuple[Edit, ...]:
    """Return the changes after which the bucket at this place keeps old versions so long: by its lock where it has one
    or shall get one.
    """
    lock = put((*at, "lock", "days"), days) if bucket.lock else put((*at, "lock"), {"days": days})
    lock = lock if locked or bucket.lock else ()
    versions = remove((*at, "versioning")) if lock and not bucket.versioning else ()
    longer = put((*at, "expireVersions"), days) if bucket.expire_versions < days else ()
    return (*lock, *versions, *longer)


def users(cluster: Cluster) -> list[tuple[Path, ObjectUser]]:
    """Return MinIO's users, each with its place."""
    objects = cluster.storage.objects
    return entries(objects.users if objects else (), *OBJECTS, "users")


def ceph_pools(cluster: Cluster) -> Iterator[PlacedPool]:
    """Yield Ceph's pools; `use` is block, file, bucket, or metadata."""
    for at, pool in block_pools(cluster):
        yield PlacedPool(f"block pool {pool.name}", at, pool, "block")
    for at, each in filesystems(cluster):
        of = f"of filesystem {each.name}"
        yield PlacedPool(f"metadata pool {of}", (*at, "metadata"), each.metadata, "metadata")
        for place, pool in entries(each.data, *at, "data"):
            yield PlacedPool(f"data pool {pool.name} {of}", place, pool, "file")
    for at, store in object_stores(cluster):
        of = f"of object store {store.name}"
        yield PlacedPool(f"metadata pool {of}", (*at, "metadata"), store.metadata, "metadata")
        yield PlacedPool(f"data pool {of}", (*at, "data"), store.data, "bucket")


def team_buckets(cluster: Cluster) -> list[tuple[Path, TeamBucket]]:
    """Return the buckets of teams in Ceph, each with its place."""
    teams = entries(cluster.teams, "teams")
    return [found for place, team in teams for found in entries(team.buckets, *place, "buckets")]


def failure_domains(cluster: Cluster, pool: CephPool) -> int:
    """Return how many hosts or racks have disks of the pool's class."""
    hosts = [machine for machine in cluster.ceph_hosts if ceph_raw(machine, pool.device_class)]
    return len({machine.rack for machine in hosts if machine.rack} if pool.failure_domain == "rack" else hosts)


def storage_classes(cluster: Cluster) -> Iterator[tuple[str, Path]]:
    """Yield the storage classes that the cluster gets, each with the place that names it."""
    storage = cluster.storage
    if storage.objects:
        yield STORAGE_CLASS, OBJECTS
    if storage.scratch:
        yield storage.scratch.storage_class, ("storage", "scratch", "storageClass")
    for at, pool in block_pools(cluster):
        yield block_class(pool), _named(pool, at, (*at, "name"))
    for at, each in filesystems(cluster):
        for place, pool in entries(each.data, *at, "data"):
            yield file_class(each, pool), _named(pool, place, (*place, "name"))
    for at, store in object_stores(cluster):
        yield bucket_class(store), _named(store.data, (*at, "data"), (*at, "name"))
    if storage.nfs:
        yield storage.nfs.storage_class, ("storage", "nfs", "storageClass")


def brings_classes(cluster: Cluster) -> bool:
    """Tell whether a component of the user's own may make storage classes, of names that only it knows."""
    return any(each.installed and CLASS_KIND in each.kinds for each in cluster.extras.values())


def snapshot_classes(cluster: Cluster) -> list[str]:
    """Return the storage classes whose volumes have snapshots."""
    shared = [file_class(each, pool) for _, each in filesystems(cluster) for pool in each.data]
    return [*block_classes(cluster), *shared]


def block_classes(cluster: Cluster) -> list[str]:
    """Return the storage classes of Ceph's block devices."""
    return [block_class(pool) for _, pool in block_pools(cluster)]


def volume_classes(cluster: Cluster) -> Iterator[tuple[str, CephPool]]:
    """Yield the storage classes of volumes on Ceph, each with its pool."""
    yield from ((block_class(pool), pool) for _, pool in block_pools(cluster))
    yield from ((file_class(each, pool), pool) for _, each in filesystems(cluster) for pool in each.data)
    nfs = cluster.storage.nfs
    for _, each in filesystems(cluster) if nfs else ():
        if nfs and nfs.filesystem == each.name and each.data:
            yield nfs.storage_class, each.data[0]


def shared_classes(cluster: Cluster) -> list[str]:
    """Return the storage classes of volumes that many nodes mount at once."""
    made = [file_class(each, pool) for _, each in filesystems(cluster) for pool in each.data]
    return [*made, *([cluster.storage.nfs.storage_class] if cluster.storage.nfs else [])]


def _named(pool: CephPool, at: Path, otherwise: Path) -> Path:
    """Return the place that names a pool's storage class: its own key, else what stands at `otherwise`."""
    return (*at, "storageClass") if pool.storage_class else otherwise


def default_classes(cluster: Cluster) -> list[PlacedPool]:
    """Return the pools whose storage class is the default one for volumes."""
    return [placed for placed in ceph_pools(cluster) if placed.pool.default and placed.use in {"block", "file"}]
