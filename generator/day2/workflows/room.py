"""The room that a running Ceph has left for what is brought back."""

from collections.abc import Iterator

from msgspec import Struct

from generator.components.component import Manifest
from generator.components.rook_ceph import NAMESPACE
from generator.live.lists import lists
from generator.live.running import RunningCluster
from generator.model.capacity import NEARFULL
from generator.model.fields import dig
from generator.model.storage import CephPool

CEPH = f"/apis/ceph.rook.io/v1/namespaces/{NAMESPACE}/cephclusters"


class Left(Struct, frozen=True):
    """The bytes that a pool can take at most before Ceph is nearly full; None, and why, where nobody tells."""

    bytes: int | None
    unknown: str = ""


def left(running: RunningCluster, pool: CephPool) -> Left:
    """Return what Rook last saw of all disks of Ceph: a pool that is on some of them alone can take less, never more.
    Raises UsageError where there is no talking to the server.
    """
    (found,) = lists(running, [CEPH])
    if found.refused:
        return Left(None, found.refused)
    known = list(_capacities(found.items))
    if not known:
        return Left(None, "Rook has told none yet")
    total, available = map(sum, zip(*known, strict=True))
    spare = available - (total - round(total * NEARFULL))
    return Left(max(0, pool.held_by(spare)))


def _capacities(clusters: tuple[Manifest, ...]) -> Iterator[tuple[int, int]]:
    """Yield the bytes of the disks of each, and those of them that are free."""
    for one in clusters:
        total, free = (dig(one, "status", "ceph", "capacity", name) for name in ("bytesTotal", "bytesAvailable"))
        if isinstance(total, int) and isinstance(free, int) and total:
            yield total, free
