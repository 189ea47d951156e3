"""Changes after which backups stop, or do something else, though nothing that runs feels them (Argo Workflows v4.0.2:
`docs/cron-workflows.md`).
"""

from collections.abc import Iterator
from typing import Any

from generator.components.common import OWN_LABELS
from generator.components.rook_ceph import NAMESPACE
from generator.components.workflows.changes import BACKUP, PARAMETERS, SCHEDULE, TEMPLATE, is_backup
from generator.components.workflows.targets import WAY
from generator.model.change import ABSENT, Beside, ChangeRule, Effect, FieldChange, ObjectChange, value_at
from generator.model.compared import every, lowered, named, went
from generator.model.cron import parse
from generator.model.fields import dig, sequence

DOCS = "https://argo-workflows.readthedocs.io/en/stable/cron-workflows/"
_REFERENCE = "spec.workflowSpec.workflowTemplateRef.name"


def _runs(schedule: object) -> bool:
    try:
        return not parse(str(schedule)).never
    except ValueError:
        return False


def never_runs(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether no schedule is left that can be read and has a day."""
    return not any(map(_runs, sequence(field.new)))


def is_said(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a condition came, or is another one."""
    return field.new is not ABSENT


def reads_elsewhere(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field says which server is read or written, on which way, or with which keys."""
    said = ("source-url", "target-url", "source-secret", "target-secret", "place", *WAY)
    ends = [f"[{one}]" for one in said]
    return any(str(step) in ends for step in field.path)


def names_none(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether the template that is named is not there, among those that are seen."""
    name = value_at(change.new, _REFERENCE)
    there = {dig(one, "metadata", "name") for one in beside.new.get(TEMPLATE[0], ())}
    return name is not None and is_backup(change, _field) and name not in there


def _named_by_backups(beside: Beside) -> Iterator[Any]:
    for one in beside.new.get(SCHEDULE[0], ()):
        if value_at(one, f"{BACKUP}[{OWN_LABELS}/backup]"):
            yield value_at(one, _REFERENCE)


def a_backup_needs_it(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether a backup that stays names the template."""
    return change.name in _named_by_backups(beside)


STOPPING = (
    ChangeRule(
        code="GEN-CHG-769",
        kinds=SCHEDULE,
        paths=("spec.schedules",),
        effect=Effect.DATA_LOSS,
        reason="no backup runs after this: no schedule is left that ever comes; what is written from now on is lost "
        "with its source",
        instead="keep a schedule, or take the backup out where people see it",
        link=DOCS,
        when=every(is_backup, never_runs),
        settles=1,
    ),
    ChangeRule(
        code="GEN-CHG-778",
        kinds=SCHEDULE,
        paths=("spec.when", "spec.stopStrategy"),
        effect=Effect.BY_HAND,
        reason="no backup runs after this where the condition says so, until somebody changes it: nothing else tells",
        instead="`suspend: true` where it is to stop, which people see",
        link=DOCS,
        when=every(is_backup, is_said),
    ),
    ChangeRule(
        code="GEN-CHG-779",
        kinds=SCHEDULE,
        paths=("spec.workflowSpec",),
        effect=Effect.UNKNOWN,
        reason="the next run does something else: nobody has written down whether it still copies everything",
        instead="run it once by hand (`gen workflow submit NAME`), and look at what it copied",
        when=is_backup,
    ),
    ChangeRule(
        code="GEN-CHG-782",
        kinds=SCHEDULE,
        paths=(PARAMETERS,),
        effect=Effect.BY_HAND,
        reason="the next run reads, or writes, another server or with other keys: where they do not fit no backup runs "
        "after this, and what the former server holds is copied no more",
        instead="run it once by hand (`gen workflow submit NAME`), and look at what it copied",
        when=every(is_backup, reads_elsewhere),
    ),
    ChangeRule(
        code="GEN-CHG-783",
        kinds=SCHEDULE,
        paths=("spec.workflowSpec.workflowTemplateRef",),
        effect=Effect.DATA_LOSS,
        reason="no backup runs after this: the template that it names is not there",
        instead="name the one that is there",
        link=DOCS,
        beside=names_none,
    ),
    ChangeRule(
        code="GEN-CHG-784",
        kinds=TEMPLATE,
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="no backup runs after this: it names this template, and fails each time",
        instead="take the backup out first, or keep the template",
        link=DOCS,
        beside=a_backup_needs_it,
    ),
    ChangeRule(
        code="GEN-CHG-793",
        kinds=TEMPLATE,
        paths=("spec",),
        but=("spec.templates.*.container.image",),
        effect=Effect.UNKNOWN,
        reason="the next backup does something else: nobody has written down whether it still copies everything",
        instead="read it, and run one backup by hand",
        when=named(NAMESPACE, "backup"),
    ),
    ChangeRule(
        code="GEN-CHG-794",
        kinds=SCHEDULE,
        paths=(BACKUP,),
        effect=Effect.BY_HAND,
        reason="it is no longer marked as a backup: whoever counts backups by the mark, alerts among them, misses none "
        "when it fails or goes",
        instead="keep the label as long as it copies",
        when=every(is_backup, went),
    ),
    ChangeRule(
        code="GEN-CHG-795",
        kinds=SCHEDULE,
        paths=("spec.startingDeadlineSeconds",),
        effect=Effect.BY_HAND,
        reason="a run that could not start in this time, as while its controller was away, is left out: no backup runs "
        "before the next date",
        instead="an hour, which a restart of the controller fits into",
        link=DOCS,
        armed=True,
        when=every(is_backup, lowered),
    ),
)
