"""What changes of backups mean: what runs goes on, the next run follows."""

from math import inf

from generator.components.common import OWN_LABELS
from generator.components.rook_ceph import NAMESPACE
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange, value_at
from generator.model.compared import every, named, turned_on
from generator.model.cron import parse
from generator.model.fields import sequence

SCHEDULE = ("argoproj.io/CronWorkflow",)
TEMPLATE = ("argoproj.io/WorkflowTemplate",)
BACKUP = "spec.workflowMetadata.labels"
PARAMETERS = "spec.workflowSpec.arguments.parameters.*"


def is_backup(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a schedule is a backup's."""
    labels = [value_at(side, f"{BACKUP}[{OWN_LABELS}/backup]") for side in (change.old, change.new)]
    return any(labels)


def _longest_gap(schedules: object) -> float | None:
    """Return the longest time in seconds between two runs, None where nobody can tell."""
    try:
        gaps = [parse(str(one)).longest_gap or inf for one in sequence(schedules)]
    except ValueError:
        return None
    return min(gaps, default=None)


def thinner(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether more time passes between two runs than before."""
    old, new = _longest_gap(field.old), _longest_gap(field.new)
    return old is not None and new is not None and new > old


def of_the_bucket(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field says which bucket, or folder, is read or written."""
    return any(str(step) in ("[source-bucket]", "[target-bucket]", "[claim]", "[folder]") for step in field.path)


CHANGES = (
    ChangeRule(
        code="GEN-CHG-570",
        kinds=SCHEDULE,
        paths=("spec",),
        effect=Effect.NONE,
        reason="a run that goes on keeps what it started with; the next one follows",
    ),
    ChangeRule(
        code="GEN-CHG-571",
        kinds=SCHEDULE,
        paths=("spec.schedules",),
        effect=Effect.DATA_LOSS,
        reason="more time passes between two copies: what was written since the last one is lost with its source",
        instead="keep the schedule, unless so much work may be lost",
        when=every(is_backup, thinner),
    ),
    ChangeRule(
        code="GEN-CHG-572",
        kinds=SCHEDULE,
        paths=("spec.suspend",),
        effect=Effect.DATA_LOSS,
        reason="nothing is copied any more: what is written from now on is lost with its source, and copies expire",
        instead="say when it goes on, or take the backup out",
        when=every(is_backup, turned_on),
    ),
    ChangeRule(
        code="GEN-CHG-573",
        kinds=SCHEDULE,
        paths=(f"{PARAMETERS}.value",),
        effect=Effect.MOVES,
        reason="the next run copies everything into another bucket, and nobody looks after the copies that are there; "
        "out of another bucket it copies nothing, unless it is told once with `shrink-percent=100`",
        instead="a backup of another name beside it, until the former copies may expire",
        when=every(is_backup, of_the_bucket),
    ),
    ChangeRule(
        code="GEN-CHG-574",
        kinds=SCHEDULE,
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="nothing is copied any more: what is written from now on is lost with its source; the copies that are "
        "there stay, and their former versions expire",
        instead="keep it as long as the data matters",
        when=is_backup,
    ),
    ChangeRule(
        code="GEN-CHG-575",
        kinds=SCHEDULE,
        on="renamed",
        effect=Effect.MOVES,
        reason="the first run of the new one compares with the last record of the former; drills and restores know "
        "none of those, until it has ended",
        when=is_backup,
    ),
    ChangeRule(
        code="GEN-CHG-576",
        kinds=TEMPLATE,
        paths=("spec",),
        effect=Effect.NONE,
        reason="workflows that run keep what they started with; those that start from now on follow",
    ),
    ChangeRule(
        code="GEN-CHG-577",
        kinds=TEMPLATE,
        on="removed",
        effect=Effect.OUTAGE,
        reason="what names it fails from now on",
        instead="take out first what names it",
    ),
    ChangeRule(
        code="GEN-CHG-578",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.UNKNOWN,
        reason="the next backup runs it: nobody has written down whether it still copies everything",
        instead="read it, and run one backup by hand",
        when=named(NAMESPACE, "backup-scripts"),
    ),
)
