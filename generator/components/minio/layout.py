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


class ServerPool(Struct, frozen=True, kw_only=True):
    """One of MinIO's server pools: its StatefulSet's name, its nodes in the order of the file, how many drives each
    gives, how many drives of an erasure set hold parity, and the claims' size.
    """

    name: str
    machines: tuple[Machine, ...]
    drives: int
    parity: int
    size: str


def layout_of(cluster: Cluster) -> tuple[ServerPool, ...]:
    """Return how MinIO lies on the nodes of its pools; empty where one has no layout or parities differ, which rules
    report. The first pool's servers are called `minio`, those of a later one `minio-<pool>`.
    """
    objects = cluster.storage.objects
    names = objects.pools if objects else ()
    found = [_server_pool(cluster, name, f"minio-{name}" if index else "minio") for index, name in enumerate(names)]
    pools = tuple(pool for pool in found if pool)
    return pools if len(pools) == len(names) and len({pool.parity for pool in pools}) == 1 else ()


def _server_pool(cluster: Cluster, pool: str, name: str) -> ServerPool | None:
    """Return a server pool. Every node gives as many drives as the one with the fewest: the endpoints are one pattern
    for all.
    """
    machines = cluster.in_pools(pool)
    drives = min((len(drives_of(machine)) for machine in machines), default=0)
    found = erasure_set(len(machines), drives) if drives else None
    if found is None:
        return None
    smallest = min(disk.size for machine in machines for disk in drives_of(machine))
    return ServerPool(name=name, machines=machines, drives=drives, parity=found.parity, size=str(smallest))


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


def claim_name(drive: int) -> str:
    """Return the name of a claim's template, which is also where the drive is mounted in the pod."""
    return f"export-{drive}"


def volumes(objects: Objects, pool: ServerPool) -> Iterator[Manifest]:
    """Yield a volume for each drive, kept for one drive of one server. A drive knows its place among the others, and
    MinIO refuses those that stand elsewhere: claims that are made again must find their own.
    """
    for ordinal, machine in enumerate(pool.machines):
        for number, disk in enumerate(drives_of(machine)[: pool.drives]):
            claim = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": NAMESPACE,
                "name": f"{claim_name(number)}-{pool.name}-{ordinal}",
            }
            yield volume(machine, number, str(disk.size), objects.host_dir, claim)


def volume(machine: Machine, number: int, size: str, host_dir: str, claim: dict[str, str]) -> Manifest:
    """Return drive `number` of a node, mounted at `<host_dir>/drive-<number>`, for one claim: never deleted."""
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
                "local": {"path": f"{host_dir}/drive-{number}"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [hostname]}]}},
            },
        }
    )
