"""What changes of the backups of volumes mean: a run that goes on keeps what it started with, the next one follows."""

from math import inf

from generator.components.rule_files import read_rules
from generator.model.change import ABSENT, FieldChange, ObjectChange
from generator.model.cron import parse


def _days(within: object) -> float:
    """Return for how many days backups are kept, 0 where nobody can tell: gen writes days alone."""
    text = str(within).removesuffix("d")
    return float(text) if text.isdigit() else 0


def shorter(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether backups are kept for less time, or nobody says for how long."""
    return field.new is ABSENT or _days(field.new) < _days(field.old)


def _gap(schedule: object) -> float:
    try:
        return parse(str(schedule)).longest_gap or inf
    except ValueError:
        return inf


def thinner(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether more time passes between two backups, or none is made any more."""
    return _gap(field.new) > _gap(field.old)


CHANGES = read_rules("volsync/changes.yaml", thinner, shorter)
