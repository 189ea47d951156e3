"""Which disks Ceph takes on each node, and which device class they get."""

import re

from generator.components.component import Manifest
from generator.model.cluster import Cluster
from generator.model.nodes import Disk, Machine

_SPECIAL = re.compile(r"[.+*?()|\[\]{}^$\\]")
# Serial numbers as they stand in by-id names; partitions (`-part1`) do not match. Western Digital's begin with `WD-`.
_SERIAL = "_([A-Z]{2}-)?[A-Za-z0-9]+"


def device_classes(cluster: Cluster) -> tuple[str, ...]:
    """Return the classes of Ceph's disks in the cluster, the fastest first."""
    present = {disk.class_ for machine in cluster.ceph_hosts for disk in machine.disks_for("ceph")}
    return tuple(name for name in ("nvme", "ssd", "hdd") if name in present)


def storage_node(machine: Machine) -> Manifest:
    """Return one entry of `storage.nodes`.

    Rook takes either a list of devices or one filter for a node, never both (a list makes it ignore the filter), and
    a filter cannot carry a class of its own. So a node with any disk named by model gets one filter for all its
    disks. Where they are of one class the node says it; of several, Rook detects: rotating is hdd, a kernel name with
    `nvme` is nvme, all else ssd.
    """
    disks = machine.disks_for("ceph")
    if not any(disk.model for disk in disks):
        return {"name": machine.name, "devices": [_device(disk) for disk in disks]}
    classes = {disk.class_ for disk in disks}
    node: Manifest = {"name": machine.name, "devicePathFilter": _filter(disks, mixed=len(classes) > 1)}
    if len(classes) == 1:
        node["config"] = {"deviceClass": disks[0].class_}
    return node


def _device(disk: Disk) -> Manifest:
    return {"name": _link(disk), "config": {"deviceClass": disk.class_}}


def _link(disk: Disk) -> str:
    return f"/dev/disk/by-path/{disk.path}" if disk.path else f"/dev/disk/by-id/{disk.id}"


def _filter(disks: tuple[Disk, ...], *, mixed: bool) -> str:
    """Return one regular expression (Go's RE2) over the full paths of the links in /dev/disk."""
    patterns = dict.fromkeys(_pattern(disk, mixed=mixed) for disk in disks)
    return "^(" + "|".join(patterns) + ")$"


def _pattern(disk: Disk, *, mixed: bool) -> str:
    if not disk.model:
        return _quote(_link(disk))
    # On a mixed node the bus is part of the pattern: a disk whose class Rook would see otherwise than the cluster file
    # says is then left alone and missed at once, not put into the wrong pool.
    by_class = "nvme" if disk.class_ == "nvme" else "(ata|scsi)"
    bus = by_class if mixed else "(nvme|ata|scsi)"
    return f"/dev/disk/by-id/{bus}-{_quote(disk.model)}{_SERIAL}"


def _quote(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)
