"""Rules about what teams lend to each other."""

from collections.abc import Iterator

from generator.checks.owned import TeamQuota, by_pool, counted, in_units, owned_quotas
from generator.model.capacity import flavor_capacity
from generator.model.cluster import Cluster
from generator.model.finding import Finding, in_words, put
from generator.model.rule import rule, warning


@warning("GEN-TEAM-004", "borrowing what there is")
def borrow_possible(cluster: Cluster) -> Iterator[Finding]:
    """A team borrows what no team owns and what others lend; a limit beyond that limits nothing.

    Wrong:
        # 16 GPUs in all, and
        - {name: vision, quotas: {gpu: {gpus: 8, borrow: 16}}}
    Right:
        - {name: vision, quotas: {gpu: {gpus: 8, borrow: 8}}}
    """
    for pool, owners in by_pool(cluster).items():
        capacity = flavor_capacity(cluster, pool)
        left = {
            what: counted(capacity, what) - sum(each.amounts[what] for each in owners) for what in owners[0].amounts
        }
        for owned in owners if min(left.values()) >= 0 else ():
            others = [each for each in owners if each is not owned]
            reach = {what: rest + sum(_lent(each, what) for each in others) for what, rest in left.items()}
            what, there = max(reach.items(), key=lambda each: each[1])
            if owned.quota.borrow is not None and owned.quota.borrow > there:
                can = in_units(what, there)
                message = f"team {owned.team} may borrow {owned.quota.borrow}, and others lend or leave {can} of {pool}"
                where = (*owned.at, "borrow")
                yield Finding(at=where, also=("pools", pool), message=message, edits=put(where, there))


def _lent(owned: TeamQuota, what: str) -> int:
    amount = owned.amounts[what]
    return amount if owned.quota.lend is None else min(amount, owned.quota.lend)


@rule("GEN-TEAM-005", "lending what one owns")
def lend_own(cluster: Cluster) -> Iterator[Finding]:
    """`lend` is the part of a team's own that others may use; Kueue refuses more than that.

    Wrong:
        - {name: serving, quotas: {gpu: {gpus: 8, lend: 16}}}
    Right:
        - {name: serving, quotas: {gpu: {gpus: 8, lend: 8}}}
    """
    for owned in owned_quotas(cluster):
        what, amount = owned.most
        if owned.quota.lend is not None and owned.quota.lend > amount:
            owns = in_units(what, amount)
            message = f"team {owned.team} owns {owns} of {owned.pool} and lends {owned.quota.lend}"
            edits = put((*owned.at, "lend"), amount)
            fix = f"{in_words(edits)}, or remove it to lend all"
            yield Finding(at=(*owned.at, "lend"), message=message, fix=fix, edits=edits)
