"""What it means that somebody begins to keep a backup within its days, or does so for other days, and that more or
fewer of them run at once.
"""

from generator.components.rule_files import read_rules
from generator.components.workflows.changes import is_backup
from generator.components.workflows.turns import AT_ONCE
from generator.model.change import FieldChange, ObjectChange


def of_turns(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it is the ConfigMap of how many backups run at once."""
    return change.name == AT_ONCE


KEPT = read_rules("workflows/retention_changes.yaml", is_backup, of_turns)
