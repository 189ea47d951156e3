"""Dumps of Zabbix's database on their way to a bucket, tried there, and back. They run in a namespace of their own: of
Zabbix's Secrets their pods have the database's alone.
"""

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.rule_files import read_rules
from generator.components.workflows.targets import reached
from generator.components.zabbix.names import NAMESPACE as ZABBIX
from generator.model.backup import ZabbixBackup
from generator.model.cluster import Cluster
from generator.model.compared import named

SCRIPTS = ("database.sh", "dump.sh", "drill.sh", "fetch-file.sh", "fetch.sh", "record.sh", "restore.sh")
FILES = {
    "client.sh": "workflows/client.sh",
    "buckets.sh": "workflows/buckets.sh",
    "ready.sh": "workflows/ready.sh",
    "upload.sh": "workflows/upload.sh",
    "folder.sh": "workflows/folder.sh",
    **{name: f"zabbix_backup/{name}" for name in SCRIPTS},
}
"""The scripts of the pods, and what they share."""
NAMESPACE = "zabbix-backup"
PART = "zabbix-backup"
LABELS = {"app.kubernetes.io/name": PART, "app.kubernetes.io/part-of": PART}
RESTORE = "restore-zabbix"
"""The operation that brings a dump back."""
DRILL = "zabbix-drill"
"""The operation that tries a dump."""


def zabbix_backup(cluster: Cluster) -> Component:
    """Return the schedule of the dumps, and the way back."""
    from generator.components.zabbix_backup.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def asked(cluster: Cluster) -> ZabbixBackup | None:
    """Return the backup that the file asks for."""
    zabbix = cluster.monitoring.zabbix
    return zabbix.backup if zabbix else None


DEFINITION = Definition(
    name="zabbix-backup",
    tier=Tier.MONITORING,
    make=zabbix_backup,
    wanted=lambda cluster: (item := asked(cluster)) and reached(cluster, item),
    absence="no dumps of Zabbix's database go to a bucket",
    namespaces=(NAMESPACE,),
    reach=(ZABBIX,),
    own_kinds=("/PersistentVolume",),
    changes=lambda: read_rules(
        "zabbix_backup/changes.yaml",
        of_the_operations=named(NAMESPACE, PART, RESTORE, DRILL),
        of_its_scripts=named(NAMESPACE, f"{PART}-scripts"),
    ),
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", "app.kubernetes.io/part-of=zabbix-backup"),)),
    notes="Dumps are of PostgreSQL's own image, the server's very version. How they are taken, and the way back: "
    "[operations.md](operations.md#zabbixs-database).",
)
