"""A volume brought back from its backup, into a new claim beside the live one, and compared there file by file."""

from collections.abc import Iterator

from generator.components.common import proxy_variables
from generator.components.component import Manifest
from generator.components.kueue import QUEUE
from generator.components.parts import UNPRIVILEGED, from_secret, resources
from generator.components.static import read_text
from generator.components.volsync import VERSIONS
from generator.components.volsync.names import GROUP, LABELS
from generator.components.volsync.places import copied, trusted
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


def destination(cluster: Cluster, backup: VolumeBackup, into: str, at: str) -> Manifest:
    """Return what VolSync brings a volume back by as of a time (RFC 3339): once, into the claim itself. The same object
    asks nothing new.
    """
    restic = {**mover(cluster, backup), "copyMethod": "Direct", "destinationPVC": into, "restoreAsOf": at}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ReplicationDestination",
        "metadata": {"name": into, "namespace": backup.source.team, "labels": LABELS},
        "spec": {"trigger": {"manual": at}, "restic": {**restic, "cleanupCachePVC": True}},
    }


def comparison_name(held: Manifest) -> str:
    """Return the name of the Job that compares a claim that is there: of this very claim, for one that was removed and
    made again under its name is empty, and what was once found of the former one says nothing of it.
    """
    return f"compare-{held['metadata']['uid']}"


def comparison(cluster: Cluster, backup: VolumeBackup, held: Manifest, at: str) -> Manifest:
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


def _pod(cluster: Cluster, backup: VolumeBackup, into: str, at: str) -> Manifest:
    ca, mounted = _trusting(cluster, backup)
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": security(backup) | ({} if backup.user is not None else {"runAsUser": 0}),
        "containers": [
            {
                "name": "compare",
                "image": VERSIONS.of(cluster).images["mover"],
                "command": ["python3", "-c", read_text("volsync/compare.py.txt"), "/data", at],
                "env": [
                    *_environment(cluster, backup),
                    {"name": "HOME", "value": "/tmp"},  # noqa: S108  # a volume of the pod's own
                ],
                "resources": resources("500m", MEMORY, MEMORY),
                "securityContext": _rights(backup),
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data", "readOnly": True},
                    *mounted,
                    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  # as above
                ],
            }
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": into, "readOnly": True}},
            *ca,
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
    }


def _environment(cluster: Cluster, backup: VolumeBackup) -> Iterator[Manifest]:
    """Yield what restic is told of the repository, and of the way to it."""
    secret = copied(cluster, backup, backup.source.team, "")
    yield from (from_secret(key, secret.name, key) for key in secret.keys)
    if trusted(cluster, backup):
        yield {"name": "CUSTOM_CA", "value": "/ca/ca.crt"}
    if backup.target.at:
        yield from ({"name": name, "value": value} for name, value in proxy_variables(cluster).items())


def _trusting(cluster: Cluster, backup: VolumeBackup) -> tuple[list[Manifest], list[Manifest]]:
    """Return the volume with who is trusted, and where it is mounted; nothing where any system knows them."""
    ca = trusted(cluster, backup)
    if ca is None:
        return [], []
    items = [{"key": ca.key, "path": "ca.crt"}]
    public, secret = {"name": ca.name, "items": items}, {"secretName": ca.name, "items": items}
    of = {"configMap": public} if ca.public else {"secret": secret}
    return [{"name": "ca", **of}], [{"name": "ca", "mountPath": "/ca", "readOnly": True}]


def _rights(backup: VolumeBackup) -> Manifest:
    """Return the container's security context: as a mover's, which reads files of all owners where it is root."""
    if backup.user is not None:
        return UNPRIVILEGED
    return UNPRIVILEGED | {"capabilities": {"drop": ["ALL"], "add": [*_AS_ROOT]}}
