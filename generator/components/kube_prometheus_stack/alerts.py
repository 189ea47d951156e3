"""What Prometheus alerts of beside the chart's own rules: backups that are missed."""

from typing import Any

from generator.components.component import Manifest
from generator.components.workflows.backup import NEWEST
from generator.model.cluster import Cluster


def backups_missed(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on the backups that run; None where there are none."""
    rules = [rule for one in cluster.all_backups if not one.suspended for rule in _missed(one.name, one.too_old)]
    if not rules:
        return None
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "backups", "namespace": namespace},
        "spec": {"groups": [{"name": "backups", "rules": rules}]},
    }


def _missed(name: str, age: int) -> list[dict[str, Any]]:
    """Return the rules on one backup, whose newest good run may be `age` seconds old. Argo Workflows forgets it when
    its controller is started anew: what it said within that time counts; what never worked says nothing for as long.
    """
    metric = f'{NEWEST}{{backup="{name}"}}'
    summary = f"Backup {name} is too old, or there never was one"
    told = {"labels": {"severity": "critical"}, "annotations": {"summary": summary}}
    newest = f"max by (backup) (max_over_time({metric}[{age}s]))"
    return [
        {"alert": "BackupTooOld", "expr": f"time() - {newest} > {age}", **told},
        {"alert": "BackupNeverSeen", "expr": f"absent({metric})", "for": f"{age}s", **told},
    ]
