"""What teams own of the pools, in the resources that are counted there."""

from msgspec import Struct

from generator.checks.places import entries
from generator.model.capacity import Share, flavor_capacity
from generator.model.cluster import Cluster
from generator.model.finding import Path
from generator.model.gpus import GPU, MIG, devices, instance_resource, quota_devices
from generator.model.teams import Quota

CPUS = "cpus"
"""What is counted of pools without GPUs, beside the extended resources of those that have some."""


class TeamQuota(Struct, frozen=True):
    """A team's quota on a pool that exists: where it stands, and how much it owns of each resource that is counted
    there: CPUs, or the extended resources that nodes offer for GPUs.
    """

    team: str
    pool: str
    at: Path
    quota: Quota
    amounts: dict[str, int]

    @property
    def has_gpus(self) -> bool:
        """Whether the pool's nodes have GPUs."""
        return CPUS not in self.amounts

    @property
    def most(self) -> tuple[str, int]:
        """The resource it owns the most of, and how much."""
        return max(self.amounts.items(), key=lambda each: each[1])


def offered(cluster: Cluster, pool: str) -> dict[str, int]:
    """Return what the pool's nodes offer for GPUs, of a pool without nodes what one would."""
    machines = cluster.in_pools(pool)
    hardware = cluster.pools[pool].hardware
    return dict(flavor_capacity(cluster, pool).devices) if machines else devices(cluster.gpus, hardware.gpu)


def owned_quotas(cluster: Cluster) -> list[TeamQuota]:
    """Return the quotas on pools that exist, in the order of the file."""
    there = {pool: offered(cluster, pool) for pool in cluster.pools}
    return [
        TeamQuota(team.name, pool, (*at, "quotas", pool), quota, _amounts(quota, there[pool]))
        for at, team in entries(cluster.teams, "teams")
        for pool, quota in team.quotas.items()
        if pool in there
    ]


def _amounts(quota: Quota, offered: dict[str, int]) -> dict[str, int]:
    owned = quota_devices(quota)
    return {name: owned.get(name, 0) for name in offered} if offered else {CPUS: quota.cpus or 0}


def by_pool(cluster: Cluster) -> dict[str, list[TeamQuota]]:
    """Return the quotas on each pool."""
    found: dict[str, list[TeamQuota]] = {}
    for owned in owned_quotas(cluster):
        found.setdefault(owned.pool, []).append(owned)
    return found


def counted(share: Share, what: str) -> int:
    """Return how much of a resource a share has."""
    return share.milli_cpu // 1000 if what == CPUS else share.devices.get(what, 0)


def in_units(what: str, amount: int) -> str:
    """Return an amount as people say it."""
    if what.startswith(MIG):
        return f"{amount} {what}"
    return f"{amount} {'CPU' if what == CPUS else 'GPU'}{'s' * (amount != 1)}"


def key_of(quota: Quota, what: str) -> Path:
    """Return the key of a quota that says how much of a resource it is."""
    keys: dict[str, Path] = {instance_resource(name): ("instances", name) for name in quota.instances}
    return keys.get(what, ("instances", what.removeprefix(MIG)) if what.startswith(MIG) else ("gpus",))


def unit_of(owned: TeamQuota) -> str:
    """Return the key that a quota on this pool is given in."""
    if not owned.has_gpus:
        return CPUS
    return "gpus" if GPU in owned.amounts else "instances"
