"""What changes of buckets and users take from what is stored, and whom they let at it."""

from collections.abc import Iterator

from generator.components.minio.setup_changes import KINDS, RETENTION, is_ours, least_days, rights_of
from generator.model.change import ABSENT, Beside, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import every
from generator.model.fields import dig
from generator.model.opening import OpeningRule, Opens, texts


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


RETAINED: tuple[ChangeRule, ...] = (
    ChangeRule(
        code="GEN-CHG-796",
        kinds=KINDS,
        paths=("data.*",),
        effect=Effect.DATA_LOSS,
        reason="objects, or their former versions, go by themselves that stayed until now: the oldest within a day, "
        "but for those still locked",
        instead="copy what is needed first",
        link=RETENTION,
        when=every(is_ours, lambda change, field: begins_to_expire(change, field) or objects_go(change, field)),
    ),
    OpeningRule(
        code="GEN-CHG-797",
        kinds=KINDS,
        opens=Opens.RIGHTS,
        gains=user_rights,
        reason="a user of MinIO may do more in its buckets: one that may delete there can take the copies too",
        instead="the actions on the buckets that are needed",
        link="https://github.com/minio/minio/blob/master/docs/multi-user/README.md",
    ),
)
