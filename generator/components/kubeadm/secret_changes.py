"""What it means that other Secrets must exist: `bootstrap/secrets.yaml` lists them, and people make those of them that
nothing in the cluster makes.
"""

from generator.model.change import FILE, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import came, every, stayed, went
from generator.model.fields import sequence

LISTED = "[secrets.yaml].*"
BY_PEOPLE = ("given", "generated", "external")
"""Sources of Secrets that nothing in the cluster makes."""


def by_people(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a Secret has to be made by people now."""
    return field.new in BY_PEOPLE


def was_by_people(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a Secret was made by people."""
    return field.old in BY_PEOPLE


def holds_data(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether data cannot be read without the Secret."""
    return bool(field.old == "data")


def more_keys(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a Secret that is there needs further keys."""
    return bool(set(sequence(field.new)) - set(sequence(field.old)))


RULES = (
    ChangeRule(
        code="GEN-CHG-590",
        kinds=(FILE,),
        paths=(LISTED,),
        effect=Effect.NONE,
        reason="what the list says of a Secret starts nothing; one that the cluster makes itself comes by itself",
    ),
    ChangeRule(
        code="GEN-CHG-591",
        kinds=(FILE,),
        paths=(f"{LISTED}.source",),
        effect=Effect.BY_HAND,
        reason="what reads this Secret does not start before somebody has made it",
        instead="before the merge, run the commands that bootstrap/README.md has for it",
        when=every(came, by_people),
    ),
    ChangeRule(
        code="GEN-CHG-592",
        kinds=(FILE,),
        paths=(f"{LISTED}.source",),
        effect=Effect.BY_HAND,
        reason="the cluster made this Secret so far, and makes it no more: people must have it and renew it",
        instead="before the merge, run the commands that bootstrap/README.md has for it",
        when=every(stayed, by_people),
    ),
    ChangeRule(
        code="GEN-CHG-593",
        kinds=(FILE,),
        paths=(f"{LISTED}.keys",),
        effect=Effect.BY_HAND,
        reason="a Secret that is there needs another key: what reads it does not start without",
        instead="add the key to the Secret before the merge",
        when=every(stayed, more_keys),
    ),
    ChangeRule(
        code="GEN-CHG-594",
        kinds=(FILE,),
        paths=(f"{LISTED}.source",),
        effect=Effect.BY_HAND,
        reason="nothing that Git names reads this Secret any more; it stays, and whoever may read it can use it",
        instead="once nothing uses it, `kubectl delete` it, and end what it gives access to",
        when=every(went, was_by_people),
    ),
    ChangeRule(
        code="GEN-CHG-595",
        kinds=(FILE,),
        paths=(f"{LISTED}.loss",),
        effect=Effect.DATA_LOSS,
        armed=True,
        reason="nothing reads this Secret any more; once it is deleted, what was written with it can never be read",
        instead="keep a copy outside the cluster as long as such data is kept anywhere",
        when=every(went, holds_data),
    ),
)
