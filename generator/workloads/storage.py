"""What a job keeps and where: checkpoints on a tier that outlives its pods, scratch on the node's own disks."""

from msgspec import Struct

from generator.components.ceph_cluster.names import block_class, file_class
from generator.components.component import Manifest
from generator.components.queues.volumes import claimable
from generator.errors import UsageError
from generator.model.quantity import Quantity
from generator.workloads.place import GIB, Place
from generator.workloads.wanted import Wanted

CHECKPOINTS, SCRATCH = "/checkpoints", "/scratch"
# A file system takes some of a disk for itself.
USABLE = 0.9


class Kept(Struct, frozen=True):
    """The volume for checkpoints: its class and how many nodes may mount it at once."""

    storage_class: str
    mode: str


def kept(place: Place) -> Kept | None:
    """Return where checkpoints go: a file system that all pods share, or a block device where there is one pod; None
    where the cluster has neither. Scratch is none: its volumes are one node's.
    """
    storage = place.cluster.storage
    for filesystem in storage.ceph.filesystems if storage.ceph else ():
        return Kept(file_class(filesystem, filesystem.data[0]), "ReadWriteMany")
    if storage.nfs:
        return Kept(storage.nfs.storage_class, "ReadWriteMany")
    if place.pods == 1 and storage.ceph and storage.ceph.block_pools:
        pool = next((one for one in storage.ceph.block_pools if one.default), storage.ceph.block_pools[0])
        return Kept(block_class(pool), "ReadWriteOnce")
    return None


def claim(place: Place, wanted: Wanted) -> Manifest | None:
    """Return the claim for checkpoints. It outlives the job: who deletes the job keeps them. Raises UsageError for more
    than the team may claim.
    """
    found = kept(place)
    if found is None:
        return None
    _within(place, found.storage_class, wanted.checkpoints)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": claim_name(wanted), "namespace": place.team.name},
        "spec": {
            "accessModes": [found.mode],
            "storageClassName": found.storage_class,
            "resources": {"requests": {"storage": str(wanted.checkpoints)}},
        },
    }


def claim_name(wanted: Wanted) -> str:
    """Return the name of the claim for a job's checkpoints."""
    return f"{wanted.name}-checkpoints"


def _within(place: Place, storage_class: str, size: Quantity) -> None:
    team = place.team
    for bound, what in ((team.storage_classes.get(storage_class), f"of {storage_class}"), (team.storage, "in all")):
        if bound is not None and size > bound:
            raise UsageError(f"team {team.name} may claim {bound} {what}: --checkpoints {size} is more than that")


def volumes(place: Place, wanted: Wanted) -> tuple[list[Manifest], list[Manifest]]:
    """Return a pod's volumes for data, and where they are mounted."""
    scratch = scratch_claim(place)
    found: list[Manifest] = [{"name": "scratch", **(scratch or {"emptyDir": {}})}]
    mounts: list[Manifest] = [{"name": "scratch", "mountPath": SCRATCH}]
    if kept(place):
        found.append({"name": "checkpoints", "persistentVolumeClaim": {"claimName": claim_name(wanted)}})
        mounts.append({"name": "checkpoints", "mountPath": CHECKPOINTS})
    return found, mounts


def checkpoint_folder(place: Place) -> str:
    """Return where a program writes its checkpoints."""
    return CHECKPOINTS if kept(place) else SCRATCH


def scratch_claim(place: Place) -> Manifest | None:
    """Return a volume that comes and goes with its pod, on the node's own disks. Each is a whole disk, so that only
    pods with a node to themselves take one: several small ones would wait for a disk. None, too, where all of them are
    more than the team may claim of the class.
    """
    settings, size = place.cluster.storage.scratch, scratch_size(place)
    if settings is None or size is None:
        return None
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": settings.storage_class,
        "resources": {"requests": {"storage": str(Quantity.of(size, binary=True))}},
    }
    return {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


def scratch_size(place: Place) -> int | None:
    """Return the bytes of each pod's volume on its node's own disks; None where it has none."""
    disks = [machine.disks_for("scratch") for machine in place.machines]
    if not place.cluster.storage.scratch or not all(disks) or not place.whole_nodes:
        return None
    size = int(min(disk.size.value for each in disks for disk in each) * USABLE) // GIB * GIB
    bound = scratch_bound(place)
    return None if bound is not None and place.pods * size > bound.value else size


def scratch_bound(place: Place) -> Quantity | None:
    """Return how much scratch the team may claim; None where nothing bounds it."""
    settings = place.cluster.storage.scratch
    return claimable(place.cluster, place.team).of(settings.storage_class) if settings else None
