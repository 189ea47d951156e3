"""What changes of Cilium's settings mean: those of its chart, and of the ConfigMap that the chart makes of them."""

from typing import Any

from generator.components.cilium.policy_changes import POLICY_CHANGES
from generator.components.rule_files import read_rules
from generator.model.change import (
    FieldChange,
    ObjectChange,
    named,
    value_at,
)
from generator.model.change import lower as comes_down
from generator.model.versions import minors, of, skips_a_minor

OURS = named("cilium", "cilium-config")


def lower(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the MTU comes down."""
    return OURS(change, field) and comes_down(change, field)


def appends(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether networks are added behind those that nodes have slices of."""
    old, new = _listed(field.old), _listed(field.new)
    return OURS(change, field) and bool(old) and len(new) > len(old) and new[: len(old)] == old


def _listed(value: object) -> list[Any]:
    """Return what a list has in the chart, and in the ConfigMap as one text."""
    return value.split() if isinstance(value, str) else value if isinstance(value, list) else []


def takes_away(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a network that nodes may have slices of goes, or their size changes."""
    return OURS(change, field) and not appends(change, field)


def stays(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether agents are not restarted with their settings."""
    return change.name == "cilium" and value_at(change.new, "values.rollOutCiliumPods") is False


def leaves(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a device is no longer among those that Cilium binds to."""
    old, new = _listed(field.old), _listed(field.new)
    return OURS(change, field) and bool(new) and any(device not in new for device in old)


def up_a_minor(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the version moves by one minor."""
    return change.name == "cilium" and minors(field) in {1, -1}


JUMPS = read_rules("cilium/jumps.yaml", up_a_minor, skips_a_minor=of("cilium", skips_a_minor))

CHANGES = (
    *read_rules(
        "cilium/changes.yaml", stays, takes_away, appends, lower, leaves, OURS=OURS, of_the_chart=named("cilium")
    ),
    *POLICY_CHANGES,
)
