"""What changes of Loki mean for the logs that it keeps."""

from generator.components.log_store.names import NAMESPACE
from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange
from generator.model.compared import came, named

is_ours = named(NAMESPACE, "loki")


def is_shorter(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether logs are kept for fewer hours than before."""
    old, new = str(field.old), str(field.new)
    return any("KEPT_HOURS" in str(step) for step in field.path) and old.isdecimal() and int(new or 0) < int(old)


def is_elsewhere(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether logs are kept in another bucket, or another store, than before."""
    return not came(change, field) and any(name in str(step) for step in field.path for name in ("STORE", "BUCKET"))


CHANGES = read_rules("log_store/changes.yaml", is_shorter, is_elsewhere, is_ours=is_ours)
