"""What changes of buckets and users take from what is stored, and whom they let at it."""

from collections.abc import Iterator

from generator.components.minio.setup_changes import is_ours, least_days, rights_of
from generator.components.rule_files import read_rules
from generator.model.change import ABSENT, Beside, FieldChange, ObjectChange
from generator.model.fields import dig
from generator.model.opening import texts


def _days(value: object) -> int | None:
    """Return after how many days current objects go by themselves, None where they stay."""
    return least_days(value, "Expiration", "Days")


def _is_lifecycle(field: FieldChange) -> bool:
    return len(field.path) > 1 and str(field.path[1]).startswith("lifecycle-")


def _stood(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the bucket of a lifecycle was there: in a new one there is nothing to lose."""
    bucket = str(field.path[-1]).removeprefix("lifecycle-").removesuffix(".json")
    stood = [line.split()[:1] for line in str(dig(change.old, "data", "buckets") or "").splitlines()]
    return _is_lifecycle(field) and (field.old is not ABSENT or [bucket] in stood)


def begins_to_expire(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a bucket that was there gets days after which former versions go, having had none."""
    return field.old is ABSENT and _stood(change, field)


def objects_go(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether objects go by themselves that stayed, or sooner than before."""
    old, new = _days(field.old), _days(field.new)
    return _stood(change, field) and new is not None and (old is None or new < old)


def user_rights(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield what users of MinIO may do that they could not."""
    if not is_ours(change, FieldChange((), None, None)):
        return
    old, new = (texts(dig(side, "data")) for side in (change.old, change.new))
    for key, text in new.items():
        if key.startswith("policy-"):
            user = key.removeprefix("policy-").removesuffix(".json")
            gained = sorted(rights_of(text) - rights_of(old.get(key)))
            yield from (f"{user}: {action} on {resource}" for action, resource in gained)


RETAINED = read_rules(
    "minio/openings.yaml",
    user_rights,
    is_ours=is_ours,
    expires_from_now_on=lambda change, field: begins_to_expire(change, field) or objects_go(change, field),
)
