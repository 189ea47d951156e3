"""What changes of Ceph's pools mean, wherever they stand, as Rook acts on them.

Read in Rook v1.20.6, `pkg/daemon/ceph/client/pool.go`, which makes all pools alike.
"""

from collections.abc import Mapping
from typing import Any

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange
from generator.model.compared import came, lowered, raised, same_amount
from generator.model.fields import dig, mapping, sequence

SAFE = 3
"""Copies from which on one can be lost while another is away."""


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


POOL_CHANGES = read_rules(
    "ceph_cluster/pool_changes.yaml",
    kept,
    unsafe,
    moved_by_rook,
    left_by_rook,
    erasure_coded,
    other_type,
    not_lowered,
    limited,
)
