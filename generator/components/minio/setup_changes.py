"""What changes of buckets and users mean, as `setup.sh` carries them out: it sets states and removes no bucket."""

import json
from typing import Any

from msgspec import Struct

from generator.components.minio.layout import NAMESPACE
from generator.components.minio.policy_rights import loses_rights
from generator.components.rule_files import read_rules
from generator.model.change import ABSENT, FieldChange, ObjectChange
from generator.model.compared import Condition, every, named
from generator.model.fields import dig, sequence

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


SETUP_CHANGES = read_rules(
    "minio/setup_changes.yaml",
    bucket_left,
    expires_sooner,
    expires_not_sooner,
    user_left,
    users_kept,
    rights_lost,
    rights_kept,
    is_ours=is_ours,
    lock_asked=_any_bucket(lock_asked),
    lock_shorter=_any_bucket(lock_shorter),
    no_longer_asked=_any_bucket(no_longer_asked),
    less_room=_any_bucket(less_room),
)
