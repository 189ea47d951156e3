"""How long the copies of a bucket's backup stay, and who sees to it."""

from generator.model.backup import Backup
from generator.model.cluster import Cluster
from generator.model.storage import Bucket, ObjectUser

LATE_DAYS = 2
"""Days that a version stays over those that it is kept: what is gone from the source is hidden by the next run, and
MinIO removes old versions after the midnight that follows their last day.
"""


def keeper(cluster: Cluster, backup: Backup) -> ObjectUser | None:
    """Return the MinIO user that hides what is gone from the source and extends locks: the first who may do so in the
    backup's bucket; None where the file has none, and nothing of that is done.
    """
    users = cluster.storage.objects.users if cluster.storage.objects else ()
    return next((one for one in users if one.access == "retention" and backup.target.in_minio in one.buckets), None)


def target_of(cluster: Cluster, backup: Backup) -> Bucket | None:
    """Return the bucket that a backup goes to, None where it is not there."""
    known = cluster.storage.objects.buckets if cluster.storage.objects else ()
    return next((one for one in known if one.name == backup.target.in_minio), None)


def old_days(bucket: Bucket) -> int:
    """Return for how many days at least a bucket keeps old versions."""
    if not (bucket.versioning or bucket.lock):
        return 0
    return max(bucket.expire_versions, bucket.lock.days if bucket.lock else 0)


def asked_days(backup: Backup, bucket: Bucket) -> int:
    """Return for how many days the file asks to keep old versions: by the backup, or by the lock."""
    return max(backup.keep_days, bucket.lock.days if bucket.lock else 0)


def bounded(cluster: Cluster, backup: Backup) -> bool:
    """Tell whether what is gone from the source goes from the backup, too, once its days are over."""
    bucket = target_of(cluster, backup)
    return bool(bucket and old_days(bucket) and keeper(cluster, backup))


def kept_room(backup: Backup, days: int) -> int:
    """Return the bytes of all that a backup holds which keeps what was changed for so many days."""
    return backup.size.value + (days + LATE_DAYS) * backup.daily_change.value
