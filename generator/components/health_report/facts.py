"""What the cluster file says that the report is held against."""

import json
from collections.abc import Iterator
from typing import Any

from generator.components.component import Manifest
from generator.components.health_report import FACTS, LABELS, NAMESPACE
from generator.components.workflows.scheduled import BACKUP, DRILL
from generator.model.backup import AnyBackup, VolumeBackup
from generator.model.capacity import objects_usable
from generator.model.cluster import Cluster
from generator.model.retention import asked_days, kept_room, old_days, target_of


def config_map(cluster: Cluster) -> Manifest:
    """Return the facts: no secret is among them."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": FACTS, "namespace": NAMESPACE, "labels": LABELS},
        "data": {"facts.json": json.dumps(facts(cluster), indent=1)},
    }


def facts(cluster: Cluster) -> dict[str, Any]:
    """Return what is expected. `addresses` is what a node's slice of the pod network holds, `slices` how many there
    are; both 0 for Calico, whose blocks are no node's for good.
    """
    kubernetes = cluster.kubernetes
    sliced = cluster.networks.cni == "cilium"
    return {
        "cluster": cluster.name,
        "nodes": sorted(machine.name for machine in cluster.machines),
        "teams": sorted(team.name for team in cluster.teams),
        "zabbix": cluster.monitoring.zabbix is not None,
        "ceph": cluster.storage.ceph is not None,
        "objects": cluster.storage.objects is not None,
        "etcdQuota": kubernetes.etcd.quota.value,
        "addresses": 2 ** (32 - kubernetes.node_mask) if sliced else 0,
        "slices": 2 ** (kubernetes.node_mask - kubernetes.pod_cidr.prefixlen) if sliced else 0,
        "backups": list(_backups(cluster)),
        "room": list(_room(cluster)),
        "usable": objects_usable(cluster).value,
    }


def _backups(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Yield what runs on a schedule: backups, then drills."""
    for one in cluster.all_backups:
        yield _scheduled(BACKUP, one)
    for volume in cluster.volume_backups:
        yield {**_scheduled(BACKUP, volume), "team": volume.source.team}
    for each in cluster.tried:
        suspended = each.suspended or each.drill.suspended
        yield _row(DRILL, each.name, each.drill_schedule, each.drill_too_old, suspended=suspended)


def _scheduled(of: str, one: AnyBackup | VolumeBackup) -> dict[str, Any]:
    return _row(of, one.name, one.schedule, one.too_old, suspended=one.suspended)


def _row(of: str, name: str, schedule: str, too_old: int, *, suspended: bool) -> dict[str, Any]:
    return {"of": of, "name": name, "schedule": schedule, "tooOld": too_old, "suspended": suspended}


def _room(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Yield how many bytes each backup into a bucket keeps at most, and how many the bucket takes; 0 for no quota."""
    for backup in cluster.backups:
        if bucket := target_of(cluster, backup):
            needs = kept_room(backup, max(asked_days(backup, bucket), old_days(bucket)))
            yield {"backup": backup.name, "needs": needs, "takes": bucket.quota.value if bucket.quota else 0}
