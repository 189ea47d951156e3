"""What changes of Ceph's pools mean, wherever they stand, as Rook acts on them.

Read in Rook v1.20.6, `pkg/daemon/ceph/client/pool.go`, which makes all pools alike.
"""

from collections.abc import Mapping
from typing import Any

from generator.components.ceph_cluster.changes import DOCUMENTATION
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import Condition, came, every, lowered, raised, same_amount, turned_on, went
from generator.model.fields import dig, mapping, sequence

POOLS = ("ceph.rook.io/CephBlockPool", "ceph.rook.io/CephFilesystem", "ceph.rook.io/CephObjectStore")

CLIENT = "https://github.com/rook/rook/blob/v1.20.6/pkg/daemon/ceph/client/pool.go"
POOL_CRD = f"{DOCUMENTATION}/CRDs/Block-Storage/ceph-block-pool-crd.md"
SAFE = 3
"""Copies from which on one can be lost while another is away."""


def of_pools(*fields: str) -> tuple[str, ...]:
    """Return where these fields of a pool stand: in a pool of its own, a filesystem, an object store."""
    places = ("spec", "spec.metadataPool", "spec.dataPool", "spec.dataPools.*")
    return tuple(f"{place}.{field}" for place in places for field in fields)


def pool_of(manifest: Mapping[str, Any], field: FieldChange) -> dict[str, Any]:
    """Return the pool that a field is about; empty where it is not there."""
    spec = mapping(manifest.get("spec"))
    place = str(field.path[1])
    if place != "dataPools":
        return mapping(spec.get(place)) if place in {"metadataPool", "dataPool"} else spec
    items = enumerate(sequence(spec.get(place)))
    return mapping(next((item for at, item in items if field.path[2] in (at, f"[{dig(item, 'name')}]")), None))


def kept(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the pool is there before and after."""
    return bool(pool_of(change.old, field) and pool_of(change.new, field))


def erasure_coded(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the pool holds chunks instead of copies."""
    return kept(change, field) and bool(pool_of(change.old, field).get("erasureCoded"))


def moved_by_rook(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Rook gives the pool another CRUSH rule."""
    allowed = pool_of(change.new, field).get("enableCrushUpdates") is True
    return kept(change, field) and not erasure_coded(change, field) and allowed


def left_by_rook(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Rook leaves the pool the CRUSH rule that it has."""
    return kept(change, field) and not erasure_coded(change, field) and not moved_by_rook(change, field)


def other_type(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the pool held copies and shall hold chunks, or the other way round."""
    types = [bool(pool_of(side, field).get("erasureCoded")) for side in (change.old, change.new)]
    return kept(change, field) and types[0] != types[1]


def unsafe(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether so few copies are left that the loss of one more disk loses data."""
    return isinstance(field.new, int) and field.new < SAFE


def limited(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a pool may hold less than before."""
    return kept(change, field) and (lowered(change, field) or came(change, field))


def not_lowered(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an amount is as much as before, or more."""
    return raised(change, field) or same_amount(change, field)


def alive(condition: Condition) -> Condition:
    """Return the condition for a pool that is there before and after."""
    return every(kept, condition)


COPIES = (
    ChangeRule(
        code="GEN-CHG-430",
        kinds=POOLS,
        paths=of_pools("replicated.size"),
        effect=Effect.MOVES,
        reason="Ceph makes the further copies of everything in the pool, and takes room and speed for it",
        link=CLIENT,
        when=alive(raised),
    ),
    ChangeRule(
        code="GEN-CHG-431",
        kinds=POOLS,
        paths=of_pools("replicated.size"),
        effect=Effect.MOVES,
        reason="Ceph drops a copy of everything in the pool; the room comes back, the safety is less",
        link=CLIENT,
        when=alive(lowered),
    ),
    ChangeRule(
        code="GEN-CHG-432",
        kinds=POOLS,
        paths=of_pools("replicated.size"),
        effect=Effect.DATA_LOSS,
        reason="Ceph drops a copy of everything in the pool at once; with two left, two disks that fail together lose "
        "data, with one left any disk does",
        instead="keep three copies, or use erasure coding in a new pool to save room",
        link=POOL_CRD,
        when=every(kept, lowered, unsafe),
    ),
    ChangeRule(
        code="GEN-CHG-433",
        kinds=POOLS,
        paths=of_pools("failureDomain", "deviceClass"),
        effect=Effect.MOVES,
        reason="the pool gets another CRUSH rule, and Ceph moves nearly all of its data; it stays readable meanwhile",
        instead="at a quiet time, one pool at a time, with room for it on the new disks",
        link=CLIENT,
        when=moved_by_rook,
    ),
    ChangeRule(
        code="GEN-CHG-434",
        kinds=POOLS,
        paths=of_pools("failureDomain", "deviceClass"),
        effect=Effect.BY_HAND,
        reason="without `enableCrushUpdates` Rook accepts it and leaves the pool where it is, without a word",
        instead="set `enableCrushUpdates: true`",
        link=CLIENT,
        when=left_by_rook,
    ),
    ChangeRule(
        code="GEN-CHG-435",
        kinds=POOLS,
        paths=of_pools("failureDomain", "deviceClass", "erasureCoded"),
        effect=Effect.IMPOSSIBLE,
        reason="an erasure-coded pool keeps the profile it was made with: Rook fails at it, or does nothing",
        instead="a new pool beside it, its own storage class, and the data copied",
        link="https://github.com/rook/rook/issues/15895",
        when=erasure_coded,
    ),
    ChangeRule(
        code="GEN-CHG-436",
        kinds=POOLS,
        paths=of_pools("replicated", "erasureCoded.dataChunks", "erasureCoded.codingChunks"),
        effect=Effect.IMPOSSIBLE,
        reason="a pool that is there stays what it is: copies cannot become chunks, nor chunks copies",
        instead="a new pool beside it, its own storage class, and the data copied",
        link="https://github.com/rook/rook/issues/1951",
        when=other_type,
    ),
    ChangeRule(
        code="GEN-CHG-437",
        kinds=POOLS,
        paths=of_pools("enableCrushUpdates"),
        effect=Effect.MOVES,
        reason="Rook brings the pool to the failure domain and class that stand there, where it has others",
        link=POOL_CRD,
        when=alive(turned_on),
    ),
    ChangeRule(
        code="GEN-CHG-438",
        kinds=POOLS,
        paths=of_pools("parameters.bulk"),
        effect=Effect.MOVES,
        reason="the autoscaler splits or merges the pool's placement groups, and Ceph moves data between disks",
        link=POOL_CRD,
        when=kept,
    ),
)

ROOM = (
    ChangeRule(
        code="GEN-CHG-440",
        kinds=POOLS,
        paths=of_pools("quotas.maxSize"),
        effect=Effect.NONE,
        reason="the pool may hold as much, or more",
        link=POOL_CRD,
        when=alive(not_lowered),
    ),
    ChangeRule(
        code="GEN-CHG-441",
        kinds=POOLS,
        paths=of_pools("quotas.maxSize"),
        effect=Effect.OUTAGE,
        reason="once the pool holds this much, writes to it stop: at once, if it does already",
        instead="compare with `ceph df` first",
        link=POOL_CRD,
        when=limited,
    ),
    ChangeRule(
        code="GEN-CHG-442",
        kinds=POOLS,
        paths=of_pools("quotas.maxSize"),
        effect=Effect.BY_HAND,
        reason="Rook sets quotas and takes none away: the pool keeps its former one",
        instead="`ceph osd pool set-quota POOL max_bytes 0`",
        link=CLIENT,
        when=alive(went),
    ),
)

POOL_CHANGES = (*COPIES, *ROOM)
