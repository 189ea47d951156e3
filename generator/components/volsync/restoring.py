"""A volume brought back from its backup, into a new claim beside the live one, and compared there file by file."""

from datetime import UTC, datetime

from generator.components.component import Manifest
from generator.components.kueue import QUEUE
from generator.components.minio.volume_keys import KEYS, PASSWORD
from generator.components.parts import UNPRIVILEGED, from_secret, resources
from generator.components.static import read_text
from generator.components.volsync import VERSIONS
from generator.components.volsync.names import CA, GROUP, LABELS, repository
from generator.components.volsync.sources import MEMORY, mover, security
from generator.model.backup import VolumeBackup
from generator.model.cluster import Cluster

KEPT = 7 * 86400
"""How long the Job that compared stays, for its log, in seconds."""
_AS_ROOT = ("CHOWN", "DAC_OVERRIDE", "FOWNER")


def claim(backup: VolumeBackup, into: str, size: str, modes: list[str]) -> Manifest:
    """Return the new claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": into, "namespace": backup.source.team, "labels": LABELS},
        "spec": {
            "accessModes": modes,
            "storageClassName": backup.source.storage_class,
            "resources": {"requests": {"storage": size}},
        },
    }


def stamp(time: datetime) -> str:
    """Return a time as VolSync takes it (RFC 3339)."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def destination(backup: VolumeBackup, into: str, at: datetime) -> Manifest:
    """Return what VolSync brings a volume back by: once, into the claim itself. The same object asks nothing new."""
    restic = {**mover(backup), "copyMethod": "Direct", "destinationPVC": into, "restoreAsOf": stamp(at)}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ReplicationDestination",
        "metadata": {"name": into, "namespace": backup.source.team, "labels": LABELS},
        "spec": {"trigger": {"manual": stamp(at)}, "restic": {**restic, "cleanupCachePVC": True}},
    }


def comparison_name(held: Manifest) -> str:
    """Return the name of the Job that compares a claim that is there: of this very claim, for one that was removed and
    made again under its name is empty, and what was once found of the former one says nothing of it.
    """
    return f"compare-{held['metadata']['uid']}"


def comparison(cluster: Cluster, backup: VolumeBackup, held: Manifest, at: datetime) -> Manifest:
    """Return the Job that reads the backup once more and compares all of it with the new claim as it is held in the
    cluster. It only reads, goes through the team's queue like a mover, and ends with the claim.
    """
    into, uid = held["metadata"]["name"], held["metadata"]["uid"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": comparison_name(held),
            "namespace": backup.source.team,
            "labels": {**LABELS, QUEUE: "default"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": into, "uid": uid}],
        },
        "spec": {
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": KEPT,
            "template": {"metadata": {"labels": LABELS}, "spec": _pod(cluster, backup, into, at)},
        },
    }


def _pod(cluster: Cluster, backup: VolumeBackup, into: str, at: datetime) -> Manifest:
    keys = (*KEYS, PASSWORD, "RESTIC_REPOSITORY")
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": security(backup) | ({} if backup.user is not None else {"runAsUser": 0}),
        "containers": [
            {
                "name": "compare",
                "image": VERSIONS.of(cluster).images["mover"],
                "command": ["python3", "-c", read_text("volsync/compare.py.txt"), "/data", stamp(at)],
                "env": [
                    *(from_secret(key, repository(backup), key) for key in keys),
                    {"name": "CUSTOM_CA", "value": "/ca/ca.crt"},
                    {"name": "HOME", "value": "/tmp"},  # noqa: S108  # a volume of the pod's own
                ],
                "resources": resources("500m", MEMORY, MEMORY),
                "securityContext": _rights(backup),
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data", "readOnly": True},
                    {"name": "ca", "mountPath": "/ca", "readOnly": True},
                    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  # as above
                ],
            }
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": into, "readOnly": True}},
            {"name": "ca", "secret": {"secretName": CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
    }


def _rights(backup: VolumeBackup) -> Manifest:
    """Return the container's security context: as a mover's, which reads files of all owners where it is root."""
    if backup.user is not None:
        return UNPRIVILEGED
    return UNPRIVILEGED | {"capabilities": {"drop": ["ALL"], "add": [*_AS_ROOT]}}
