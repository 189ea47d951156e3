"""What a cluster gains or loses by an edit, in figures that people plan with."""

from collections.abc import Iterator
from typing import NamedTuple

from generator.checks.cables import FreePorts
from generator.checks.networks import slice_count
from generator.checks.places import human
from generator.checks.tiers import ceph_pools
from generator.model.capacity import ceph_usable, flavor_capacity, objects_usable, osds
from generator.model.cluster import Cluster
from generator.model.gpus import quota_devices

# Leaf switches that are told one by one.
_LEAFS = 4


class Gain(NamedTuple):
    """A figure that an edit changes."""

    what: str
    before: str
    after: str


def gains(before: Cluster, after: Cluster) -> list[Gain]:
    """Return the figures that differ, those of the whole cluster first."""
    old, new = dict(_figures(before)), dict(_figures(after))
    return [
        Gain(what, old.get(what, "none"), new.get(what, "none"))
        for what in {**new, **old}
        if old.get(what) != new.get(what)
    ]


def _figures(cluster: Cluster) -> Iterator[tuple[str, str]]:
    yield "nodes", str(len(cluster.machines))
    yield "control-plane nodes", str(len(cluster.control_plane))
    yield "GPUs", str(sum(machine.gpus for machine in cluster.machines))
    for pool in cluster.pools:
        yield from _of_pool(cluster, pool)
    if cluster.storage.ceph:
        yield "OSDs", str(sum(osds(machine, cluster) for machine in cluster.ceph_hosts))
        for placed in ceph_pools(cluster):
            if placed.use != "metadata":
                yield f"room in Ceph's {placed.name}", human(ceph_usable(cluster, placed.pool).value)
    if cluster.storage.objects:
        yield "room in MinIO", human(objects_usable(cluster).value)
    yield from _ports(cluster)
    kubernetes = cluster.kubernetes
    slices = slice_count(kubernetes.pod_cidr, kubernetes.node_mask)
    yield "nodes that podCIDR has room for", str(slices - len(cluster.machines))


def _of_pool(cluster: Cluster, pool: str) -> Iterator[tuple[str, str]]:
    capacity = flavor_capacity(cluster, pool)
    yield f"nodes in {pool}", str(len(cluster.in_pools(pool)))
    for device, count in capacity.devices.items():
        owned = sum(quota_devices(team.quotas[pool]).get(device, 0) for team in cluster.teams if pool in team.quotas)
        yield f"{device} in {pool}", str(count)
        yield f"{device} in {pool} of no team", str(count - owned)
    yield f"CPUs for jobs in {pool}", str(capacity.milli_cpu // 1000)
    yield f"memory for jobs in {pool}", human(capacity.memory)


def _ports(cluster: Cluster) -> Iterator[tuple[str, str]]:
    free = FreePorts(cluster).rooms()
    if len(free) > _LEAFS:
        yield "free ports of all leaf switches", str(sum(free.values()))
    else:
        yield from ((f"free ports of {leaf}", str(count)) for leaf, count in free.items())
