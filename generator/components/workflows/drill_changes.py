"""What changes of drills mean: nothing stops, and nobody learns any more whether a backup brings anything back."""

from generator.components.workflows.changes import BACKUP as LABELS
from generator.components.workflows.changes import SCHEDULE
from generator.components.workflows.scheduled import DRILL, label
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange, value_at
from generator.model.compared import every, turned_on

REASON = "nobody tries the backup any more: that it brings nothing back is then found when it is needed"
INSTEAD = "keep it, or try the backup by hand from time to time: `gen workflow submit NAME`"


def is_drill(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a schedule was a drill's."""
    return bool(value_at(change.old, f"{LABELS}[{label(DRILL)}]"))


DRILLS = (
    ChangeRule(
        code="GEN-CHG-951",
        kinds=SCHEDULE,
        on="removed",
        effect=Effect.BY_HAND,
        reason=REASON,
        instead=INSTEAD,
        when=is_drill,
    ),
    ChangeRule(
        code="GEN-CHG-952",
        kinds=SCHEDULE,
        paths=("spec.suspend",),
        effect=Effect.BY_HAND,
        reason=REASON,
        instead=INSTEAD,
        when=every(is_drill, turned_on),
    ),
)
