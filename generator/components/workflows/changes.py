"""What changes of backups mean: what runs goes on, the next run follows."""

from math import inf

from generator.components.common import OWN_LABELS
from generator.components.rook_ceph import NAMESPACE
from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange, value_at
from generator.model.compared import named
from generator.model.cron import parse
from generator.model.fields import sequence

SCHEDULE = ("argoproj.io/CronWorkflow",)
TEMPLATE = ("argoproj.io/WorkflowTemplate",)
BACKUP = "spec.workflowMetadata.labels"


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


CHANGES = read_rules(
    "workflows/changes.yaml", is_backup, thinner, of_the_bucket, of_its_scripts=named(NAMESPACE, "backup-scripts")
)
