"""What changes of drills mean: nothing stops, and nobody learns any more whether a backup brings anything back."""

from generator.components.rule_files import read_rules
from generator.components.workflows.changes import BACKUP as LABELS
from generator.components.workflows.scheduled import DRILL, label
from generator.model.change import FieldChange, ObjectChange, value_at


def is_drill(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a schedule was a drill's."""
    return bool(value_at(change.old, f"{LABELS}[{label(DRILL)}]"))


DRILLS = read_rules("workflows/drill_changes.yaml", is_drill)
