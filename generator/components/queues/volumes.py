"""What a team's volume claims may come to: what lasts as the cluster file says, and scratch of its nodes beside it."""

from collections.abc import Mapping

from msgspec import Struct

from generator.components.ceph_cluster.names import block_class, file_class
from generator.components.queues import flavors, nominal
from generator.model.capacity import machines_of
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.teams import Team

GIB = 2**30


class Claimable(Struct, frozen=True):
    """The bounds on a team's claims: on all together, and on those of each class. None, and a class that is not there,
    has no bound of its own.
    """

    total: Quantity | None
    classes: Mapping[str, Quantity]

    def of(self, name: str) -> Quantity | None:
        """Return the most that claims of a class may come to; None where nothing bounds them."""
        return min((one for one in (self.total, self.classes.get(name)) if one is not None), default=None)


def claimable(cluster: Cluster, team: Team) -> Claimable:
    """Return what a team may claim. Its `storage` is for what lasts: scratch comes and goes with jobs that Kueue lets
    in, and a job whose claim were refused would hold its GPUs without starting. The API server's quota cannot leave one
    class out of the sum, so scratch is added to it, and each class that lasts keeps the team's `storage` as its bound.
    """
    scratch, lasting = cluster.storage.scratch, team.storage
    if lasting is None or scratch is None:
        return Claimable(lasting, team.storage_classes)
    stated = {name: size for name, size in team.storage_classes.items() if name != scratch.storage_class}
    room = team.storage_classes.get(scratch.storage_class, scratch_room(cluster, team))
    names = dict.fromkeys((*lasting_classes(cluster), *stated))
    bounds = {name: min(lasting, stated.get(name, lasting)) for name in names}
    total = Quantity.of(lasting.value + room.value, binary=True)
    return Claimable(total, {**bounds, scratch.storage_class: room})


def lasting_classes(cluster: Cluster) -> tuple[str, ...]:
    """Return the storage classes of volumes that outlive what uses them: on other machines than its pods."""
    ceph, nfs = cluster.storage.ceph, cluster.storage.nfs
    blocks = [block_class(pool) for pool in ceph.block_pools] if ceph else []
    files = [file_class(one, pool) for one in ceph.filesystems for pool in one.data] if ceph else []
    return (*blocks, *files, *((nfs.storage_class,) if nfs else ()))


def scratch_room(cluster: Cluster, team: Team) -> Quantity:
    """Return all disks for scratch of the pools of which the team owns a part. Who only borrows there has none: a claim
    may stay when its GPUs have gone back, and a job of the owner's would hold its own without a disk. How many nodes
    the team may be on at once changes with each quota of another team, so it bounds nothing here.
    """
    room = 0
    for pool in flavors(cluster):
        if nominal(cluster, team, pool).pods:
            disks = [disk for one in machines_of(cluster, pool) for disk in one.disks_for("scratch")]
            room += sum(disk.size.value * disk.count for disk in disks)
    return Quantity.of(-(-room // GIB) * GIB, binary=True)
