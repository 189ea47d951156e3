"""What changes of copies of datasets mean."""

from generator.components.datasets import FILLER
from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange


def is_ours(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it is what fills copies."""
    return change.application == FILLER


CHANGES = read_rules("dataset_cache/changes.yaml", is_ours)
