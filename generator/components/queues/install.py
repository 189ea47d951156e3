"""Quotas: a flavor for each shared pool, a queue for each team, cohorts in which teams lend to each other."""

from collections.abc import Iterator

from generator.components.cluster_autoscaler.names import NAME as AUTOSCALER
from generator.components.cluster_autoscaler.names import scaled
from generator.components.common import POOL
from generator.components.component import Component, Health, Manifest
from generator.components.kueue import VERSIONS as KUEUE_VERSIONS
from generator.components.parts import taint_entry, toleration
from generator.components.queues import (
    BATCH,
    COHORT,
    DEFINITION,
    TOPOLOGY,
    common_taints,
    flavors,
    hard,
    limit,
    machines,
    nominal,
    remainder,
    smaller,
)
from generator.components.static import read_text
from generator.model.capacity import NOTHING, Share, flavor_capacity
from generator.model.cluster import Cluster
from generator.model.gpus import GPU
from generator.model.quantity import Quantity
from generator.model.teams import Scheduling, Team


def install(cluster: Cluster) -> Component:
    """Write the quotas of the cluster file as Kueue's objects."""
    pools = flavors(cluster)
    return Component(
        name="queues",
        tier=DEFINITION.tier,
        summary="Flavors, cohorts, a ClusterQueue for each team, priority classes",
        version=KUEUE_VERSIONS.of(cluster).version,
        objects=(
            topology(),
            *(flavor(cluster, pool) for pool in pools),
            cohort(cluster, pools),
            *departments(cluster.scheduling),
            *machines.checks(cluster, pools),
            *(cluster_queue(cluster, team, pools) for team in cluster.teams),
            *priorities(cluster.scheduling),
        ),
        needs=("kueue", *((AUTOSCALER,) if scaled(cluster) else ())),
        # A queue that a person holds is not ill; a queue whose flavors are missing is.
        health=(Health("kueue.x-k8s.io", "ClusterQueue", read_text("queues/health.lua")),),
    )


def flavor(cluster: Cluster, pool: str) -> Manifest:
    """Stand for the nodes of a pool. Jobs must tolerate the taints of a GPU pool themselves, which keeps those that
    need no GPU away from it; on other pools the quota is the permission, and Kueue adds the tolerations.
    """
    spec: Manifest = {"nodeLabels": {POOL: pool}, "topologyName": TOPOLOGY}
    if flavor_capacity(cluster, pool).devices:
        if taints := common_taints(cluster, pool):
            spec["nodeTaints"] = [taint_entry(taint) for taint in taints]
    elif taints := hard(taint for machine in cluster.in_pools(pool) for taint in machine.taints):
        spec["tolerations"] = [toleration(taint) for taint in taints]
    return kueue_object("ResourceFlavor", pool) | {"spec": spec}


def topology() -> Manifest:
    """Let Kueue see single nodes, so that it lets in what fits on them and not what fits their sum. All flavors have
    it: a queue in which one has not looks at no node for jobs that do not ask (v0.18.3: flavorassigner `isTASImplied`).
    Nodes alone and no racks: neither the levels nor a flavor's topology can be changed later.
    """
    return kueue_object("Topology", TOPOLOGY) | {"spec": {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}}


def cohort(cluster: Cluster, pools: list[str]) -> Manifest:
    """Hold what no team owns; every team may borrow it."""
    kinds = covered(cluster, pools)
    entries = [flavor_quotas(kinds, pool, remainder(cluster, pool)) for pool in pools]
    return kueue_object("Cohort", COHORT) | {"spec": {"resourceGroups": group(kinds, entries)}}


def departments(scheduling: Scheduling) -> Iterator[Manifest]:
    """Yield a cohort below the one of all for each department. It owns nothing: its teams do."""
    for name, department in scheduling.departments.items():
        spec = {"parentName": COHORT, **shares(scheduling, department.weight)}
        yield kueue_object("Cohort", department_cohort(name)) | {"spec": spec}


def department_cohort(name: str) -> str:
    """Return the name of a department's cohort; none is that of the cohort above."""
    return f"department-{name}"


def shares(scheduling: Scheduling, weight: int) -> Manifest:
    """Return a weight where it counts and is not the one that is meant anyway, as a canonical quantity."""
    return {"fairSharing": {"weight": str(Quantity.of(weight))}} if scheduling.fair_sharing and weight != 1 else {}


def covered(cluster: Cluster, pools: list[str]) -> list[str]:
    """Return the GPU resources that queues count: whole GPUs always, instances where nodes offer them by name."""
    offered = {name for pool in pools for name in flavor_capacity(cluster, pool).devices}
    return [GPU, *sorted(offered - {GPU})]


def amounts(share: Share, kinds: list[str]) -> dict[str, str]:
    """Return the resources of a share in the one order that all flavors of a group must have, as canonical
    quantities: Kueue would rewrite others and then differ from Git for ever (facts: scheduling 2.4, E9).
    """
    return {
        "cpu": str(Quantity(share.milli_cpu)),
        "memory": str(Quantity.of(share.memory, binary=True)),
        "pods": str(Quantity.of(share.pods)),
        **{name: str(Quantity.of(share.devices.get(name, 0))) for name in kinds},
    }


def flavor_quotas(kinds: list[str], pool: str, owned: Share, **limits: Share | None) -> Manifest:
    """Return what is owned of a flavor, resource by resource, each with the limits that there are."""
    given = {key: amounts(share, kinds) for key, share in limits.items() if share}
    resources = [
        {"name": name, "nominalQuota": amount, **{key: limited[name] for key, limited in given.items()}}
        for name, amount in amounts(owned, kinds).items()
    ]
    return {"name": pool, "resources": resources}


def group(kinds: list[str], entries: list[Manifest]) -> list[Manifest]:
    """Return the one resource group: one, so that each pod set of a job finds a flavor of its own."""
    return [{"coveredResources": list(amounts(NOTHING, kinds)), "flavors": entries}] if entries else []


def cluster_queue(cluster: Cluster, team: Team, pools: list[str]) -> Manifest:
    """Give a team its quotas, open to its own namespace only."""
    mine = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [team.name]}
    kinds = covered(cluster, pools)
    entries = [quota_entry(cluster, team, pool, kinds) for pool in own_first(cluster, team, pools)]
    return kueue_object("ClusterQueue", team.name) | {
        "spec": {
            "cohortName": department_cohort(team.department) if team.department else COHORT,
            **shares(cluster.scheduling, team.weight),
            "queueingStrategy": team.queueing,
            "namespaceSelector": {"matchExpressions": [mine]},
            "resourceGroups": group(kinds, entries),
            **machines.strategy(cluster, pools),
            "preemption": preemption(cluster.scheduling),
        },
    }


def own_first(cluster: Cluster, team: Team, pools: list[str]) -> list[str]:
    """Order flavors for a team: it uses what it owns before it borrows elsewhere."""
    return sorted(pools, key=lambda pool: (bool(flavor_capacity(cluster, pool).devices), pool not in team.quotas))


def quota_entry(cluster: Cluster, team: Team, pool: str, kinds: list[str]) -> Manifest:
    """Return a team's quota on one flavor. On a pool it owns nothing of, it may borrow what is idle."""
    own = nominal(cluster, team, pool)
    lent = limit(cluster, team, pool, "lend")
    return flavor_quotas(
        kinds,
        pool,
        own,
        borrowingLimit=limit(cluster, team, pool, "borrow"),
        # Kueue refuses to lend more than is owned, of any resource.
        lendingLimit=smaller(lent, own) if lent else None,
    )


def preemption(scheduling: Scheduling) -> Manifest:
    """Say whose jobs stop for a team's. Within the team the less urgent; of others those that use more than they
    own. A job that itself must borrow stops only what is less urgent than the highest class; with fair sharing, which
    Kueue does not combine with that, what has more than its share.
    """
    reclaim = {"any": "Any", "lower-priority": "LowerPriority", "never": "Never"}[scheduling.reclaim]
    rules: Manifest = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": reclaim}
    values = sorted(set(scheduling.priorities.values()))
    if reclaim != "Never" and len(values) > 1 and not scheduling.fair_sharing:
        rules["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": values[-2]}
    return rules


def priorities(scheduling: Scheduling) -> Iterator[Manifest]:
    """Yield classes of jobs, for the label `kueue.x-k8s.io/priority-class`: the order in a queue and in preemption.
    The same classes for pods: Volcano orders gangs by them, Kueue reads them where a job has no label. `Never`,
    because kube-scheduler would stop single pods of another gang (facts: scheduling 1.4).
    """
    for name, value in scheduling.priorities.items():
        yield kueue_object("WorkloadPriorityClass", name) | {"value": value, "description": f"Jobs of priority {name}"}
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"{BATCH}{name}"},
            "value": value,
            "preemptionPolicy": "Never",
            "description": f"Pods of jobs of priority {name}; they never stop other pods",
        }


def kueue_object(kind: str, name: str) -> Manifest:
    """Begin a cluster-scoped object of Kueue."""
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}}
