"""What it means when the files of the host firewall differ."""

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange


def leaves(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the whole file goes: nodes keep theirs."""
    return not change.new


def closes(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a rule goes that let somebody in, and others stay."""
    return not leaves(change, field) and " accept" in str(field.old) and " accept" not in str(field.new)


RULES = read_rules("kubeadm/firewall_changes.yaml", closes, leaves)
