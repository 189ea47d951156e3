"""What a team can use of a pool at most: what it owns, and all that it may borrow when others use nothing."""

from generator.components.queues import flavors, limit, nominal, remainder, smaller
from generator.model.capacity import Share, flavor_capacity
from generator.model.cluster import Cluster
from generator.model.teams import Team


def reach(cluster: Cluster, team: Team, pool: str) -> dict[str, int]:
    """Return the GPUs and instances of a pool that a team can use at most, by extended resource: none of a pool on
    which nobody has a quota. Departments bound nothing (facts: scheduling 2.3, `potential`).
    """
    if pool not in flavors(cluster):
        return {}
    own, borrow = nominal(cluster, team, pool).devices, limit(cluster, team, pool, "borrow")
    others = [lendable(cluster, other, pool) for other in cluster.teams if other.name != team.name]
    found = {}
    for name in flavor_capacity(cluster, pool).devices:
        lent = sum(share.devices.get(name, 0) for share in (remainder(cluster, pool), *others))
        found[name] = own.get(name, 0) + (lent if borrow is None else min(lent, borrow.devices.get(name, 0)))
    return found


def lendable(cluster: Cluster, team: Team, pool: str) -> Share:
    """Return what others may use of what a team owns: all of it, or as much as it lends."""
    own, lent = nominal(cluster, team, pool), limit(cluster, team, pool, "lend")
    return smaller(lent, own) if lent else own
