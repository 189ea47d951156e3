"""CronJobs that run less often: what they did, backups of somebody's among it, is done less often too."""

from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.cron import parse

_WORDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def _gap(schedule: object) -> int | None:
    """Return the longest time between two runs in seconds, None where it never runs, or nobody can read it."""
    try:
        return parse(_WORDS.get(str(schedule), str(schedule))).longest_gap or None
    except ValueError:
        return None


def rarer(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether more time passes between two runs than before, or nobody can tell."""
    old, new = _gap(field.old), _gap(field.new)
    return new is None or (old is not None and new > old)


SCHEDULES = (
    ChangeRule(
        code="GEN-CHG-777",
        kinds=("batch/CronJob",),
        paths=("spec.schedule",),
        effect=Effect.BY_HAND,
        reason="it runs less often, or never, until somebody changes that: where it is a backup more is lost with its "
        "source",
        instead="look at what it does before it runs less often",
        link="https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax",
        when=rarer,
    ),
)
