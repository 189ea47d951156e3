"""Rules about Ceph's nodes, disks and daemons."""

from collections.abc import Iterator

from generator.checks.places import (
    by_place,
    entries,
    free_addresses,
    hardware_path,
    human,
    listed_twice,
    old_kernels,
    unknown,
)
from generator.checks.tiers import CEPH, idle_disks
from generator.model.capacity import (
    OSD_REQUESTS,
    ceph_raw,
    osds,
    used,
)
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put
from generator.model.nodes import Machine
from generator.model.rule import rule, warning
from generator.spec.near import misnamed


def _pools(cluster: Cluster) -> list[tuple[Path, str]]:
    """Return Ceph's pools of nodes, each with its place."""
    ceph = cluster.storage.ceph
    return entries(ceph.pools if ceph else (), *CEPH, "pools")


def _monitor_pools(cluster: Cluster) -> list[tuple[Path, str]]:
    ceph = cluster.storage.ceph
    return entries(ceph.monitor_pools if ceph else (), *CEPH, "monitorPools")


@rule("GEN-CEPH-001", "Ceph's pools of nodes exist")
def node_pools_known(cluster: Cluster) -> Iterator[Finding]:
    """Ceph takes the disks with `use: ceph` of these pools' nodes; its monitors run on those of `monitorPools`.

    Wrong:
        ceph: {pools: [cpus]}
    Right:
        ceph: {pools: [cpu]}
    """
    for listed in (_pools(cluster), _monitor_pools(cluster)):
        free = dict(misnamed(dict.fromkeys(name for _, name in listed), cluster.pools))
        for at, name in listed:
            if name not in cluster.pools:
                near = free[name]
                otherwise = f"name one of {', '.join(near or cluster.pools)}, or take it out"
                message, cause = f"there is no pool {name}", f"pool {name} is not described"
                yield unknown(at, name, near, message, otherwise, also=("pools",), cause=cause)
        yield from listed_twice(((name, at) for at, name in listed), "the pool {} is listed twice")


@warning("GEN-CEPH-002", "Ceph's pools of nodes have disks for it")
def node_pools_have_disks(cluster: Cluster) -> Iterator[Finding]:
    """A pool without such disks adds nothing to Ceph: no room, and no host for monitors.

    Wrong:
        ceph: {pools: [cpu]}
        # and no disk with `use: ceph` in pool cpu
    Right:
        disks: [{use: ceph, model: SAMSUNG_MZQL27T6HBLA-00A07, count: 4, size: 7680G}]
    """
    for at, name in _pools(cluster):
        machines = cluster.in_pools(name)
        if machines and not any(machine.disks_for("ceph") for machine in machines):
            message = f"no node of pool {name} has disks with `use: ceph`"
            fix = "add them to `disks`, or remove the pool here"
            yield Finding(at=at, also=("pools", name, "hardware"), message=message, fix=fix)


@warning("GEN-CEPH-003", "disks for Ceph are used")
def disks_used(cluster: Cluster) -> Iterator[Finding]:
    """Only the pools that `storage.ceph.pools` lists give their disks; others stay empty.

    Wrong:
        disks: [{use: ceph, ...}]   # in pool nas
        # and
        ceph: {pools: [cpu]}
    Right:
        ceph: {pools: [cpu, nas]}
    """
    ceph = cluster.storage.ceph
    for at, pool in idle_disks(cluster, "ceph", ceph.pools if ceph else ()):
        why = f"pool {pool} is not in storage.ceph.pools" if ceph else "there is no storage.ceph"
        fix = f"add {pool} to storage.ceph.pools" if ceph else "add storage.ceph"
        also = (*CEPH, "pools") if ceph else None
        edits = put((*CEPH, "pools", len(ceph.pools)), pool) if ceph else ()
        yield Finding(at=at, also=also, message=f"nobody uses disks for ceph: {why}", fix=fix, edits=edits)


@rule("GEN-CEPH-004", "at least three hosts with Ceph's disks")
def three_hosts(cluster: Cluster) -> Iterator[Finding]:
    """Three copies need three hosts, and so do three monitors, of which two must agree.

    Wrong:
        # two nodes with disks for ceph
    Right:
        # four nodes with disks for ceph
    """
    hosts = cluster.ceph_hosts
    if cluster.storage.ceph and len(hosts) < 3:
        names = ", ".join(machine.name for machine in hosts) or "none"
        message = f"Ceph needs 3 nodes with disks for it, and has {len(hosts)} ({names})"
        yield Finding(at=(*CEPH, "pools"), message=message, fix="have 4, so that it can heal when one fails")


@warning("GEN-CEPH-005", "a fourth host, to heal")
def fourth_host(cluster: Cluster) -> Iterator[Finding]:
    """With as many hosts as copies, the copies of a lost host have nowhere to go: data stays at risk until that very
    host is back.

    Wrong:
        # three nodes with disks for ceph
    Right:
        # four nodes with disks for ceph
    """
    hosts = cluster.ceph_hosts
    if len(hosts) == 3:
        message = "Ceph has 3 nodes: with one lost, writes go on and its copies cannot be made again elsewhere"
        yield Finding(at=(*CEPH, "pools"), message=message, fix="add a fourth node with such disks")


@warning("GEN-CEPH-009", "Ceph apart from GPUs and the control plane")
def apart_from_gpus(cluster: Cluster) -> Iterator[Finding]:
    """Jobs that fill a GPU node slow every volume of the cluster, and etcd does not bear a neighbour that writes.

    Wrong:
        ceph: {pools: [gpu-training]}
    Right:
        ceph: {pools: [cpu]}
    """
    for at, name in _pools(cluster):
        hosts = [machine for machine in cluster.ceph_hosts if machine.pool == name]
        kind = next(("has GPUs" if host.gpus else "is the control plane" for host in hosts if _busy(host)), "")
        if kind:
            message = f"pool {name} {kind}, and {len(hosts)} of its nodes would run Ceph's daemons"
            yield Finding(at=at, also=("pools", name), message=message, fix="give the disks to nodes of their own")


def _busy(machine: Machine) -> bool:
    return bool(machine.gpus) or machine.role == "control-plane"


@rule("GEN-CEPH-010", "Ceph's nodes are in the storage network")
def storage_addresses(cluster: Cluster) -> Iterator[Finding]:
    """On the host network Ceph's daemons listen in the storage network only: without an address there they do not
    start.

    Wrong:
        storage: {cidr: 10.20.0.0/22}
        # and
        - {name: cpu-01, pool: cpu, address: 10.10.0.131}
    Right:
        - {name: cpu-01, pool: cpu, address: 10.10.0.131, addresses: {storage: 10.20.0.131}}
    """
    ceph, network = cluster.storage.ceph, cluster.networks.storage
    on_host = ceph and network and ceph.network == "host"
    hosts = {machine.index: machine for machine in (*cluster.ceph_hosts, *cluster.monitor_hosts)} if on_host else {}
    # Of a node outside the node network, which another rule reports, nothing can follow.
    lost = {each.index for each in hosts.values() if _cannot_follow(cluster, each)}
    without = [each for each in hosts.values() if "storage" not in each.addresses and each.index not in lost]
    for machine, free in zip(without, free_addresses(cluster, "storage"), strict=False):
        why = "has disks for ceph" if machine in cluster.ceph_hosts else "may hold a monitor of Ceph"
        message = f"{machine.name} {why} and no address in the storage network"
        edits = put(("nodes", machine.index, "addresses", "storage"), free) if free else ()
        fix = f"addresses: {{storage: {free}}}" if free else "enlarge the network"
        also: Path = ("networks", "storage")
        yield Finding(at=("nodes", machine.index), also=also, message=message, fix=fix, edits=edits)


def _cannot_follow(cluster: Cluster, machine: Machine) -> bool:
    network, home = cluster.networks.storage, cluster.networks.node.cidr
    return bool(network and network.follow) and machine.address not in home


@warning("GEN-CEPH-011", "a storage network for Ceph")
def storage_network(cluster: Cluster) -> Iterator[Finding]:
    """When a host is lost, Ceph copies as fast as the network lets it: in the node network, that delays the
    heartbeats of kubelets and etcd. It cannot be moved later.

    Wrong:
        ceph: {network: host, ...}
        # and no networks.storage
    Right:
        networks:
          storage: {cidr: 10.20.0.0/22, interface: eno2}
    """
    ceph = cluster.storage.ceph
    if ceph and ceph.network == "host" and not cluster.networks.storage:
        message = "Ceph shares the node network: there is no networks.storage"
        yield Finding(at=CEPH, key=True, also=("networks",), message=message, fix="add networks.storage")


@warning("GEN-CEPH-012", "hosts of Ceph are of like size")
def hosts_alike(cluster: Cluster) -> Iterator[Finding]:
    """What the largest host holds must fit on the others when it fails, so its room beyond theirs stays unused.

    Wrong:
        # four nodes, of which one has half of all nvme
    Right:
        # four nodes with as much each
    """
    hosts = cluster.ceph_hosts
    for name in OSD_REQUESTS:
        sizes = {machine.index: ceph_raw(machine, name) for machine in hosts}
        raw = sum(sizes.values())
        holders = [index for index, size in sizes.items() if size]
        largest = max(holders, key=sizes.__getitem__, default=0)
        if len(holders) > 3 and sizes[largest] * 10 > raw * 3:
            host, share = cluster.nodes[largest].name, sizes[largest] * 100 // raw
            message = f"{host} holds {human(sizes[largest])} of Ceph's {human(raw)} of {name} ({share} %)"
            fix = "spread disks so that no host holds more than 30 %"
            yield Finding(at=("nodes", largest), message=message, fix=fix)


@rule("GEN-CEPH-013", "CPUs and memory for Ceph's daemons")
def room_for_osds(cluster: Cluster) -> Iterator[Finding]:
    """Each disk has a daemon (OSD) that asks for 2 CPUs and 8Gi (nvme), 1 and 5Gi (ssd) or half a CPU and 5Gi (hdd):
    those that do not fit on their node never start.

    Wrong:
        hardware: {cpu: 16, memory: 64Gi, disks: [{use: ceph, model: ST20000NM002D, count: 24, size: 20T}]}
    Right:
        hardware: {cpu: 32, memory: 256Gi, disks: [{use: ceph, model: ST20000NM002D, count: 24, size: 20T}]}
    """
    hosts = cluster.ceph_hosts
    short_of = {
        "cpu": [host for host in hosts if used(host, cluster)[0] > host.hardware.cpu * 1000],
        "memory": [host for host in hosts if used(host, cluster)[1] > host.hardware.memory.value],
    }
    for field, short in short_of.items():
        for at, (host, *_) in by_place(cluster, short, field).items():
            cpu, memory = used(host, cluster)
            need = f"{human(memory)} of {host.hardware.memory.human()}"
            if field == "cpu":
                need = f"{-(-cpu // 1000)} CPUs of {host.hardware.cpu}"
            message = f"{osds(host, cluster)} disks for ceph and what is reserved on {host.name} need {need}"
            also = hardware_path(cluster, host, "disks")
            yield Finding(at=at, also=also, message=message, fix="give Ceph fewer disks of the node")


@rule("GEN-CEPH-014", "kernels that encrypt")
def kernel_encrypts(cluster: Cluster) -> Iterator[Finding]:
    """With traffic encrypted, the kernel's client must speak the second version of Ceph's protocol: Linux does so
    from 5.11 on, and before that it mounts nothing.

    Wrong:
        kernel: "5.4"
        # and
        encryption: {transit: true}
    Right:
        kernel: "6.8"
    """
    ceph = cluster.storage.ceph
    for at, machine in old_kernels(cluster, (5, 11)) if ceph and ceph.encryption.transit else ():
        message = f"Linux {machine.kernel} of {machine.name} cannot mount from a Ceph that encrypts its traffic"
        fix = "kernel 5.11 or later, or encryption.transit: false"
        yield Finding(at=at, also=(*CEPH, "encryption", "transit"), message=message, fix=fix)
