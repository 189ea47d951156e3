"""What it means when an Application goes, or when it is to take what it holds with it (Argo CD v3.5.3)."""

from generator.components.rule_files import read_rules
from generator.model.change import Beside, FieldChange, ObjectChange
from generator.model.compared import cascades, is_protected


def goes_alone(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an Application leaves what it holds."""
    return not cascades(change.old) and not is_protected(change, field)


def takes_along(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an Application is deleted with what it holds."""
    return cascades(change.old) and not is_protected(change, field)


def holds_unseen(change: ObjectChange, field: FieldChange, beside: Beside) -> bool:
    """Tell whether an Application takes along what was not built, so that none of it is told by itself."""
    return takes_along(change, field) and change.name not in beside.built


def begins(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether an Application takes along what it holds from now on."""
    return cascades(change.new) and not cascades(change.old)


def ends(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether an Application leaves what it holds from now on."""
    return cascades(change.old) and not cascades(change.new)


DELETION_CHANGES = read_rules("argo_cd/deletion_changes.yaml", goes_alone, takes_along, holds_unseen, begins, ends)
