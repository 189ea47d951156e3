"""Rules about disks: names that hold, and one owner for each."""

import re
from collections.abc import Iterator

from generator.checks.places import given_twice, repeats
from generator.checks.tiers import disks
from generator.model.cluster import Cluster
from generator.model.finding import Finding, put, remove
from generator.model.nodes import Disk
from generator.model.rule import rule

# Drives of the largest servers.
MOST = 128

_KERNEL = re.compile(r"(/dev/)?((sd|vd|xvd|hd)[a-z]{1,3}\d*|nvme\d+n\d+(p\d+)?|dm-\d+)")
_FOLDER = re.compile(r"/dev/disk/by-[a-z]+/")
_PARTITION = re.compile(r"-part\d+$")


def _names(disk: Disk) -> dict[str, str]:
    given = {"id": disk.id, "path": disk.path, "model": disk.model}
    return {field: text for field, text in given.items() if text is not None}


@rule("GEN-DISK-001", "a disk is named in one way")
def named_once(cluster: Cluster) -> Iterator[Finding]:
    """Without a name nobody knows which disk is meant; of two names one may be another disk's.

    Wrong:
        - {use: ceph, size: 8T}
    Right:
        - {use: ceph, size: 8T, model: SAMSUNG_MZQL27T6HBLA-00A07, count: 4}
    """
    for at, disk, _ in disks(cluster):
        names = list(_names(disk))
        if len(names) != 1:
            has = f"has {' and '.join(names)}" if names else "has none of id, path and model"
            fix = f"keep {names[0]}" if names else "name it by model and count, as in /dev/disk/by-id"
            edits = tuple(edit for name in names[1:] for edit in remove((*at, name)))
            yield Finding(at=at, message=f"a disk for {disk.use} {has}", fix=fix, edits=edits)


@rule("GEN-DISK-002", "the id of a disk stands on its node")
def id_of_one_node(cluster: Cluster) -> Iterator[Finding]:
    """The names in /dev/disk/by-id hold the serial number: there is such a disk in one node of the pool at most.

    Wrong:
        pools:
          cpu: {hardware: {disks: [{use: ceph, size: 8T, id: wwn-0x5000c500a1b2c3d4}]}}   # of 28 nodes
    Right:
        pools:
          cpu: {hardware: {disks: [{use: ceph, size: 8T, model: SAMSUNG_MZQL27T6HBLA-00A07}]}}
    """
    for at, disk, machines in disks(cluster):
        if disk.id and len(machines) > 1:
            first, last = machines[0].name, machines[-1].name
            message = f"the id {disk.id} names one disk, and {len(machines)} nodes have it ({first} to {last})"
            fix = "name the pool's disks by model or path, or put the id into `hardware` of its node"
            yield Finding(at=(*at, "id"), message=message, fix=fix)


@rule("GEN-DISK-003", "a disk has one owner")
def disks_unique(cluster: Cluster) -> Iterator[Finding]:
    """Ceph takes every disk of the model it is told, whatever `count` says, and the mounts of the other tiers count
    a model's disks from the first: two entries that name one disk both write to it.

    Wrong:
        - {use: ceph, model: SAMSUNG_MZQL27T6HBLA-00A07, count: 3, size: 7680G}
        - {use: scratch, model: SAMSUNG_MZQL27T6HBLA-00A07, count: 1, size: 7680G}
    Right:
        - {use: ceph, model: SAMSUNG_MZQL27T6HBLA-00A07, count: 3, size: 7680G}
        - {use: scratch, path: pci-0000:3b:00.0-nvme-1, size: 7680G}
    """
    given = {at: disk for at, disk, _ in disks(cluster)}
    items = [((at[:-1], *name), (*at, name[0])) for at, disk, _ in disks(cluster) for name in _names(disk).items()]
    for (_, field, text), at, first in repeats(items):
        message = f"two entries take the disk{'s of' if field == 'model' else ' with'} {field} {text}"
        fix, edits = "keep the one that is meant", remove(at[:-1]) if given[at[:-1]] == given[first[:-1]] else ()
        if field == "model":
            fix, edits = "make them one entry, or name the disks by path", ()
        yield Finding(at=at, also=first, message=message, fix="remove one" if edits else fix, edits=edits)
    # One place for each list: a repeat within one is told above.
    ids = {(disk.id, at[:-1]): (*at, "id") for at, disk, _ in disks(cluster) if disk.id}
    fix = "`ls /dev/disk/by-id` on the node shows its own"
    yield from given_twice(((text, at) for (text, _), at in ids.items()), "the disk {} is in two nodes", fix)


@rule("GEN-DISK-004", "disks have names that hold")
def stable_names(cluster: Cluster) -> Iterator[Finding]:
    """The kernel gives sda and nvme0n1 in the order in which disks answer: after a restart it is another disk.
    A name is that of a link below /dev/disk, without the folder, and of a whole disk.

    Wrong:
        - {use: ceph, path: sdb, size: 8T}
    Right:
        - {use: ceph, path: pci-0000:3b:00.0-nvme-1, size: 8T}
    """
    for at, disk, _ in disks(cluster):
        for field, text in _names(disk).items():
            if wrong := _wrong(field, text):
                why, name = wrong
                fix, edits = ("", put((*at, field), name)) if name else ("`ls -l /dev/disk/by-id`", ())
                yield Finding(at=(*at, field), message=f"`{text}` {why}", fix=fix, edits=edits)


def _wrong(field: str, text: str) -> tuple[str, str] | None:
    """Return what is wrong with a disk's name, and the right one where it can be told."""
    folder = _FOLDER.match(text)
    if _KERNEL.fullmatch(text):
        return "is the kernel's name, which may mean another disk after a restart", ""
    if folder:
        return "has the folder before the name", text[folder.end() :]
    if field != "model" and _PARTITION.search(text):
        return "is a partition", _PARTITION.sub("", text)
    if not re.fullmatch(r"[\w.:+,=@-]+", text, re.ASCII):
        name = re.sub(r"[^\w.:+,=@-]+", "_", text.strip().rpartition("/")[2], flags=re.ASCII).strip("_")
        return "is no name in /dev/disk", name
    return None


@rule("GEN-DISK-005", "a count of disks that a node can have")
def count_of_model(cluster: Cluster) -> Iterator[Finding]:
    """An id or a path is one disk, and no node has hundreds of a model: room that is counted and not there.

    Wrong:
        - {use: ceph, path: pci-0000:3b:00.0-nvme-1, count: 4, size: 8T}
    Right:
        - {use: ceph, model: SAMSUNG_MZQL27T6HBLA-00A07, count: 4, size: 8T}
    """
    for at, disk, _ in disks(cluster):
        if disk.count > 1 and not disk.model and _names(disk):
            field, text = next(iter(_names(disk).items()))
            message = f"count is {disk.count}, and the {field} {text} is one disk"
            fix, edits = "remove `count`, and list each disk", remove((*at, "count"))
            yield Finding(at=(*at, "count"), message=message, fix=fix, edits=edits)
        elif disk.count > MOST:
            message = f"count is {disk.count}: it is that of one node, not of the pool"
            yield Finding(at=(*at, "count"), message=message, fix=f"at most {MOST}")


@rule("GEN-DISK-006", "disks have a size")
def disk_sizes(cluster: Cluster) -> Iterator[Finding]:
    """All that is said of room rests on the sizes; below 1 GiB a unit is missing.

    Wrong:
        - {use: ceph, model: SAMSUNG_MZQL27T6HBLA-00A07, size: 7680}
    Right:
        - {use: ceph, model: SAMSUNG_MZQL27T6HBLA-00A07, size: 7680G}
    """
    for at, disk, _ in disks(cluster):
        if disk.size.value < 2**30:
            message = f"the size {disk.size} of a disk is below 1Gi"
            yield Finding(at=(*at, "size"), message=message, fix="add the unit: 7680G, 20T")
