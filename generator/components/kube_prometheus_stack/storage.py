"""What Prometheus alerts of Ceph, by its manager's module `prometheus`, and of MinIO, by its servers. The same faults
as Zabbix' templates know (`zabbix/templates/storage.py`).
"""

from collections.abc import Iterator

from generator.components.alerting import Rule, alert, group, silent
from generator.components.component import Manifest
from generator.components.limits import FULL, NEARFULL
from generator.model.cluster import Cluster

HEALTH = "`ceph health detail` in the toolbox tells what"
BACK = "bring servers or drives back"
ROOM = "add disks, or delete what nobody needs"


def ceph(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on Ceph; None where there is none. While another manager takes over, two tell the same."""
    if not cluster.storage.ceph:
        return None
    away = silent("CephNotSeen", "ceph_health_status", "Ceph", "see its manager, pods `app=rook-ceph-mgr` in rook-ceph")
    return group("ceph", namespace, [away, *_health(), *_daemons(), *_classes(), *_pools()])


def _health() -> Iterator[Rule]:
    """Yield the rules on the whole. 1 is a warning, 2 an error; what is muted counts for neither."""
    health = "max(ceph_health_status)"
    copies = "sum(max by (pool_id) (ceph_pg_degraded)) > 0"
    lacking = (
        "{{ $value }} placement groups of Ceph have lacked copies for an hour, as OSDs are down or there is no room: "
        f"{HEALTH}"
    )
    yield alert("CephWarns", "warning", f"Ceph has warned for 10 minutes: {HEALTH}", f"{health} == 1", "10m")
    yield alert("CephInError", "critical", f"Ceph is in error: {HEALTH}", f"{health} == 2", "1m")
    yield alert("CephDataLacksCopies", "warning", lacking, copies, "1h")


def _daemons() -> Iterator[Rule]:
    for name, metric, what, look in (
        ("CephOSDsDown", "ceph_osd_up", "OSDs are down", "`ceph osd tree down` in the toolbox tells which, and where"),
        ("CephMonitorsOut", "ceph_mon_quorum_status", "monitors are out of quorum", "see pods `app=rook-ceph-mon`"),
    ):
        gone = f"count(max by (ceph_daemon) ({metric}) == 0) > 0"
        yield alert(name, "warning", f"{{{{ $value }}}} of Ceph's {what}: {look}", gone, "5m")


def _classes() -> Iterator[Rule]:
    """Yield the rules on disks by class: over all of them NVMe may be full while the rest is empty."""
    by = "max by (device_class) (ceph_cluster_by_class_%s)"
    share = f"100 * {by % 'total_used_raw_bytes'} / {by % 'total_bytes'}"
    what = "Ceph's disks of class {{ $labels.device_class }} are {{ $value | humanize }} % full"
    yield alert("CephClassNearlyFull", "warning", f"{what}: {ROOM}", f"{share} > {NEARFULL}", "5m")
    yield alert("CephClassFull", "critical", f"{what}, and writes stop: {ROOM}", f"{share} > {FULL}", "1m")


def _pools() -> Iterator[Rule]:
    """Yield the rules on pools. One is nearly full by what its disks have left, whatever its quota (Ceph: `PGMap.cc`);
    at its quota writes pause, however empty the disks are. A quota of 0 is none.
    """
    value = "max by (pool_id) (ceph_pool_%s)"
    named = "* on (pool_id) group_left (name) max by (pool_id, name) (ceph_pool_metadata)"
    used = f"100 * {value % 'percent_used'} {named} > {NEARFULL}"
    quota = f"100 * {value % 'stored'} / ({value % 'quota_bytes'} > 0) {named} > {NEARFULL}"
    pool = "Ceph's pool {{ $labels.name }}"
    full = f"{pool} is {{{{ $value | humanize }}}} % full: {ROOM}"
    near = f"{pool} is at {{{{ $value | humanize }}}} % of its quota, where writes pause: raise its `quota`, or delete"
    yield alert("CephPoolNearlyFull", "warning", full, used, "5m")
    yield alert("CephPoolNearItsQuota", "critical", near, quota, "5m")


def minio(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on MinIO; None where there is none. Every server tells of all."""
    if not cluster.storage.objects:
        return None
    drives, look = "minio_cluster_drive_online_total", "see pods and token of its ServiceMonitor in namespace minio"
    return group(
        "minio", namespace, [silent("MinIONotSeen", drives, "MinIO", look), *_away(), *_quorum(), _minio_full()]
    )


def _away() -> Iterator[Rule]:
    """Yield the rules on what is away. A server has the time of a node's restart: that wakes nobody."""
    drives = "{{ $value }} of MinIO's drives are offline: see docs/operations.md, Replacing a disk"
    nodes = "{{ $value }} of MinIO's servers are offline: see their pods and nodes"
    yield alert("MinIODrivesOffline", "warning", drives, "max(minio_cluster_drive_offline_total) > 0", "5m")
    yield alert("MinIOServersOffline", "critical", nodes, "max(minio_cluster_nodes_offline_total) > 0", "15m")


def _quorum() -> Iterator[Rule]:
    """Yield the rules on erasure sets: without its quorum one takes no data. A server that is cut off may see fewer
    drives than the others.
    """
    one = "by (pool, set) (minio_cluster_health_erasure_set_%s)"
    online, quorum = f"min {one % 'online_drives'}", f"max {one % 'write_quorum'}"
    of = "MinIO's erasure set {{ $labels.set }} of pool {{ $labels.pool }} has {{ $value }} drives online"
    lost = f"{of}, and takes no writes: {BACK}"
    edge = f"{of}, and one more that is lost ends its writes: {BACK}"
    yield alert("MinIOTakesNoWrites", "critical", lost, f"{online} < {quorum}", "2m")
    yield alert("MinIOAtItsQuorum", "critical", edge, f"{online} == {quorum}", "2m")


def _minio_full() -> Rule:
    free, whole = (f"max(minio_cluster_capacity_usable_{what}_bytes)" for what in ("free", "total"))
    summary = "MinIO is {{ $value | humanize }} % full: delete, let versions expire earlier, or add servers"
    return alert("MinIONearlyFull", "warning", summary, f"100 * (1 - {free} / {whole}) > {NEARFULL}", "5m")
