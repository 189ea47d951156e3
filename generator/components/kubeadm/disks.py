"""Scripts that make mounts of the disks for scratch and MinIO, by stable names."""

from pathlib import Path

from generator.model.cluster import Cluster
from generator.model.nodes import Disk, Machine

__all__ = ["disk_scripts"]

MINIO_GROUP = 1000


def disk_scripts(cluster: Cluster) -> dict[str, str]:
    """Return `node/disks/mount.sh` and, for each node with such disks, the list that it reads: one line a disk, with
    filesystem, mount point, the group that may write, and how to find it.
    """
    found = {}
    for machine in cluster.machines:
        if lines := [*_scratch(cluster, machine), *_objects(cluster, machine)]:
            found[f"node/disks/{machine.name}.list"] = "".join(f"{line}\n" for line in lines)
    if found:
        script = Path(__file__).with_name("mount.sh")
        found["node/disks/mount.sh"] = script.read_text(encoding="utf-8")
    return found


def _scratch(cluster: Cluster, machine: Machine) -> list[str]:
    settings = cluster.storage.scratch
    if settings is None:
        return []
    return _lines(machine.disks_for("scratch"), f"{settings.filesystem} {settings.host_dir}/disk-{{}} 0")


def _objects(cluster: Cluster, machine: Machine) -> list[str]:
    settings = cluster.storage.objects
    if settings is None or machine.pool != settings.pool:
        return []
    return _lines(machine.disks_for("objects"), f"xfs {settings.host_dir}/drive-{{}} {MINIO_GROUP}")


def _lines(disks: tuple[Disk, ...], line: str) -> list[str]:
    """Return a line for each disk; a `model` line stands for the n-th disk of that model by its serial number."""
    names = [_named(disk, index) for disk in disks for index in range(disk.count)]
    return [f"{line.format(number)} {name}" for number, name in enumerate(names)]


def _named(disk: Disk, index: int) -> str:
    if disk.id:
        return f"id {disk.id}"
    if disk.path:
        return f"path {disk.path}"
    return f"model {disk.model} {index + 1}"
