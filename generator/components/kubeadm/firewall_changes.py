"""What it means when the files of the host firewall differ."""

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange


def closes(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a rule goes that let somebody in. A file that leaves whole closes nothing: nodes keep theirs."""
    leaves = any("policy drop" in str(line.old) for line in change.fields)
    return not leaves and " accept" in str(field.old) and " accept" not in str(field.new)


RULES = read_rules("kubeadm/firewall_changes.yaml", closes)
