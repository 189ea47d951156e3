"""What it means that Secrets which people make need more keys, or are read no more: `bootstrap/secrets.yaml` lists
them.
"""

from generator.model.change import SECRETS, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import every, stayed, went
from generator.model.fields import sequence


def holds_data(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether data cannot be read without the Secret."""
    return bool(field.old == "data")


def more_keys(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a Secret that is there needs further keys."""
    return bool(set(sequence(field.new)) - set(sequence(field.old)))


RULES = (
    ChangeRule(
        code="GEN-CHG-593",
        kinds=(SECRETS,),
        paths=("*.keys",),
        effect=Effect.BY_HAND,
        reason="a Secret that is there needs another key: what reads it does not start without",
        instead="add the key to the Secret before the merge",
        when=every(stayed, more_keys),
    ),
    ChangeRule(
        code="GEN-CHG-595",
        kinds=(SECRETS,),
        paths=("*.loss",),
        effect=Effect.DATA_LOSS,
        armed=True,
        reason="nothing reads this Secret any more; once it is deleted, what was written with it can never be read",
        instead="keep a copy outside the cluster as long as such data is kept anywhere",
        when=every(went, holds_data),
    ),
)
