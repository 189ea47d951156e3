"""What it means that queues, flavors and classes come, go, or become others, as Kueue acts on it.

Read in Kueue v0.18.3: `pkg/controller/core`, and the rules of its CRDs.
"""

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange, value_at


def placed_by_topology(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a flavor had a topology, which the CRD fixes with what selects its nodes."""
    return value_at(change.old, "spec.topologyName") is not None


def below_another(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a cohort was one below another, as a department's is."""
    return bool(value_at(change.old, "spec.parentName"))


OBJECT_CHANGES = read_rules("queues/object_changes.yaml", placed_by_topology, below_another)
