"""What changes of Loki mean for the logs that it keeps."""

from generator.components.log_store.names import NAMESPACE
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import came, every, named

LOKI = ("apps/StatefulSet",)
ENVIRONMENT = "spec.template.spec.containers.*.env"
RETENTION = "https://grafana.com/docs/loki/latest/operations/storage/retention/"

is_ours = named(NAMESPACE, "loki")


def is_shorter(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether logs are kept for fewer hours than before."""
    old, new = str(field.old), str(field.new)
    return any("KEPT_HOURS" in str(step) for step in field.path) and old.isdecimal() and int(new or 0) < int(old)


def is_elsewhere(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether logs are kept in another bucket, or another store, than before."""
    return not came(change, field) and any(name in str(step) for step in field.path for name in ("STORE", "BUCKET"))


CHANGES = (
    ChangeRule(
        code="GEN-CHG-660",
        kinds=LOKI,
        paths=(f"{ENVIRONMENT}.*",),
        effect=Effect.OUTAGE,
        reason="logs that are older than it says now are deleted within hours, and nothing has a copy of them",
        instead="keep it as it is, unless nobody asks for them any more",
        link=RETENTION,
        when=every(is_ours, is_shorter),
    ),
    ChangeRule(
        code="GEN-CHG-661",
        kinds=LOKI,
        paths=(f"{ENVIRONMENT}.*",),
        effect=Effect.MOVES,
        reason="Loki begins with an empty bucket: what is in the former one stays there, and is in no answer any more; "
        "nothing deletes it when it is too old",
        instead="copy the former bucket's objects into the new one first; delete them when nobody asks for them",
        link=RETENTION,
        when=every(is_ours, is_elsewhere),
    ),
)
