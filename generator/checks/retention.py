"""Rules about who keeps backups within their days."""

from collections.abc import Iterator

from generator.checks.places import entries
from generator.checks.tiers import OBJECTS, buckets, users
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, put, remove
from generator.model.retention import old_days
from generator.model.rule import rule
from generator.model.storage import Bucket


def let_keep(cluster: Cluster, bucket: Bucket) -> tuple[Edit, ...]:
    """Return the change after which somebody hides what is gone from a backup's source, and extends locks."""
    known = users(cluster)
    keepers = [(at, user) for at, user in known if user.access == "retention"]
    if not old_days(bucket):
        return ()
    for at, user in keepers[:1]:
        return put((*at, "buckets", len(user.buckets)), bucket.name)
    new = {"name": "backup-keeper", "buckets": [bucket.name], "access": "retention"}
    able = known and new["name"] not in {user.name for _, user in known}
    return put((*OBJECTS, "users", len(known)), new) if able else ()


@rule("GEN-BKP-041", "only versions are hidden")
def versions_hidden(cluster: Cluster) -> Iterator[Finding]:
    """What is gone from the source of a backup is hidden, and its version stays for `expireVersions` days. A bucket
    without versions keeps none: what somebody deleted by mistake is deleted from the backup by the next run.

    Wrong:
        buckets: [{name: copies, versioning: false}]
        users: [{name: backup-keeper, buckets: [copies], access: retention}]
    Right:
        buckets: [{name: copies, lock: {days: 30}}]
        users: [{name: backup-keeper, buckets: [copies], access: retention}]
    """
    without = {bucket.name: (*at, "versioning") for at, bucket in buckets(cluster) if not old_days(bucket)}
    for at, user in users(cluster):
        for place, name in entries(user.buckets if user.access == "retention" else (), *at, "buckets"):
            if name in without:
                message = f"{user.name} deletes for good in bucket {name}, which keeps no versions"
                yield Finding(at=place, also=without[name], message=message, edits=remove(without[name]))
