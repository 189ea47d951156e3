"""Backups that go to an NFS export."""

from typing import Any

from msgspec import structs

from generator.model.backup import AnyBackup, CopyTarget
from generator.model.cluster import Cluster
from generator.model.storage import Elsewhere, Export

NAS = Elsewhere(name="nas", nfs=Export(server="nas.example.org", path="/backups/ml50"))


def away(item: AnyBackup) -> Any:
    """Return the backup with the export as its target."""
    return structs.replace(item, target=CopyTarget(bucket=item.target.bucket, at=NAS.name))


def exported(ml50: Cluster) -> Cluster:
    """Return the cluster with all its backups on an export."""
    etcd, zabbix = ml50.kubernetes.etcd, ml50.monitoring.zabbix
    assert etcd.backup
    assert zabbix
    assert zabbix.backup
    return structs.replace(
        ml50,
        storage=structs.replace(ml50.storage, elsewhere=(NAS,)),
        backups=tuple(map(away, ml50.backups)),
        kubernetes=structs.replace(ml50.kubernetes, etcd=structs.replace(etcd, backup=away(etcd.backup))),
        monitoring=structs.replace(ml50.monitoring, zabbix=structs.replace(zabbix, backup=away(zabbix.backup))),
    )
