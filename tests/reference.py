"""The reference clusters, read from this repository."""

from pathlib import Path
from typing import Any

from msgspec import structs

from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from generator.spec.decode import decode
from generator.spec.reader import read

ROOT = Path(__file__).parent.parent


def load(name: str) -> Cluster:
    """Read a reference cluster."""
    file = f"clusters/{name}/cluster.yaml"
    cluster = decode(read((ROOT / file).read_bytes(), file))
    assert isinstance(cluster, Cluster), cluster
    return cluster


def without_backups(cluster: Cluster) -> Cluster:
    """Return the cluster with nothing that is backed up: buckets, etcd or Zabbix's database."""
    kubernetes = structs.replace(cluster.kubernetes, etcd=structs.replace(cluster.kubernetes.etcd, backup=None))
    monitoring = cluster.monitoring
    if zabbix := monitoring.zabbix:
        monitoring = structs.replace(monitoring, zabbix=structs.replace(zabbix, backup=None))
    return structs.replace(cluster, backups=(), kubernetes=kubernetes, monitoring=monitoring)


def without_operations(cluster: Cluster) -> Cluster:
    """Return the cluster with nothing that runs by Argo Workflows."""
    teams = tuple(structs.replace(one, pipelines=False) for one in cluster.teams)
    return structs.replace(without_backups(cluster), teams=teams, acceptance=None, gpu_care=None, mlperf=None)


def with_hardware(machine: Machine, **changed: Any) -> Machine:
    """Return a node with other hardware."""
    return structs.replace(machine, hardware=structs.replace(machine.hardware, **changed))
