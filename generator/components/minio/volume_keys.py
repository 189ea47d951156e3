"""Whoever writes backups of volumes: a user of MinIO for each, who may reach one repository and nothing beside it."""

from generator.components.component import Manifest, Secret
from generator.components.minio.layout import NAMESPACE
from generator.model.backup import VolumeBackup

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
"""A user's keys, under the names that restic asks for."""
PASSWORD = "RESTIC_PASSWORD"  # noqa: S105  # a name
OVER_VERSION = {"StringLike": {"s3:versionid": ["?*"]}}
"""What is asked for when a request names a version, of its object or of the one that it copies."""
DELETE_VERSIONS = ["s3:DeleteObjectVersion"]
"""What is denied to whoever may delete objects: MinIO takes that right for the one to delete their versions, too. It
does not refuse a deletion with the header `x-minio-force-delete`, which takes all versions away and asks for nothing
but `s3:DeleteObject` (`DeleteObjectHandler` in MinIO's `cmd/object-handlers.go`); no key of a condition names that
header. A bucket that was made with object lock refuses it, also without any days: so `setup.sh` makes all that have
versions.
"""
_READERS = ("minio-setup",)


def user(backup: VolumeBackup) -> str:
    """Return the name of a backup's user: with a dot, which no user of a cluster file has."""
    return f"volume.{backup.name}"


def secret_name(backup: VolumeBackup) -> str:
    """Return the name of the Secret with the user's keys and the repository's password."""
    return f"minio-volume-{backup.name}"


def kept_versions(objects: list[str], *, deletes: bool) -> list[Manifest]:
    """Return what keeps who may write, or delete as well, from versions that are there. With `?versionId=` MinIO writes
    in place of a version that no days lock, and asks for nothing but `s3:PutObject` (`putOpts` in its
    `cmd/object-api-options.go`).
    """
    write = {"Effect": "Deny", "Action": ["s3:PutObject"], "Resource": objects, "Condition": OVER_VERSION}
    delete = {"Effect": "Deny", "Action": DELETE_VERSIONS, "Resource": objects}
    return [write, delete] if deletes else [write]


def policy(backup: VolumeBackup) -> Manifest:
    """Return what the user may do: restic deletes what it no longer needs, and its locks. A bucket with versions that
    was made with object lock keeps what is deleted for as long as it says, also from who steals the key. An archive
    that MinIO shall unpack may name versions in it, in place of which it writes, locked or not: it is asked for as an
    object whose name ends in a slash (`PutObjectExtractHandler`), and restic makes none of these.
    """
    bucket = f"arn:aws:s3:::{backup.target.bucket}"
    listed = {"StringLike": {"s3:prefix": [f"{backup.prefix}/*"]}}
    on_objects = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:ListMultipartUploadParts"]
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": ["s3:GetBucketLocation"], "Resource": [bucket]},
            {"Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": [bucket], "Condition": listed},
            {
                "Effect": "Allow",
                "Action": [*on_objects, "s3:PutObject"],
                "Resource": [f"{bucket}/{backup.prefix}/*"],
            },
            *kept_versions([f"{bucket}/*"], deletes=True),
            {"Effect": "Deny", "Action": ["s3:PutObject"], "Resource": [f"{bucket}/*/"]},  # an archive to be unpacked
        ],
    }


def keys(backup: VolumeBackup) -> Secret:
    """Declare the keys and the password, where no team reads them: whoever deletes the team's copy loses nothing."""
    return Secret(
        name=secret_name(backup),
        namespace=NAMESPACE,
        keys=(*KEYS, PASSWORD),
        source="generated",
        loss="data",
        rotate=f"keys: replace both copies, then sync `minio`. Never {PASSWORD}: without it no backup of the volume "
        "can be read; for a new one see operations.md",
        readers=_READERS,
    )
