"""What changes of quotas and queues mean, as Kueue acts on them.

Read in Kueue v0.18.3: `apis/kueue/v1beta2`, `pkg/controller/core`, and the rules of its CRDs. A job that runs is never
stopped because a quota shrinks: it is stopped when a waiting job of another queue gets its own quota back.
"""

from math import inf
from typing import Any

from generator.components.queues.object_changes import OBJECT_CHANGES
from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange, value_at
from generator.model.compared import came, lowered, raised
from generator.model.fields import dig, mapping

STRICTNESS = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any")
"""Kueue's policies of preemption, the gentlest first."""


def reclaims(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a queue stops jobs of others to get its own quota back."""
    return value_at(change.new, "spec.preemption.reclaimWithinCohort") not in (None, "Never")


def _more(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether more is owned. A flavor that comes brings a list of resources, many with nothing of them."""
    owned = [dig(one, "nominalQuota") for one in field.new] if isinstance(field.new, list) else [field.new]
    return raised(change, field) or (came(change, field) and any(str(one) not in ("0", "None") for one in owned))


def more_to_reclaim(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a queue owns more, and takes it from who borrows it."""
    return field.path[-1] != "name" and _more(change, field) and reclaims(change, field)


def nothing_to_reclaim(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a queue owns as much, or more which it takes from nobody."""
    return not lowered(change, field) and not more_to_reclaim(change, field)


def _items(value: object) -> set[object]:
    return set(value) if isinstance(value, list) else set()


def uncounted(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a kind of resource is counted no more."""
    return bool(_items(field.old) - _items(field.new))


def all_counted(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether every kind of resource that was counted still is."""
    return not uncounted(change, field)


def _strictness(value: object) -> int:
    return STRICTNESS.index(value) if value in STRICTNESS else 0


def _threshold(manifest: dict[str, Any]) -> float:
    """Return up to which priority a queue that must borrow stops jobs of others."""
    borrowing = mapping(value_at(manifest, "spec.preemption.borrowWithinCohort"))
    if _strictness(borrowing.get("policy")) == 0:
        return -inf
    threshold = borrowing.get("maxPriorityThreshold")
    return threshold if isinstance(threshold, int) else inf


def loosened(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a queue may stop more jobs than before: by another policy, or a higher threshold."""
    if "borrowWithinCohort" in field.path:
        return _threshold(change.new) > _threshold(change.old)
    return _strictness(field.new) > _strictness(field.old)


def tightened(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a queue may stop no more jobs than before."""
    return not loosened(change, field)


def released(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether nothing holds a queue any more."""
    return field.new in (None, "None") or not isinstance(field.new, str)


def held(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a queue is stopped."""
    return not released(change, field)


CHANGES = (
    *read_rules(
        "queues/changes.yaml",
        more_to_reclaim,
        nothing_to_reclaim,
        uncounted,
        all_counted,
        loosened,
        tightened,
        held,
        released,
    ),
    *OBJECT_CHANGES,
)
