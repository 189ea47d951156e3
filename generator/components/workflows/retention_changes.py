"""What it means that somebody begins to keep a backup within its days, or does so for other days, and that more or
fewer of them run at once.
"""

from generator.components.workflows.changes import PARAMETERS, SCHEDULE, is_backup
from generator.components.workflows.turns import AT_ONCE
from generator.model.change import ABSENT, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import every


def came(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether something was not there before."""
    return field.old is ABSENT


def of_turns(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it is the ConfigMap of how many backups run at once."""
    return change.name == AT_ONCE


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
    ChangeRule(
        code="GEN-CHG-587",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.NONE,
        reason="what runs keeps its turn; what waits begins when one ends, as many at once as it says then",
        when=of_turns,
    ),
)
