"""What it means that Secrets which people make need more keys, or are read no more: `bootstrap/secrets.yaml` lists
them.
"""

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange
from generator.model.fields import dig, sequence


def holds_data(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether data cannot be read without the Secret."""
    return bool(field.old == "data")


def more_keys(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a Secret that is there needs further keys."""
    return bool(set(sequence(field.new)) - set(sequence(field.old)))


def is_stored(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the values come from the site's store from now on."""
    return bool(field.new == "external")


def leaves_store(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the values come from the site's store no more, and the Secret is still listed."""
    old, new = (str(dig(one, field.path[0], "source")) for one in (change.old, change.new))
    return old == "external" and new in {"given", "generated"}


def keeps_data(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether data is written with the Secret that a field is about."""
    return bool(dig(change.new, field.path[0], "loss") == "data")


RULES = read_rules("kubeadm/secret_changes.yaml", is_stored, keeps_data, leaves_store, more_keys, holds_data)
