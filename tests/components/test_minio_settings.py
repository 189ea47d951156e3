import json
from typing import Any

import pytest

from generator.components.minio import trial
from generator.components.minio.backed_up import OWNER, READER, RESTORER
from generator.components.minio.metrics import USER as METRICS
from generator.components.minio.settings import policy, settings
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import Bucket, Lock, Objects, ObjectUser

BACKING_UP = f"{READER}\n{RESTORER}\n{OWNER}\n"


def test_buckets_and_users_as_the_script_reads_them(ml50: Cluster) -> None:
    buckets = (
        Bucket(name="locked", lock=Lock(days=30), versioning=False, quota=Quantity.parse("300T")),
        Bucket(name="open"),
        Bucket(name="flat", versioning=False, expire_versions=9),
    )
    users = tuple(ObjectUser(name=name, buckets=("open",)) for name in ("copier", "reader"))
    found = settings(ml50, Objects(pool="nas", buckets=buckets, users=users))["data"]
    assert (
        found["buckets"]
        == "locked 30 on 300000000000000\nopen - on -\nflat - off -\n" + f"{trial.NAME} - off {trial.ROOM}\n"
    )
    assert found["users"] == f"copier\nreader\n{BACKING_UP}{METRICS}\n{trial.NAME}\n"
    (rule,) = json.loads(found["lifecycle-flat.json"])["Rules"]
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 9}


@pytest.mark.parametrize(
    ("access", "may", "may_not"),
    [
        ("read", {"GetObject", "ListBucket"}, {"PutObject", "DeleteObject"}),
        ("backup", {"GetObject", "ListBucket", "PutObject"}, {"DeleteObject", "DeleteObjectVersion"}),
        ("write", {"GetObject", "PutObject", "DeleteObject"}, {"DeleteObjectVersion"}),
        ("retention", {"GetObject", "DeleteObject"}, {"PutObject", "DeleteObjectVersion", "PutObjectRetention"}),
    ],
)
def test_rights(access: Any, may: set[str], may_not: set[str]) -> None:
    statements = policy(ObjectUser(name="u", buckets=("a", "b"), access=access))["Statement"]
    allowed, denied = ([one for one in statements if one["Effect"] == effect] for effect in ("Allow", "Deny"))
    actions = {action.removeprefix("s3:") for statement in allowed for action in statement["Action"]}
    refused = [action.removeprefix("s3:") for statement in denied for action in statement["Action"]]
    only = [f"{one}{of}" for one, of in (("PutObject", ""), ("DeleteObject", "Version")) if one in actions]
    assert refused == [*only, *(["DeleteObject"] if access == "retention" else [])]
    assert all("s3:versionid" in str(one["Condition"]) for one in denied if "s3:PutObject" in one["Action"])
    assert may <= actions
    assert not may_not & actions
    assert not [action for action in actions if action.startswith("PutBucket") or "*" in action]
    resources = {resource for statement in statements for resource in statement["Resource"]}
    assert resources - {"arn:aws:s3:::a/_gen/*", "arn:aws:s3:::b/_gen/*"} == {
        "arn:aws:s3:::a",
        "arn:aws:s3:::b",
        "arn:aws:s3:::a/*",
        "arn:aws:s3:::b/*",
    }


def test_locks_are_extended_to_the_days_of_their_bucket_alone() -> None:
    known = (Bucket(name="a", lock=Lock(days=7)), Bucket(name="b"), Bucket(name="c", lock=Lock(days=9)))
    user = ObjectUser(name="u", buckets=("a", "b"), access="retention")
    (one,) = [each for each in policy(user, known)["Statement"] if "s3:PutObjectRetention" in each["Action"]]
    assert one["Resource"] == ["arn:aws:s3:::a/*"]
    assert one["Condition"]["StringEquals"] == {"s3:object-lock-mode": ["COMPLIANCE"]}
    assert one["Condition"]["NumericLessThanEquals"] == {"s3:object-lock-remaining-retention-days": [9]}
