"""Whoever backs up buckets of MinIO: three users of its own, of whom none may delete anything."""

from generator.components.component import Manifest
from generator.model.backup import RESTORED
from generator.model.cluster import Cluster
from generator.model.storage import ObjectUser

READER, RESTORER, OWNER = "backups.read", "backups.restore", "backups.switch"
"""Who reads the buckets, who makes others beside them into which they are brought back, and who then writes to them:
with a dot, which no user of a cluster file has.
"""


def users(cluster: Cluster) -> tuple[ObjectUser, ...]:
    """Return the users; none where no bucket of MinIO is backed up."""
    live = tuple(dict.fromkeys(one.source.bucket for one in cluster.minio_backups))
    restored = tuple(f"{bucket}{RESTORED}*" for bucket in live)
    return (
        (
            ObjectUser(name=READER, buckets=live, access="read"),
            ObjectUser(name=RESTORER, buckets=restored, access="backup"),
            ObjectUser(name=OWNER, buckets=live, access="backup"),
        )
        if live
        else ()
    )


def more_rights(user: ObjectUser) -> list[Manifest]:
    """Return what one of them may do beside what its access says. Who makes buckets sees the live ones' names: MinIO
    refuses to list the buckets of a user who sees none (`ListBucketsHandler` in its `cmd/bucket-handlers.go`).
    """
    if user.name != RESTORER:
        return []
    made = [f"arn:aws:s3:::{name}" for name in user.buckets]
    live = [one.removesuffix(f"{RESTORED}*") for one in made]
    return [
        {"Effect": "Allow", "Action": ["s3:CreateBucket"], "Resource": made},
        {"Effect": "Allow", "Action": ["s3:GetBucketLocation"], "Resource": live},
    ]
