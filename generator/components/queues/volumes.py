"""What a team's volume claims may come to: what lasts as the cluster file says, and scratch of its nodes beside it."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from generator.components.ceph_cluster.classes import block_class, file_class
from generator.components.queues import flavors
from generator.components.queues.reach import reach
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


def lasting_classes(cluster: Cluster) -> Iterator[str]:
    """Yield the storage classes of volumes that outlive what uses them."""
    storage = cluster.storage
    if storage.ceph:
        yield from (block_class(pool) for pool in storage.ceph.block_pools)
        yield from (file_class(each, pool) for each in storage.ceph.filesystems for pool in each.data)
    if storage.nfs:
        yield storage.nfs.storage_class


def scratch_room(cluster: Cluster, team: Team) -> Quantity:
    """Return all disks for scratch of the pools that the team may use, by what it owns and may borrow. How many of
    their nodes that is at once changes with each quota of another team, so it bounds nothing here.
    """
    pools = [pool for pool in flavors(cluster) if reach(cluster, team, pool).pods]
    disks = [disk for pool in pools for one in machines_of(cluster, pool) for disk in one.disks_for("scratch")]
    room = sum(disk.size.value * disk.count for disk in disks)
    return Quantity.of(-(-room // GIB) * GIB, binary=True)
