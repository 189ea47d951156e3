"""Backups of MinIO's own buckets to a service outside the cluster. What runs is what backs up Ceph's buckets, in a
namespace of its own: there is none of Rook's where there is no Ceph, and in MinIO's a pod could read root's keys.
"""

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import named

NAMESPACE = "minio-backup"


def minio_backup(cluster: Cluster) -> Component:
    """Return the schedules of the backups of MinIO's buckets and of their drills, and their ways back."""
    from generator.components.minio_backup.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


DEFINITION = Definition(
    name="minio-backup",
    tier=Tier.STORAGE,
    make=minio_backup,
    wanted=lambda cluster: cluster.storage.objects and cluster.minio_backups,
    absence="there are no backups of buckets of MinIO",
    namespaces=(NAMESPACE,),
    own_kinds=("/PersistentVolume",),
    changes=lambda: read_rules(
        "minio_backup/changes.yaml",
        of_the_operation=named(NAMESPACE, "backup"),
        of_its_scripts=named(NAMESPACE, "backup-scripts"),
    ),
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", f"app.kubernetes.io/part-of={NAMESPACE}"),)),
    notes="Backs buckets of MinIO up to a service outside the cluster, with three users of MinIO of which none may "
    "delete: one reads, one makes the buckets that are brought back, one writes to live ones where that is asked for. "
    "How it works: [operations.md](operations.md#buckets-of-minio-itself).",
)
