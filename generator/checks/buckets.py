"""Rules about MinIO's buckets and users."""

from collections.abc import Iterator

from generator.checks.places import entries, given_twice, unknown
from generator.checks.tiers import buckets, kept_for, users
from generator.model.cluster import Cluster
from generator.model.finding import Finding, in_words, put, remove
from generator.model.rule import rule, warning


@rule("GEN-OBJ-020", "buckets of MinIO are given once")
def buckets_unique(cluster: Cluster) -> Iterator[Finding]:
    """Of two entries the last one's settings would hold.

    Wrong:
        buckets: [{name: models}, {name: models, quota: 20T}]
    Right:
        buckets: [{name: models, quota: 20T}]
    """
    items = ((bucket.name, (*at, "name")) for at, bucket in buckets(cluster))
    return given_twice(items, "two buckets are named {}", "rename or remove one")


@rule("GEN-OBJ-021", "users of MinIO are given once")
def users_unique(cluster: Cluster) -> Iterator[Finding]:
    """A user has one right on its buckets: of two entries the last one's would hold.

    Wrong:
        users: [{name: serving, buckets: [models]}, {name: serving, buckets: [data]}]
    Right:
        users: [{name: serving, buckets: [models, data]}]
    """
    items = ((user.name, (*at, "name")) for at, user in users(cluster))
    return given_twice(items, "two users are named {}", "rename or remove one")


@rule("GEN-OBJ-026", "users of MinIO are of teams that exist")
def user_teams(cluster: Cluster) -> Iterator[Finding]:
    """The keys go into the namespace of the team: without the team nobody gets them.

    Wrong:
        teams: [{name: vision}]
        # and
        users: [{name: images, buckets: [images], team: visions}]
    Right:
        teams: [{name: vision}]
        # and
        users: [{name: images, buckets: [images], team: vision}]
    """
    known = [team.name for team in cluster.teams]
    for at, user in users(cluster):
        if user.team is not None and user.team not in known:
            message = f"user {user.name} is of team {user.team}, which is not there"
            otherwise = f"one of {', '.join(known)}" if known else "leave it out: there is no team"
            yield unknown((*at, "team"), user.team, known, message, otherwise)


@rule("GEN-OBJ-022", "users have buckets that exist")
def user_buckets(cluster: Cluster) -> Iterator[Finding]:
    """A right on a bucket that is not there is a mistake in one of the two names; without any bucket, MinIO refuses
    the user's policy.

    Wrong:
        buckets: [{name: models}]
        users: [{name: serving, buckets: [model]}]
    Right:
        buckets: [{name: models}]
        users: [{name: serving, buckets: [models]}]
    """
    known = [bucket.name for _, bucket in buckets(cluster)]
    for at, user in users(cluster):
        if not user.buckets:
            message, fix = f"user {user.name} has no buckets", "name one, or remove the user"
            yield Finding(at=(*at, "buckets"), message=message, fix=fix)
        for place, name in entries(user.buckets, *at, "buckets"):
            if name not in known:
                message = f"user {user.name} has a right on bucket {name}, which is not there"
                yield unknown(place, name, known, message, "add it to storage.objects.buckets")


@warning("GEN-OBJ-023", "backups go to buckets with a lock")
def backup_locked(cluster: Cluster) -> Iterator[Finding]:
    """Who may write and not delete can still write over everything; a lock keeps each former version. It can only be
    given to a bucket that was made with object lock, as each with versions is.

    Wrong:
        buckets: [{name: copies}]
        users: [{name: writer, buckets: [copies], access: backup}]
    Right:
        buckets: [{name: copies, lock: {days: 30}}]
        users: [{name: writer, buckets: [copies], access: backup}]
    """
    # Targets of backups have rules of their own.
    targets = {backup.target.in_minio for backup in cluster.backups}
    others = [(at, bucket) for at, bucket in buckets(cluster) if bucket.name not in targets]
    unlocked = {bucket.name: (at, bucket) for at, bucket in others if not bucket.lock}
    for at, user in users(cluster):
        for place, name in entries(user.buckets if user.access == "backup" else (), *at, "buckets"):
            if name in unlocked:
                message = f"{user.name} writes backups into bucket {name}, which has no lock"
                where, bucket = unlocked[name]
                edits = kept_for(where, bucket, 30, locked=True)
                fix = f"{in_words(edits)} in the bucket"
                yield Finding(at=place, also=where, message=message, fix=fix, edits=edits)


@warning("GEN-OBJ-024", "versions go after their lock has ended")
def expire_after_lock(cluster: Cluster) -> Iterator[Finding]:
    """A locked version stays until its lock ends, whatever `expireVersions` says; count the room for that long.

    Wrong:
        - {name: copies, lock: {days: 30}, expireVersions: 14}
    Right:
        - {name: copies, lock: {days: 30}, expireVersions: 30}
    """
    for at, bucket in buckets(cluster):
        if bucket.lock and bucket.expire_versions < bucket.lock.days:
            days, where = bucket.lock.days, (*at, "expireVersions")
            message = f"old versions in {bucket.name} stay {days} days (lock), not {bucket.expire_versions}"
            yield Finding(at=where, also=(*at, "lock"), message=message, edits=put(where, days))


@warning("GEN-OBJ-025", "a lock keeps versions")
def lock_versions(cluster: Cluster) -> Iterator[Finding]:
    """A bucket with a lock always keeps versions: `versioning: false` has no effect.

    Wrong:
        - {name: copies, lock: {days: 30}, versioning: false}
    Right:
        - {name: copies, lock: {days: 30}}
    """
    for at, bucket in buckets(cluster):
        if bucket.lock and not bucket.versioning:
            message = f"bucket {bucket.name} has a lock, so it keeps versions"
            where = (*at, "versioning")
            yield Finding(at=where, also=(*at, "lock"), message=message, edits=remove(where))
