"""What a team can use of a pool at most, whatever others leave idle: Kueue's own sum."""

from generator.components.queues import NOTHING, flavors, limit, nominal, remainder, smaller
from generator.model.capacity import Share
from generator.model.cluster import Cluster
from generator.model.teams import Team


def reach(cluster: Cluster, team: Team, pool: str) -> Share:
    """Return what a team may use of a pool when nobody else does: its own, what no team owns and what the others lend,
    bounded by what it may borrow; nothing of a pool on which nobody has a quota. A job that asks for more waits for
    ever (facts: scheduling 2.3, `potential`). Departments own nothing and bound nothing.
    """
    if pool not in flavors(cluster):
        return NOTHING
    own, borrowed = nominal(cluster, team, pool), limit(cluster, team, pool, "borrow")
    others = [_lent(cluster, each, pool) for each in cluster.teams if each.name != team.name]
    there = _sum(own, remainder(cluster, pool), *others)
    return there if borrowed is None else smaller(there, _sum(own, borrowed))


def _lent(cluster: Cluster, team: Team, pool: str) -> Share:
    own, lent = nominal(cluster, team, pool), limit(cluster, team, pool, "lend")
    return own if lent is None else smaller(own, lent)


def _sum(*shares: Share) -> Share:
    names = dict.fromkeys(name for share in shares for name in share.devices)
    return Share(
        devices={name: sum(share.devices.get(name, 0) for share in shares) for name in names},
        milli_cpu=sum(share.milli_cpu for share in shares),
        memory=sum(share.memory for share in shares),
        pods=sum(share.pods for share in shares),
    )
