"""The Job that brings MinIO to what the cluster file says."""

from generator.components.component import Manifest
from generator.components.minio.access import SERVICE
from generator.components.minio.layout import metadata
from generator.components.minio.server import POD_SECURITY
from generator.components.minio.settings import user_secret
from generator.model.cluster import Cluster
from generator.model.storage import Objects
from generator.model.versions import version_of

__all__ = ["setup_job"]

LABELS = {"app.kubernetes.io/name": "minio-setup"}
SECRETS = "/run/minio-setup"


def setup_job(cluster: Cluster, objects: Objects) -> Manifest:
    """Return the Job, run by Argo CD after each sync once the servers are healthy. The last one stays, for its log,
    until the next sync; a failure fails the sync, and the deadline ends a Job that waits for servers without quorum.
    """
    hook = {
        "argocd.argoproj.io/hook": "PostSync",
        "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata("minio-setup", annotations=hook),
        "spec": {
            "backoffLimit": 3,
            "activeDeadlineSeconds": 1800,
            "template": {"metadata": {"labels": LABELS}, "spec": pod(cluster, objects)},
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
                "image": objects.client_image or version_of("minio", cluster).images["client"],
                "command": ["sh", "/etc/minio-setup-script/setup.sh"],
                "env": [{"name": "ENDPOINT", "value": f"{SERVICE}:9000"}],
                "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [
                    {"name": "script", "mountPath": "/etc/minio-setup-script", "readOnly": True},
                    {"name": "settings", "mountPath": "/etc/minio-setup", "readOnly": True},
                    {"name": "secrets", "mountPath": SECRETS, "readOnly": True},
                    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  # a volume of the pod's own
                ],
            }
        ],
        "volumes": [
            {"name": "script", "configMap": {"name": "minio-setup-script"}},
            {"name": "settings", "configMap": {"name": "minio-setup"}},
            {"name": "secrets", "projected": {"sources": sources(objects)}},
            # The keys pass through the client's configuration folder: it never reaches a disk.
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        ],
    }


def sources(objects: Objects) -> list[Manifest]:
    """Return the Secrets as the files that the script reads."""
    return [
        {"secret": {"name": "minio-tls", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        _keys("minio-root", "root", ("rootUser", "rootPassword")),
        *(_keys(user_secret(user.name), user.name, ("accessKey", "secretKey")) for user in objects.users),
    ]


def _keys(secret: str, folder: str, keys: tuple[str, ...]) -> Manifest:
    return {"secret": {"name": secret, "items": [{"key": key, "path": f"{folder}/{key}"} for key in keys]}}
