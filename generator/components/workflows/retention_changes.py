"""What it means that somebody begins to keep a backup within its days, or does so for other days."""

from generator.components.workflows.changes import PARAMETERS, SCHEDULE, is_backup
from generator.model.change import ABSENT, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import every


def came(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether something was not there before."""
    return field.old is ABSENT


def _of(name: str) -> tuple[str, ...]:
    return (PARAMETERS.replace("*", name),)


KEPT = (
    ChangeRule(
        code="GEN-CHG-585",
        kinds=SCHEDULE,
        paths=_of("retention-secret"),
        effect=Effect.DATA_LOSS,
        reason="the next run hides from the backup all that was deleted in its source since it began, and the bucket "
        "removes that when its days are over",
        instead="bring back first what is still needed of it: `gen restore NAME`",
        when=every(is_backup, came),
    ),
    ChangeRule(
        code="GEN-CHG-586",
        kinds=SCHEDULE,
        paths=_of("lock-days"),
        effect=Effect.NONE,
        reason="the next run extends locks to other days; those that are there never end sooner",
        when=is_backup,
    ),
)
