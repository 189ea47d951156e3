"""Quotas: a flavor for each shared pool, a queue for each team, cohorts in which teams lend to each other."""

from collections.abc import Iterable

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.model.capacity import NOTHING, Share, flavor_capacity, made_capacity, quota_share, together
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.teams import Team
from generator.model.text import Taint

COHORT = "teams"
"""The cohort above all departments, and of the teams that have none."""
TOPOLOGY = "nodes"
BATCH = "batch-"
"""How the names of PriorityClasses for jobs begin."""

GIB = 2**30


def queues(cluster: Cluster) -> Component:
    """Write the quotas of the cluster file as Kueue's objects."""
    from generator.components.queues.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def flavors(cluster: Cluster) -> list[str]:
    """Return the pools on which any team has a quota, those without GPUs first: Kueue takes the first flavor that
    fits, and a launcher that needs no GPU must not take the CPUs of a GPU node (facts: scheduling 2.4, E10).
    """
    shared = [pool for pool in cluster.pools if any(pool in team.quotas for team in cluster.teams)]
    return sorted(shared, key=lambda pool: bool(flavor_capacity(cluster, pool).devices))


def hard(taints: Iterable[Taint]) -> list[Taint]:
    """Return the taints that keep pods away, without repeats: Kueue looks at no others."""
    return list(dict.fromkeys(taint for taint in taints if taint.effect != "PreferNoSchedule"))


def common_taints(cluster: Cluster, pool: str) -> list[Taint]:
    """Return the taints that every node of the pool has: one more on a single node is no rule for all jobs."""
    machines = cluster.in_pools(pool)
    return [taint for taint in hard(machines[0].taints) if all(taint in machine.taints for machine in machines)]


def remainder(cluster: Cluster, pool: str) -> Share:
    """Return what the quotas on a pool leave of it, in whole cores and whole GiB, with what machines give that are made
    when they are asked for: nobody owns those, for they may never come.
    """
    capacity = together(flavor_capacity(cluster, pool), made_capacity(cluster, pool))
    owned = [nominal(cluster, team, pool) for team in cluster.teams]
    return Share(
        devices={
            name: max(0, there - sum(share.devices.get(name, 0) for share in owned))
            for name, there in capacity.devices.items()
        },
        milli_cpu=max(0, capacity.milli_cpu - sum(share.milli_cpu for share in owned)) // 1000 * 1000,
        memory=max(0, capacity.memory - sum(share.memory for share in owned)) // GIB * GIB,
        pods=max(0, capacity.pods - sum(share.pods for share in owned)),
    )


def nominal(cluster: Cluster, team: Team, pool: str) -> Share:
    """Return what a team owns of a pool."""
    quota = team.quotas.get(pool)
    return quota_share(cluster, pool, quota) if quota else NOTHING


def limit(cluster: Cluster, team: Team, pool: str, key: str) -> Share | None:
    """Return a team's `borrow` or `lend` on a pool in full, where the file gives one."""
    quota = team.quotas.get(pool)
    amount = getattr(quota, key) if quota else None
    return None if quota is None or amount is None else quota_share(cluster, pool, quota, amount)


def smaller(one: Share, other: Share) -> Share:
    """Return the smaller of two shares, resource by resource."""
    return Share(
        devices={name: min(count, other.devices.get(name, 0)) for name, count in one.devices.items()},
        milli_cpu=min(one.milli_cpu, other.milli_cpu),
        memory=min(one.memory, other.memory),
        pods=min(one.pods, other.pods),
    )


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.queues.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


DEFINITION = Definition(
    name="queues",
    tier=Tier.SCHEDULING,
    make=queues,
    wanted=lambda cluster: cluster.teams,
    absence="there are no teams",
    own_kinds=(
        "kueue.x-k8s.io/AdmissionCheck",
        "kueue.x-k8s.io/ClusterQueue",
        "kueue.x-k8s.io/Cohort",
        "kueue.x-k8s.io/ProvisioningRequestConfig",
        "kueue.x-k8s.io/ResourceFlavor",
        "kueue.x-k8s.io/Topology",
        "kueue.x-k8s.io/WorkloadPriorityClass",
        "scheduling.k8s.io/PriorityClass",
    ),
    changes=change_rules,
    shown_by=Evidence(objects=(Shown("kueue.x-k8s.io", "clusterqueues"),)),
    notes="A flavor for each pool that some team has a quota on, a ClusterQueue for each team, a cohort of all and one "
    "for each department below it. What no team owns is the cohort's of all, so that everybody may borrow it. On GPU "
    "pools CPU and memory follow the GPUs in proportion.",
)
