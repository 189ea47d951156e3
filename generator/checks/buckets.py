"""Rules about MinIO's buckets and users."""

from collections.abc import Iterator

from generator.checks.places import meant, repeats
from generator.checks.rule import rule
from generator.checks.tiers import OBJECTS
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, Severity
from generator.model.storage import Bucket, ObjectUser

__all__: list[str] = []


def _buckets(cluster: Cluster) -> list[tuple[Path, Bucket]]:
    objects = cluster.storage.objects
    return [((*OBJECTS, "buckets", index), bucket) for index, bucket in enumerate(objects.buckets if objects else ())]


def _users(cluster: Cluster) -> list[tuple[Path, ObjectUser]]:
    objects = cluster.storage.objects
    return [((*OBJECTS, "users", index), user) for index, user in enumerate(objects.users if objects else ())]


@rule(
    "GEN-OBJ-020",
    "buckets of MinIO are given once",
    wrong="buckets: [{name: models}, {name: models, quota: 20T}]\n",
    right="buckets: [{name: models, quota: 20T}]\n",
)
def buckets_unique(cluster: Cluster) -> Iterator[Finding]:
    """Of two entries the last one's settings would hold."""
    for name, at, first in repeats((bucket.name, (*at, "name")) for at, bucket in _buckets(cluster)):
        yield Finding(at=at, also=first, message=f"two buckets are named {name}", fix="rename or remove one")


@rule(
    "GEN-OBJ-021",
    "users of MinIO are given once",
    wrong="users: [{name: serving, buckets: [models]}, {name: serving, buckets: [data]}]\n",
    right="users: [{name: serving, buckets: [models, data]}]\n",
)
def users_unique(cluster: Cluster) -> Iterator[Finding]:
    """A user has one right on its buckets: of two entries the last one's would hold."""
    for name, at, first in repeats((user.name, (*at, "name")) for at, user in _users(cluster)):
        yield Finding(at=at, also=first, message=f"two users are named {name}", fix="rename or remove one")


@rule(
    "GEN-OBJ-022",
    "users have buckets that exist",
    wrong="buckets: [{name: models}]\nusers: [{name: serving, buckets: [model]}]\n",
    right="buckets: [{name: models}]\nusers: [{name: serving, buckets: [models]}]\n",
)
def user_buckets(cluster: Cluster) -> Iterator[Finding]:
    """A right on a bucket that is not there is a mistake in one of the two names; without any bucket, MinIO refuses
    the user's policy.
    """
    known = [bucket.name for _, bucket in _buckets(cluster)]
    for at, user in _users(cluster):
        if not user.buckets:
            message, fix = f"user {user.name} has no buckets", "name one, or remove the user"
            yield Finding(at=(*at, "buckets"), message=message, fix=fix)
        for index, name in enumerate(user.buckets):
            if name not in known:
                near = meant(name, known)
                fix = f"did you mean {near}?" if near else "add it to storage.objects.buckets"
                message = f"user {user.name} has a right on bucket {name}, which is not there"
                yield Finding(at=(*at, "buckets", index), message=message, fix=fix)


@rule(
    "GEN-OBJ-023",
    "backups go to buckets with a lock",
    wrong="buckets: [{name: copies}]\nusers: [{name: writer, buckets: [copies], access: backup}]\n",
    right="buckets: [{name: copies, lock: {days: 30}}]\nusers: [{name: writer, buckets: [copies], access: backup}]\n",
    severity=Severity.WARNING,
)
def backup_locked(cluster: Cluster) -> Iterator[Finding]:
    """Who may write and not delete can still write over everything; a lock keeps each former version. It can only be
    given to a bucket when it is made.
    """
    # Targets of backups have rules of their own.
    targets = {backup.target.bucket for backup in cluster.backups}
    unlocked = {bucket.name: at for at, bucket in _buckets(cluster) if not bucket.lock and bucket.name not in targets}
    for at, user in _users(cluster):
        for index, name in enumerate(user.buckets if user.access == "backup" else ()):
            if name in unlocked:
                message = f"{user.name} writes backups into bucket {name}, which has no lock"
                fix = "lock: {days: 30} in the bucket"
                yield Finding(at=(*at, "buckets", index), also=unlocked[name], message=message, fix=fix)


@rule(
    "GEN-OBJ-024",
    "versions go after their lock has ended",
    wrong="- {name: copies, lock: {days: 30}, expireVersions: 14}\n",
    right="- {name: copies, lock: {days: 30}, expireVersions: 30}\n",
    severity=Severity.WARNING,
)
def expire_after_lock(cluster: Cluster) -> Iterator[Finding]:
    """A locked version stays until its lock ends, whatever `expireVersions` says; count the room for that long."""
    for at, bucket in _buckets(cluster):
        if bucket.lock and bucket.expire_versions < bucket.lock.days:
            days = bucket.lock.days
            message = f"old versions in {bucket.name} stay {days} days (lock), not {bucket.expire_versions}"
            yield Finding(
                at=(*at, "expireVersions"), also=(*at, "lock"), message=message, fix=f"expireVersions: {days}"
            )


@rule(
    "GEN-OBJ-025",
    "a lock keeps versions",
    wrong="- {name: copies, lock: {days: 30}, versioning: false}\n",
    right="- {name: copies, lock: {days: 30}}\n",
    severity=Severity.WARNING,
)
def lock_versions(cluster: Cluster) -> Iterator[Finding]:
    """A bucket with a lock always keeps versions: `versioning: false` has no effect."""
    for at, bucket in _buckets(cluster):
        if bucket.lock and not bucket.versioning:
            message = f"bucket {bucket.name} has a lock, so it keeps versions"
            yield Finding(at=(*at, "versioning"), also=(*at, "lock"), message=message, fix="remove `versioning`")
