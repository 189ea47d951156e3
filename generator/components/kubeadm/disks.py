"""Scripts that make mounts of the disks for scratch, MinIO and copies of datasets, by stable names."""

from collections.abc import Iterator

from generator.components.datasets import CACHE_FOLDER
from generator.components.node_text import Place, Template, Text, Word, joined, static
from generator.model.cluster import Cluster
from generator.model.nodes import Disk, Machine
from generator.model.once import once
from generator.model.storage import Storage

MINIO_GROUP = 1000


LINE = Template("{filesystem} {mount} {group} {kind} {name}\n")


@once
def disk_scripts(cluster: Cluster) -> dict[Place, Text]:
    """Return `node/disks/mount.sh` and, for each node with such disks, the list that it reads: one line a disk, with
    filesystem, mount point, the group that may write, and how to find it: by id, by path, or any of its model.
    """
    found = {}
    for machine in cluster.machines:
        if lines := joined(_lines(cluster.storage, machine)):
            found[Place("node", "disks", f"{machine.name}.list")] = lines
    if found:
        found[Place("node", "disks", "mount.sh")] = static("kubeadm/mount.sh")
    return found


def _lines(storage: Storage, machine: Machine) -> Iterator[Text]:
    """Yield a node's lines."""
    scratch, objects = storage.scratch, storage.objects
    if scratch:
        for number, disk in enumerate(machine.drives_for("scratch")):
            yield _line(scratch.filesystem, f"{scratch.host_dir}/disk-{number}", 0, disk)
    for disk in machine.drives_for("cache"):
        yield _line("xfs", CACHE_FOLDER, 0, disk)
    if objects and machine.pool in objects.pools:
        for number, disk in enumerate(machine.drives_for("objects")):
            yield _line("xfs", objects.drive_folder(number), MINIO_GROUP, disk)


def _line(filesystem: str, mount: str, group: int, disk: Disk) -> Text:
    kind, name = next((kind, name) for kind in ("id", "path", "model") if (name := getattr(disk, kind)) is not None)
    return Text(
        LINE, filesystem=Word(filesystem), mount=Word(mount), group=Word(group), kind=Word(kind), name=Word(name)
    )
