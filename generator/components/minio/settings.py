"""What MinIO shall hold, as the files that `setup.sh` reads, and the Job that runs it."""

from collections.abc import Iterable, Iterator

from generator.components.component import Manifest
from generator.components.indented_json import indented_json
from generator.components.minio import VERSIONS, backed_up, metrics, trial, volume_keys
from generator.components.minio.layout import PORT, SERVICE, SETUP
from generator.components.minio.server import POD_SECURITY
from generator.components.minio.user_keys import FORMER, user_secret
from generator.components.minio.volumes import metadata
from generator.components.parts import UNPRIVILEGED, resources
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.storage import Bucket, Objects, ObjectUser

READ_BUCKET = [
    "s3:GetBucketLocation",
    "s3:GetBucketObjectLockConfiguration",
    "s3:GetBucketVersioning",
    "s3:ListBucket",
    "s3:ListBucketVersions",
]
# Not locks: mc takes along those that it may see, and a bucket without locks, as Ceph's are, refuses the object.
READ = ["s3:GetObject", "s3:GetObjectTagging", "s3:GetObjectVersion"]
WRITE_BUCKET = ["s3:ListBucketMultipartUploads"]
WRITE = ["s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject", "s3:PutObjectTagging"]
# Of the current version: a user hides objects, only age removes them, where the bucket was made with object lock.
DELETE = ["s3:DeleteObject"]
CLIENT_IMAGE = VERSIONS.known[0].images["client"]
"""The image of MinIO's client, of the catalogue's first version: `client_image` tells a cluster's own."""

# What each right may do with a bucket, and with its objects.
RIGHTS = {
    "read": (READ_BUCKET, READ),
    "retention": (READ_BUCKET, [*READ, *DELETE, "s3:GetObjectRetention"]),
    "backup": (READ_BUCKET + WRITE_BUCKET, READ + WRITE),
    "write": (READ_BUCKET + WRITE_BUCKET, READ + WRITE + DELETE),
}

WRITERS = {"backup", "write"}
"""The rights with which objects are written."""


def client_image(cluster: Cluster) -> str:
    """Return the image of MinIO's client, of which all pods are that read and write buckets."""
    objects = cluster.storage.objects
    return (objects and objects.client_image) or VERSIONS.of(cluster).images["client"]


def setup_script() -> Manifest:
    """Return the script, the same on every cluster."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata("minio-setup-script"),
        "data": {"setup.sh": read_text("minio/setup.sh")},
    }


def settings(cluster: Cluster, objects: Objects) -> Manifest:
    """Return buckets, users and their documents."""
    policies = {
        **{user.name: policy(user, objects.buckets) for user in (*objects.users, *backed_up.users(cluster))},
        **{volume_keys.user(one): volume_keys.policy(one) for one in cluster.volumes_in_minio},
        **({metrics.USER: metrics.policy()} if metrics.watched(cluster) else {}),
    }
    tried = (trial.bucket(),) if trial.wanted(cluster) else ()
    data = {
        "buckets": "".join(_line(bucket) for bucket in (*objects.buckets, *tried)),
        "users": "".join(f"{name}\n" for name in (*policies, *(one.name for one in tried))),
        **{f"lifecycle-{bucket.name}.json": _text(lifecycle(bucket)) for bucket in objects.buckets},
        **{f"policy-{name}.json": _text(document) for name, document in policies.items()},
        **(trial.files() if tried else {}),
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(SETUP), "data": data}


def _line(bucket: Bucket) -> str:
    lock = str(bucket.lock.days) if bucket.lock else "-"
    versions = "on" if bucket.versioning or bucket.lock else "off"
    quota = str(bucket.quota.value) if bucket.quota else "-"
    return f"{bucket.name} {lock} {versions} {quota}\n"


def _text(document: Manifest) -> str:
    return indented_json(document, 2) + "\n"


def lifecycle(bucket: Bucket) -> Manifest:
    """Return the rule without which a versioned bucket grows for ever. Locked versions stay until their date."""
    rule = {
        "ID": "old-versions",
        "Status": "Enabled",
        "Filter": {"Prefix": ""},
        "NoncurrentVersionExpiration": {"NoncurrentDays": bucket.expire_versions},
        "Expiration": {"ExpiredObjectDeleteMarker": True},
    }
    return {"Rules": [rule]}


def policy(user: ObjectUser, known: Iterable[Bucket] = ()) -> Manifest:
    """Return what a user may do, of the buckets that there are. The bucket and what is in it are two resources:
    `bucket/*` alone does not cover the bucket (facts: storage 5.4).
    """
    on_bucket, on_objects = RIGHTS[user.access]
    buckets = [f"arn:aws:s3:::{name}" for name in user.buckets]
    objects = [f"{bucket}/*" for bucket in buckets]
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": on_bucket, "Resource": buckets},
            {"Effect": "Allow", "Action": on_objects, "Resource": objects},
            *(volume_keys.kept_versions(objects, deletes=user.access == "write") if user.access in WRITERS else ()),
            *(retention_rights(objects, user, known) if user.access == "retention" else ()),
            *backed_up.more_rights(user),
        ],
    }


def retention_rights(objects: list[str], user: ObjectUser, known: Iterable[Bucket]) -> Iterator[Manifest]:
    """Yield what who hides and locks may do beside: extend locks and not for ever, and never hide what a backup says of
    itself. `keep.sh` asks for a day more than the bucket's; another is for clocks that differ, since MinIO counts a
    day that has begun as one.
    """
    own = [f"arn:aws:s3:::{name}/_gen/*" for name in user.buckets]
    yield {"Effect": "Deny", "Action": volume_keys.DELETE_VERSIONS, "Resource": objects}
    yield {"Effect": "Deny", "Action": DELETE, "Resource": own}
    for bucket in known:
        if bucket.lock and bucket.name in user.buckets:
            yield {
                "Effect": "Allow",
                "Action": ["s3:PutObjectRetention"],
                "Resource": [f"arn:aws:s3:::{bucket.name}/*"],
                "Condition": {
                    "StringEquals": {"s3:object-lock-mode": ["COMPLIANCE"]},
                    "NumericLessThanEquals": {"s3:object-lock-remaining-retention-days": [bucket.lock.days + 2]},
                },
            }


def setup_job(cluster: Cluster, objects: Objects) -> Manifest:
    """Return the Job, run by Argo CD after each sync once the servers are healthy. The last one stays, for its log,
    until the next sync; a failure fails the sync, and the deadline ends a Job that waits for servers without quorum.
    """
    hook = {"argocd.argoproj.io/hook": "PostSync", "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation"}
    labels = {"app.kubernetes.io/name": SETUP}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(SETUP, annotations=hook),
        "spec": {
            "backoffLimit": 3,
            "activeDeadlineSeconds": 1800,
            "template": {"metadata": {"labels": labels}, "spec": pod(cluster, objects)},
        },
    }


def pod(cluster: Cluster, objects: Objects) -> Manifest:
    """Return the pod. The client's image holds a shell, coreutils and `mc`."""
    return {
        "serviceAccountName": "minio",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "securityContext": POD_SECURITY,
        "containers": [
            {
                "name": "setup",
                "image": client_image(cluster),
                "command": ["sh", "/etc/minio-setup-script/setup.sh"],
                "env": [{"name": "ENDPOINT", "value": f"{SERVICE}:{PORT}"}],
                "resources": resources("50m", "64Mi", "256Mi"),
                "securityContext": UNPRIVILEGED,
                "volumeMounts": [
                    {"name": "script", "mountPath": "/etc/minio-setup-script", "readOnly": True},
                    {"name": "settings", "mountPath": "/etc/minio-setup", "readOnly": True},
                    {"name": "secrets", "mountPath": "/run/minio-setup", "readOnly": True},
                    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  # a volume of the pod's own
                ],
            }
        ],
        "volumes": [
            {"name": "script", "configMap": {"name": "minio-setup-script"}},
            {"name": "settings", "configMap": {"name": SETUP}},
            {"name": "secrets", "projected": {"sources": sources(cluster, objects)}},
            # The keys pass through the client's configuration folder: it never reaches a disk.
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        ],
    }


def sources(cluster: Cluster, objects: Objects) -> list[Manifest]:
    """Return the Secrets as the files that the script reads. Those of no user of the file may be missing: a cluster
    from before they were declared has them after the next bootstrap alone, and buckets and users wait for none. A
    user has a former key only while its key is being replaced.
    """
    backing_up = backed_up.users(cluster)
    return [
        {"secret": {"name": "minio-tls", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        _keys("minio-root", "root", ("rootUser", "rootPassword")),
        *(_keys(user_secret(user.name), user.name, ("accessKey", "secretKey")) for user in objects.users),
        *(_may_lack(_keys(user_secret(user.name), user.name, ("accessKey", "secretKey"))) for user in backing_up),
        *(_may_lack(_keys(user_secret(user.name), user.name, (FORMER,))) for user in (*objects.users, *backing_up)),
        *(_named(volume_keys.secret_name(one), volume_keys.user(one)) for one in cluster.volumes_in_minio),
        *((_may_lack(_keys(metrics.SECRET, metrics.USER, metrics.TOKEN.of)),) if metrics.watched(cluster) else ()),
        *((_may_lack(_keys(trial.SECRET, trial.NAME, trial.KEYS)),) if trial.wanted(cluster) else ()),
    ]


def _keys(secret: str, folder: str, keys: tuple[str, ...]) -> Manifest:
    return {"secret": {"name": secret, "items": [{"key": key, "path": f"{folder}/{key}"} for key in keys]}}


def _named(secret: str, folder: str) -> Manifest:
    """Return the keys of a user who has them under restic's names."""
    files = zip(volume_keys.KEYS, ("accessKey", "secretKey"), strict=True)
    return {"secret": {"name": secret, "items": [{"key": key, "path": f"{folder}/{path}"} for key, path in files]}}


def _may_lack(source: Manifest) -> Manifest:
    return {"secret": {**source["secret"], "optional": True}}
