"""Where VolSync is, and what its objects are known by."""

from generator.model.backup import VolumeBackup

NAME = "volsync"
NAMESPACE = "volsync-system"
RESTORE = "volume-restore"
"""The account of runs that bring volumes back, and its rights."""
GROUP = "volsync.backube"
METRICS_SERVICE, METRICS_PORT = f"{NAME}-metrics.{NAMESPACE}.svc", 8443
"""Where the manager tells of backups (the chart's `service-metrics.yaml`)."""
LABELS = {"app.kubernetes.io/name": "volume-backup", "app.kubernetes.io/part-of": "volsync"}
PRIVILEGED = {"volsync.backube/privileged-movers": "true"}
"""The annotation of a namespace whose movers may read and write as root (docs of v0.16.0, "Mover permissions")."""
CA = "volume-backup-client"
"""The certificate in a team's namespace for the sake of its `ca.crt`, with which MinIO's is checked."""
AUTHORITIES = "volume-backup-elsewhere-ca"
"""The ConfigMap in a team's namespace with which certificates of services elsewhere are checked."""

SECRETS = "volume-backup-"
"""Begins the names of Secrets and ConfigMaps of volume backups in a team's namespace, and of no others there."""


def repository(backup: VolumeBackup) -> str:
    """Return the name of the Secret in the team's namespace that says where a volume's backups are: another one for
    each service, so that a backup that moves is not written to the former one.
    """
    at = backup.target.at
    return f"{SECRETS}{backup.name}.{at}" if at else f"{SECRETS}{backup.name}"
