"""What the steps must know of nodes: what the cluster file says of each, as ConfigMaps that the synced tree brings."""

import json
from collections.abc import Iterator
from typing import Any

from generator.components import ceph_csi_drivers, csi_nfs, etcd_backup, gpu_operator, rdma
from generator.components.acceptance.names import PORT
from generator.components.acceptance.pools import GIB, environment, message, tried
from generator.components.acceptance.thresholds import NCCL, thresholds
from generator.components.component import Manifest
from generator.components.etcd_backup import NAMESPACE as BACKUPS
from generator.components.kubeadm.bootstrap_images import bootstrap_images
from generator.components.kubeadm.labels import Marks, marks
from generator.components.node_operations.names import FACTS, NAMESPACE, UPGRADE, labels
from generator.components.parts import taint_entry
from generator.components.queues import remainder
from generator.components.workflows.scheduled import BACKUP, label
from generator.model.capacity import allocatable, osds
from generator.model.cluster import Cluster
from generator.model.gpus import known
from generator.model.mirror import at_mirror
from generator.model.nodes import Machine

OF_POOL = "_pool"
"""The key of what all nodes of a pool share; no node is called so."""
PATIENCE = "600"
"""Seconds for which the processes of an all-reduce wait for each other: PyTorch's image may come late to one node."""
OFFERING = (gpu_operator.DEFINITION, rdma.DEFINITION)


def config_maps(cluster: Cluster) -> Iterator[Manifest]:
    """Yield one for each pool, with a line for each node: two changes that add nodes merge as text."""
    by_name = {one.node: one for one in marks(cluster)}
    for pool in cluster.pools:
        machines = cluster.in_pools(pool)
        lines = {one.name: _line(of_node(cluster, one, by_name[one.name])) for one in machines}
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"nodes-{pool}",
                "namespace": NAMESPACE,
                "labels": {**labels(NAMESPACE), FACTS: "nodes"},
            },
            "data": {OF_POOL: _line(of_pool(cluster, pool)), **lines},
        }


def upgrade_facts(cluster: Cluster) -> Manifest:
    """Return what an upgrade of Kubernetes is told: the version, the control plane in order, images, the backup,
    who upgrades machines.
    """
    facts = {
        "version": cluster.kubernetes.version,
        "control-plane": [machine.name for machine in cluster.control_plane],
        "images": [at_mirror(one.image, cluster.site.images) for one in bootstrap_images(cluster)],
        "backup": kept_backup(cluster),
        "upgrades": cluster.kubernetes.upgrades,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": UPGRADE, "namespace": NAMESPACE, "labels": {**labels(UPGRADE), FACTS: "upgrade"}},
        "data": {"facts": _line(facts)},
    }


def kept_backup(cluster: Cluster) -> Manifest | None:
    """Return where runs are found that brought snapshots of etcd away."""
    if not etcd_backup.DEFINITION.wanted(cluster) or not cluster.kubernetes.etcd.backup:
        return None
    return {"namespace": BACKUPS, "runs": f"{label(BACKUP)}={cluster.kubernetes.etcd.backup.name}"}


def _line(facts: dict[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True)


def of_pool(cluster: Cluster, pool: str) -> dict[str, Any]:
    """Return what all nodes of a pool share: the devices of no team, the drivers of volumes that must register, how
    their GPUs are tried together.
    """
    scratch = cluster.storage.scratch
    left = remainder(cluster, pool).devices if cluster.teams else {}
    return {
        "cluster": cluster.name,
        "queues": bool(cluster.teams),
        "ceph": cluster.storage.ceph is not None,
        "pool": pool,
        "unowned": {name: count for name, count in left.items() if count > 0},
        "drivers": drivers(cluster),
        "scratch": scratch.storage_class if scratch else "",
        "nccl": together(cluster, pool),
        "monitors": [machine.name for machine in cluster.monitor_hosts] if cluster.storage.ceph else [],
    }


def together(cluster: Cluster, pool: str) -> dict[str, Any] | None:
    """Return how GPUs of a pool are tried together, and what two nodes must reach; None where acceptance tries none."""
    one = next((one for one in tried(cluster) if one.pool == pool), None)
    if cluster.acceptance is None or one is None:
        return None
    told = {"SIZE": message(one), "PORT": str(PORT), "PATIENCE": PATIENCE, "NCCL_DEBUG": "INFO"}
    return {
        "image": cluster.acceptance.image,
        "env": environment(one) | told,
        "hcas": list(one.hcas),
        "infiniband": one.rdma is not None,
        "gbytes": thresholds(cluster, one.machines).get(NCCL),
    }


def drivers(cluster: Cluster) -> list[str]:
    """Return the CSI drivers whose pods register on every node."""
    ceph = (ceph_csi_drivers.RBD_DRIVER, ceph_csi_drivers.CEPHFS_DRIVER) if cluster.storage.ceph else ()
    nfs = cluster.storage.nfs
    return [*ceph, *((csi_nfs.DRIVER if nfs.outside else ceph_csi_drivers.NFS_DRIVER,) if nfs else ())]


def of_node(cluster: Cluster, machine: Machine, must_bear: Marks) -> dict[str, Any]:
    """Return what a node must be: its address, what it bears, what pods find on it, what a burn-in takes."""
    offered = [one.offers(cluster, machine) for one in OFFERING if one.wanted(cluster)]
    found = {name: count for each in offered for name, count in each.items() if count}
    return {
        "address": str(machine.address),
        "labels": must_bear.labels,
        "removed": must_bear.removed,
        "taints": [taint_entry(one) for one in must_bear.taints],
        "annotations": must_bear.annotations,
        "hardware": hardware(machine),
        "resources": found,
        # A ticket for InfiniBand shows a pod all of its node's HCAs: one is enough.
        "burn-in": {name: 1 if name.startswith(f"{rdma.PREFIX}/") else count for name, count in found.items()},
        "expected": expected(cluster, machine),
        "osds": osds(machine, cluster),
    }


def hardware(machine: Machine) -> dict[str, Any]:
    """Return what the machine is, as far as a Node tells it: hardware threads, bytes of memory, the model of its GPUs,
    where it is one that is known.
    """
    said = machine.hardware
    return {"cpu": said.cpu, "memory": said.memory.value, "gpu": known(said.gpu.model) if said.gpu else ""}


def expected(cluster: Cluster, machine: Machine) -> dict[str, Any]:
    """Return what a pod with all devices sees: each HCA with the switch port that it belongs into, where the file says
    so, how fast their links must be, in Gbit/s, and how much memory it tries, in GiB. GPUs that are split or shared are
    not counted from inside.
    """
    gpu, fabric = machine.hardware.gpu, cluster.fabric if rdma.offers(cluster, machine) else None
    whole = gpu is not None and not gpu.mig and not gpu.time_slices
    names = machine.hardware.hcas if fabric else ()
    return {
        "gpus": machine.gpus if whole else 0,
        "hcas": {name: str(machine.fabric.get(name, "")) for name in names},
        "gbits": fabric.speed if fabric else 0,
        "disks": machine.drive_count("scratch") if cluster.storage.scratch else 0,
        # Half of what pods can have: the rest is for what runs on every node.
        "memory": allocatable(machine, cluster).memory // 2 // GIB,
    }
