"""The reference clusters, read from this repository."""

import os
import subprocess
import sys
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
    return decoded(f"clusters/{name}/cluster.yaml")


def decoded(file: str) -> Cluster:
    """Read a cluster file that is right, by its place in the tree."""
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


def render(repository: Path, cluster: str, text: str) -> None:
    """Write a cluster file of this name into a new repository, and what gen makes of it."""
    file = repository / "clusters" / cluster / "cluster.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    command = [sys.executable, "-P", "-m", "generator", "render"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    made = subprocess.run(command, cwd=repository, env=environment, capture_output=True, check=False)
    assert made.returncode == 0, made.stderr.decode() + made.stdout.decode()


def with_hardware(machine: Machine, **changed: Any) -> Machine:
    """Return a node with other hardware."""
    return structs.replace(machine, hardware=structs.replace(machine.hardware, **changed))
