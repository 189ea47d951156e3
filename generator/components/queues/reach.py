"""What a team can use of a pool at most, whatever others leave idle: Kueue's own sum."""

from generator.components.queues import flavors, limit, nominal, remainder, smaller
from generator.model.capacity import NOTHING, Share, together
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
    there = together(own, remainder(cluster, pool), *others)
    return there if borrowed is None else smaller(there, together(own, borrowed))


def _lent(cluster: Cluster, team: Team, pool: str) -> Share:
    own, lent = nominal(cluster, team, pool), limit(cluster, team, pool, "lend")
    return own if lent is None else smaller(own, lent)
