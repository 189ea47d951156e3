"""Nodes as they register: labels, taints, and what pods can have of them."""

from functools import lru_cache

from msgspec import Struct

from generator.build.objects import Built
from generator.components import CATALOGUE
from generator.components.kubeadm.registration import registration
from generator.model.capacity import Share, allocatable
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from generator.model.text import Taint

COMPONENT_RESOURCES = tuple(prefix for one in CATALOGUE.values() for prefix in one.resources)
"""Extended resources whose makers are components of ours: what no node offers, nobody does."""

EXTERNAL = "node.kubernetes.io/exclude-from-external-load-balancers"


class Worker(Struct, frozen=True, kw_only=True):
    """A node. `room` is what pods may request of it together, `whole` the same with the share of daemon sets and OSDs,
    both by resource and in thousandths; `free` are prefixes of resources of which nobody here knows how many there are.
    """

    name: str
    pool: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    room: dict[str, int]
    whole: dict[str, int]
    free: tuple[str, ...] = ()

    def has(self, resource: str, *, daemon: bool = False) -> int | None:
        """Return how much of a resource pods may request, None where nobody knows."""
        if resource.startswith(self.free):
            return None
        return (self.whole if daemon else self.room).get(resource, 0)


@lru_cache(maxsize=2)
def nodes_of(built: Built) -> tuple[Worker, ...]:
    """Return the nodes that pods may be on, none for a folder."""
    return workers(built.cluster) if built.cluster else ()


def workers(cluster: Cluster) -> tuple[Worker, ...]:
    """Return the nodes of a cluster as kubeadm registers them."""
    return tuple(worker(machine, cluster) for machine in cluster.machines)


def worker(machine: Machine, cluster: Cluster) -> Worker:
    """Return one node. Labels that the kubelet and kubeadm add are those of Linux on x86."""
    registered = registration(cluster, machine)
    labels = {"kubernetes.io/hostname": machine.name}
    labels |= {f"{prefix}kubernetes.io/os": "linux" for prefix in ("", "beta.")}
    labels |= {f"{prefix}kubernetes.io/arch": "amd64" for prefix in ("", "beta.")}
    if machine.role == "control-plane":
        labels |= {"node-role.kubernetes.io/control-plane": "", EXTERNAL: ""}
    devices, free = extended(machine, cluster)
    reserved = cluster.kubernetes.reserved
    whole = Share(
        devices={},
        milli_cpu=machine.hardware.cpu * 1000 - reserved.cpu.milli,
        memory=machine.hardware.memory.value - reserved.memory.value,
        pods=cluster.kubernetes.max_pods,
    )
    return Worker(
        name=machine.name,
        pool=machine.pool,
        labels=labels | registered.labels,
        taints=registered.taints,
        room=room(allocatable(machine, cluster)) | devices,
        whole=room(whole) | devices,
        free=("ephemeral-storage", "attachable-volumes-", *free),
    )


def room(share: Share) -> dict[str, int]:
    """Return a share by resource, in thousandths."""
    return {"cpu": share.milli_cpu, "memory": share.memory * 1000}


def extended(machine: Machine, cluster: Cluster) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the extended resources of a node in thousandths, and prefixes of those that are not counted."""
    offered = {name: count for one in CATALOGUE.values() for name, count in one.offers(cluster, machine).items()}
    counted = {name: count * 1000 for name, count in offered.items() if count is not None}
    return counted, tuple(name for name in offered if name not in counted)
