"""Snapshots of etcd on their way to a bucket. The control-plane nodes take them, prove them and encrypt them by
themselves (`kubeadm/etcd_snapshots.py`): no pod has a key of etcd, and none sees a snapshot in plain.
"""

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.rule_files import read_rules
from generator.components.workflows.targets import reached
from generator.model.backup import EtcdBackup
from generator.model.cluster import Cluster
from generator.model.compared import named

NAMESPACE = "etcd-backup"
LABELS = {"app.kubernetes.io/name": "etcd-backup", "app.kubernetes.io/part-of": "etcd-backup"}


def etcd_backup(cluster: Cluster) -> Component:
    """Return the schedule that brings the newest snapshot to MinIO."""
    from generator.components.etcd_backup.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def items(cluster: Cluster) -> tuple[EtcdBackup, ...]:
    """Return the backup that the file asks for."""
    item = cluster.kubernetes.etcd.backup
    return (item,) if item else ()


DEFINITION = Definition(
    name="etcd-backup",
    tier=Tier.STORAGE,
    make=etcd_backup,
    wanted=lambda cluster: any(reached(cluster, one) for one in items(cluster)),
    absence="no snapshots of etcd go to a bucket",
    namespaces=(NAMESPACE,),
    own_kinds=("/PersistentVolume",),
    changes=lambda: read_rules(
        "etcd_backup/changes.yaml",
        of_the_operation=named(NAMESPACE, "etcd-backup"),
        of_its_scripts=named(NAMESPACE, "etcd-backup-scripts"),
    ),
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", "app.kubernetes.io/part-of=etcd-backup"),)),
    notes="Brings what the control-plane nodes took, proved and encrypted to a bucket or an export: the way back is in "
    "`bootstrap/etcd/README.md` of each cluster.",
)
