"""Where MinIO's drives are, and the names MinIO's parts know each other by."""

from msgspec import Struct

from generator.model.capacity import erasure_set, objects_drives
from generator.model.cluster import Cluster
from generator.model.nodes import Machine

NAMESPACE = "minio"
LABELS = {"app.kubernetes.io/name": "minio"}
STORAGE_CLASS = "minio-local"
SERVICE = f"minio.{NAMESPACE}.svc"
PORT = 9000
URL = f"https://{SERVICE}:{PORT}"
"""Where MinIO answers its clients in the cluster."""
CONSOLE_PORT = 9001
RENEWAL = f"kubectl --namespace {NAMESPACE} delete pod --selector app.kubernetes.io/name=minio"
"""Makes all servers anew, at once: they wait for each other, and do not work beside one with other settings."""

SETUP = "minio-setup"
"""The Job that has MinIO hold what the cluster file says, and its settings."""
SETS_UP = ("minio", SETUP)
"""The Application that runs it with each sync, and the Job."""


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
    machines, drives = cluster.in_pools(pool), objects_drives(cluster, pool)
    found = erasure_set(len(machines), drives)
    if found is None:
        return None
    smallest = min(disk.size for machine in machines for disk in machine.disks_for("objects"))
    return ServerPool(name=name, machines=machines, drives=drives, parity=found.parity, size=str(smallest))


def claim_name(drive: int | str) -> str:
    """Return the name of a claim's template, which is also where the drive is mounted in the pod; for several drives
    with MinIO's pattern instead of a number.
    """
    return f"export-{drive}"
