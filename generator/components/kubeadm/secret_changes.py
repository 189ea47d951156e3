"""What it means that Secrets which people make need more keys, or are read no more: `bootstrap/secrets.yaml` lists
them.
"""

from generator.model.change import SECRETS, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import came, every, stayed, went
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


RULES = (
    ChangeRule(
        code="GEN-CHG-882",
        kinds=(SECRETS,),
        paths=("*.source",),
        effect=Effect.BY_HAND,
        reason="its values come from the site's store, and overwrite those that the cluster has; without the entry the "
        "component that reads it goes no further",
        instead="put into the store, before the merge, the very values that the cluster has, under `entry`",
        when=every(stayed, is_stored),
    ),
    ChangeRule(
        code="GEN-CHG-883",
        kinds=(SECRETS,),
        paths=("*.source",),
        effect=Effect.DATA_LOSS,
        reason="data was written with this Secret, and the store overwrites it: with another value there, that data "
        "cannot be read any more",
        instead="put into the store, before the merge, the very value that the cluster has, under `entry`, and compare",
        when=every(stayed, is_stored, keeps_data),
    ),
    ChangeRule(
        code="GEN-CHG-884",
        kinds=(SECRETS,),
        paths=("*.source", "*.entry"),
        effect=Effect.NONE,
        reason="the Secret stays with the values that it has, and no longer follows the site's store",
        when=leaves_store,
    ),
    ChangeRule(
        code="GEN-CHG-885",
        kinds=(SECRETS,),
        paths=("*.entry",),
        effect=Effect.BY_HAND,
        reason="its values come from another entry of the site's store, and overwrite those that the cluster has",
        instead="put the very values that the cluster has under the new entry, before the merge",
        when=stayed,
    ),
    ChangeRule(
        code="GEN-CHG-886",
        kinds=(SECRETS,),
        paths=("*.entry",),
        effect=Effect.DATA_LOSS,
        reason="data was written with this Secret, and another entry of the store overwrites it: with another value "
        "there, that data cannot be read any more",
        instead="put the very value that the cluster has under the new entry, before the merge, and compare",
        when=every(stayed, keeps_data),
    ),
    ChangeRule(
        code="GEN-CHG-887",
        kinds=(SECRETS,),
        paths=("*.source",),
        effect=Effect.BY_HAND,
        reason="the component that reads it goes no further before the site's store has it",
        instead="put it into the store, under `entry`, before the merge",
        when=every(came, is_stored),
    ),
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
