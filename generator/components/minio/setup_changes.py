"""What changes of buckets and users mean, as `setup.sh` carries them out: it sets states and removes no bucket."""

import json
from typing import Any

from msgspec import Struct

from generator.components.minio.layout import NAMESPACE
from generator.components.minio.policy_rights import loses_rights
from generator.model.change import ABSENT, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import Condition, every, named
from generator.model.fields import dig, sequence

KINDS = ("/ConfigMap",)
RETENTION = "https://github.com/minio/minio/blob/master/docs/bucket/retention/README.md"

is_ours = named(NAMESPACE, "minio-setup")


class _Bucket(Struct, frozen=True):
    lock: str
    versions: str
    quota: str


def _buckets(value: object) -> dict[str, _Bucket]:
    rows = [line.split() for line in value.splitlines()] if isinstance(value, str) else []
    return {row[0]: _Bucket(*row[1:]) for row in rows if len(row) == 4}


def _any_bucket(holds: Any) -> Condition:
    """Return the condition that something holds of a bucket that is there before and after."""

    def found(_change: ObjectChange, field: FieldChange) -> bool:
        old, new = _buckets(field.old), _buckets(field.new)
        return any(holds(old[name], new[name]) for name in old.keys() & new.keys())

    return every(is_ours, found)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def bucket_left(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a bucket is no longer named."""
    return bool(_buckets(field.old).keys() - _buckets(field.new).keys())


def lock_asked(old: _Bucket, new: _Bucket) -> bool:
    """Tell whether a bucket that is there shall lock its objects."""
    return old.lock == "-" != new.lock


def lock_shorter(old: _Bucket, new: _Bucket) -> bool:
    """Tell whether objects are locked for fewer days."""
    return 0 < _number(new.lock) < _number(old.lock)


def no_longer_asked(old: _Bucket, new: _Bucket) -> bool:
    """Tell whether a bucket needs no lock, or no versions, any more."""
    return old.lock != "-" == new.lock or (old.versions, new.versions) == ("on", "off")


def less_room(old: _Bucket, new: _Bucket) -> bool:
    """Tell whether a bucket may hold less than before."""
    return new.quota != "-" and (old.quota == "-" or _number(new.quota) < _number(old.quota))


def json_of(value: object) -> Any:
    """Return what a text says, None where it is no JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return None


def least_days(value: object, *way: str) -> int | None:
    """Return the least number of days that rules of a lifecycle say at a place, None where none says one."""
    days = [dig(one, *way) for one in sequence(dig(json_of(value), "Rules"))]
    return min((day for day in days if isinstance(day, int)), default=None)


def _days(value: object) -> int | None:
    """Return after how many days former versions go, None where they stay."""
    return least_days(value, "NoncurrentVersionExpiration", "NoncurrentDays")


def expires_sooner(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether former versions of a bucket's objects go after fewer days."""
    old, new = _days(field.old), _days(field.new)
    return new is not None and old is not None and new < old


def expires_not_sooner(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether former versions stay as long as before, or longer, or the bucket is new."""
    return str(field.path[1]).startswith("lifecycle-") and not expires_sooner(change, field)


def rights_of(value: object) -> set[tuple[str, str]]:
    """Return each action on each resource that a policy allows."""
    return {
        (str(action), str(resource))
        for one in sequence(dig(json_of(value), "Statement"))
        if dig(one, "Effect") != "Deny"
        for action in sequence(dig(one, "Action"))
        for resource in sequence(dig(one, "Resource"))
    }


def rights_lost(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a user that is there may do less."""
    return ABSENT not in (field.old, field.new) and loses_rights(json_of(field.old), json_of(field.new))


def rights_kept(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a policy takes nothing from its user, or leaves with it."""
    return str(field.path[1]).startswith("policy-") and not rights_lost(change, field)


def _users(value: object) -> set[str]:
    return set(value.split()) if isinstance(value, str) else set()


def user_left(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a user is no longer named."""
    return bool(_users(field.old) - _users(field.new))


def users_kept(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether every user that was named still is."""
    return not user_left(change, field)


BUCKETS = (
    ChangeRule(
        code="GEN-CHG-482",
        kinds=KINDS,
        paths=("data.buckets",),
        effect=Effect.NONE,
        reason="the Job after the sync makes or sets it; what is stored stays",
        when=is_ours,
    ),
    ChangeRule(
        code="GEN-CHG-483",
        kinds=KINDS,
        paths=("data.buckets",),
        effect=Effect.BY_HAND,
        reason="a bucket that is no longer named stays, with all objects and its rules",
        instead="`mc rb --force` it when nobody needs it; locked versions keep it until their date",
        when=every(is_ours, bucket_left),
    ),
    ChangeRule(
        code="GEN-CHG-484",
        kinds=KINDS,
        paths=("data.buckets",),
        effect=Effect.IMPOSSIBLE,
        reason="a bucket gets object lock only when it is made, as each with versions does now: where one was made "
        "before, or without versions, the Job fails, and the sync with it",
        instead="a new bucket with a lock, and the objects copied; none is needed where `mc retention info --default` "
        "of the bucket ends without an error",
        link=RETENTION,
        when=_any_bucket(lock_asked),
    ),
    ChangeRule(
        code="GEN-CHG-485",
        kinds=KINDS,
        paths=("data.buckets",),
        effect=Effect.DATA_LOSS,
        reason="what is written from now on can be deleted sooner by who holds MinIO's root key; what is there keeps "
        "its date",
        instead="keep the lock as long as such objects matter",
        link=RETENTION,
        when=_any_bucket(lock_shorter),
    ),
    ChangeRule(
        code="GEN-CHG-486",
        kinds=KINDS,
        paths=("data.buckets",),
        effect=Effect.BY_HAND,
        reason="the Job turns neither lock nor versions off: the bucket stays as it is",
        instead="`mc retention clear --default`; versions stay where a bucket was made with object lock, as each with "
        "versions is: for one without them copy into a new bucket",
        link=RETENTION,
        when=_any_bucket(no_longer_asked),
    ),
    ChangeRule(
        code="GEN-CHG-487",
        kinds=KINDS,
        paths=("data.buckets",),
        effect=Effect.OUTAGE,
        reason="once the bucket holds this much, writes to it are refused: at once, if it does already",
        instead="compare with `mc du --versions` first",
        when=_any_bucket(less_room),
    ),
    ChangeRule(
        code="GEN-CHG-488",
        kinds=KINDS,
        paths=("data.*",),
        effect=Effect.DATA_LOSS,
        reason="former versions that are older than the fewer days now go within a day, but for those still locked",
        instead="keep the days, or copy what is needed first",
        when=every(is_ours, expires_sooner),
    ),
    ChangeRule(
        code="GEN-CHG-489",
        kinds=KINDS,
        paths=("data.*",),
        effect=Effect.NONE,
        reason="former versions stay as long as before, or longer",
        when=every(is_ours, expires_not_sooner),
    ),
)

USERS = (
    ChangeRule(
        code="GEN-CHG-490",
        kinds=KINDS,
        paths=("data.users",),
        effect=Effect.OUTAGE,
        reason="the Job after the sync disables the key of a user that is no longer named: whoever uses it is refused",
        instead="give its readers another key first",
        when=every(is_ours, user_left),
    ),
    ChangeRule(
        code="GEN-CHG-491",
        kinds=KINDS,
        paths=("data.users",),
        effect=Effect.NONE,
        reason="the Job after the sync makes the user, with the keys of its Secret",
        when=every(is_ours, users_kept),
    ),
    ChangeRule(
        code="GEN-CHG-492",
        kinds=KINDS,
        paths=("data.*",),
        effect=Effect.OUTAGE,
        reason="a user may do less: what it still does there is refused after the sync",
        when=every(is_ours, rights_lost),
    ),
    ChangeRule(
        code="GEN-CHG-493",
        kinds=KINDS,
        paths=("data.*",),
        effect=Effect.NONE,
        reason="the user may do as much as before, or more; or it leaves, and with it what it may do",
        when=every(is_ours, rights_kept),
    ),
)

SETUP_CHANGES = (*BUCKETS, *USERS)
