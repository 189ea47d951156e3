"""Changes after which backups stop, or do something else, though nothing that runs feels them (Argo Workflows v4.0.2:
`docs/cron-workflows.md`).
"""

from collections.abc import Iterator
from typing import Any

from generator.components.common import OWN_LABELS
from generator.components.rook_ceph import NAMESPACE
from generator.components.rule_files import read_rules
from generator.components.workflows.changes import BACKUP, SCHEDULE, TEMPLATE, is_backup
from generator.components.workflows.targets import WAY
from generator.model.change import ABSENT, Beside, FieldChange, ObjectChange, value_at
from generator.model.compared import named
from generator.model.cron import parse
from generator.model.fields import dig, sequence

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


STOPPING = read_rules(
    "workflows/stopping.yaml",
    is_backup,
    never_runs,
    is_said,
    reads_elsewhere,
    names_none,
    a_backup_needs_it,
    of_the_operation=named(NAMESPACE, "backup"),
)
