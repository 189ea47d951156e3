"""What it means when nodes come or go, and when the files differ that people bring to them."""

from generator.components.kubeadm.firewall_changes import RULES as WALLS
from generator.components.rule_files import read_rules
from generator.model.change import ABSENT, FieldChange, ObjectChange


def serves(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether nodes are of the control plane."""
    return "controlPlane" in (change.old or change.new)


def evicts(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a taint comes that no pod may stay with."""
    return str(field.path[-1]).endswith(":NoExecute") and field.new is not ABSENT


def is_made(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a person must make a Secret from now on."""
    return field.path[1:] == ("source",) and field.new in {"given", "generated"}


def is_key(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether another kind of key is made for Secrets at rest."""
    return all("encryption-key.sh" in str(line) for line in (field.old, field.new))


RULES = (*read_rules("kubeadm/node_changes.yaml", serves, evicts, is_made, is_key), *WALLS)
