"""What changes of copies of datasets mean."""

from generator.components.datasets import FILLER
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange

KINDS = ("apps/DaemonSet",)


def is_ours(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it is what fills copies."""
    return change.application == FILLER


CHANGES = (
    ChangeRule(
        code="GEN-CHG-127",
        kinds=KINDS,
        on="removed",
        effect=Effect.OUTAGE,
        reason="the copies stay on the nodes' disks and grow old, and pods that read claim `cache-...` do not start "
        "any more once their volume is gone",
        instead="have the teams read claim `dataset-...` first",
        when=is_ours,
    ),
    ChangeRule(
        code="GEN-CHG-098",
        kinds=KINDS,
        paths=("spec.template",),
        effect=Effect.NONE,
        reason="what fills the copies starts again and looks whether they are whole; jobs read on",
        when=is_ours,
    ),
)
