"""Scripts that make mounts of the disks for scratch and MinIO, by stable names."""

from collections.abc import Iterator

from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.nodes import Disk, Machine
from generator.model.storage import Storage

MINIO_GROUP = 1000


def disk_scripts(cluster: Cluster) -> dict[str, str]:
    """Return `node/disks/mount.sh` and, for each node with such disks, the list that it reads: one line a disk, with
    filesystem, mount point, the group that may write, and how to find it.
    """
    found = {}
    for machine in cluster.machines:
        if lines := list(_lines(cluster.storage, machine)):
            found[f"node/disks/{machine.name}.list"] = "".join(f"{line}\n" for line in lines)
    if found:
        found["node/disks/mount.sh"] = read_text("kubeadm/mount.sh")
    return found


def _lines(storage: Storage, machine: Machine) -> Iterator[str]:
    """Yield a node's lines; a `model` line stands for the n-th disk of that model by its serial number."""
    scratch, objects = storage.scratch, storage.objects
    if scratch:
        for number, name in _numbered(machine, "scratch"):
            yield f"{scratch.filesystem} {scratch.host_dir}/disk-{number} 0 {name}"
    if objects and machine.pool in objects.pools:
        for number, name in _numbered(machine, "objects"):
            yield f"xfs {objects.host_dir}/drive-{number} {MINIO_GROUP} {name}"


def _numbered(machine: Machine, use: str) -> Iterator[tuple[int, str]]:
    return enumerate(_named(disk, index) for disk in machine.disks_for(use) for index in range(disk.count))


def _named(disk: Disk, index: int) -> str:
    if disk.id:
        return f"id {disk.id}"
    if disk.path:
        return f"path {disk.path}"
    return f"model {disk.model} {index + 1}"
