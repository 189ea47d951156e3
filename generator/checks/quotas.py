"""Rules about what teams own of the pools."""

from collections.abc import Iterator

from generator.checks.owned import CPUS, TeamQuota, by_pool, counted, in_units, key_of, offered, owned_quotas, unit_of
from generator.checks.places import entries, human, unknown
from generator.model.capacity import flavor_capacity, quota_share
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, put, remove
from generator.model.gpus import GPU, MIG, quota_devices
from generator.model.nodes import Machine
from generator.model.rule import rule, warning
from generator.spec.near import misnamed


@rule("GEN-TEAM-001", "quotas on pools that exist")
def pools_known(cluster: Cluster) -> Iterator[Finding]:
    """A quota is a part of a pool's nodes.

    Wrong:
        - {name: vision, quotas: {gpu-trainig: {gpus: 8}}}
    Right:
        - {name: vision, quotas: {gpu-training: {gpus: 8}}}
    """
    for at, team in entries(cluster.teams, "teams"):
        for pool, free in misnamed(team.quotas, cluster.pools):
            message = f"team {team.name} has a quota on pool {pool}, which is not described"
            where, otherwise = (*at, "quotas", pool), f"one of {', '.join(cluster.pools)}"
            cause = f"pool {pool} is not described"
            yield unknown(where, pool, free, message, otherwise, key=True, also=("pools",), cause=cause)


@rule("GEN-TEAM-002", "quotas that the hardware can give")
def quotas_fit(cluster: Cluster) -> Iterator[Finding]:
    """Kueue never compares quotas with nodes: it would let jobs in for which there is no hardware, and their pods
    would wait while they hold the quota. Of each node, what is reserved and what daemons and Ceph's disks take is not
    for jobs.

    Wrong:
        # 12 nodes with 8 GPUs in pool gpu-training, and
        - {name: vision, quotas: {gpu-training: {gpus: 64}}}
        - {name: language, quotas: {gpu-training: {gpus: 40}}}
    Right:
        - {name: vision, quotas: {gpu-training: {gpus: 56}}}
        - {name: language, quotas: {gpu-training: {gpus: 40}}}
    """
    for pool, owners in by_pool(cluster).items():
        capacity = flavor_capacity(cluster, pool)
        whose = f"of pool {pool}, whose {len(cluster.in_pools(pool))} nodes give"
        # All teams of a pool are counted in what its nodes offer.
        for what in owners[0].amounts:
            total, most = sum(owned.amounts[what] for owned in owners), counted(capacity, what)
            if total > most:
                message = f"teams own {in_units(what, total)} {whose} {in_units(what, most)}"
                named = [(owned, owned.amounts[what]) for owned in owners if owned.amounts[what]]
                yield _too_much(named, what, message, total - most)
        if any(owned.quota.memory and not owned.has_gpus for owned in owners):
            memory = sum(quota_share(cluster, pool, owned.quota).memory for owned in owners)
            if memory > capacity.memory:
                message = f"teams own {human(memory)} {whose} {human(capacity.memory)}"
                yield _too_much_memory(owners, message, memory - capacity.memory)


def _too_much(owners: list[tuple[TeamQuota, int]], what: str, message: str, over: int) -> Finding:
    """Point at the team that names the most of the resource: there the mistake is likeliest."""
    most, amount = max(owners, key=lambda each: each[1])
    at = (*most.at, *((CPUS,) if what == CPUS else key_of(most.quota, what)))
    edits = put(at, amount - over) if amount > over else ()
    return Finding(at=at, also=("pools", most.pool, "hardware"), message=message, fix=f"{over} less", edits=edits)


def _too_much_memory(owners: list[TeamQuota], message: str, over: int) -> Finding:
    sizes = [(owned, owned.quota.memory.value) for owned in owners if owned.quota.memory]
    most, amount = max(sizes, key=lambda each: each[1])
    # Rounded down, as what is over is rounded up.
    left, at = (amount - over) // 2**30, (*most.at, "memory")
    edits = put(at, f"{left}Gi") if left > 0 else ()
    also: Path = ("pools", most.pool, "hardware")
    return Finding(at=at, also=also, message=message, fix=f"{human(over)} less", edits=edits)


@warning("GEN-TEAM-003", "quotas of whole GPU nodes")
def whole_nodes(cluster: Cluster) -> Iterator[Finding]:
    """Big jobs take all GPUs of each of their nodes: what is left of a quota serves small jobs only, or has to be
    made whole by borrowing.

    Wrong:
        # 8 GPUs in a node, and
        - {name: vision, quotas: {gpu-training: {gpus: 12}}}
    Right:
        - {name: vision, quotas: {gpu-training: {gpus: 16}}}
    """
    for owned in owned_quotas(cluster):
        machines, amount = cluster.in_pools(owned.pool), owned.amounts.get(GPU, 0)
        sizes = {machine.gpus for machine in machines if _whole(machine)}
        each = next(iter(sizes), 0)
        if len(sizes) == 1 and all(map(_whole, machines)) and (rest := amount % each):
            message = f"{amount} GPUs are not whole nodes of {each}: {rest} are left over"
            fix = " or ".join(str(size) for size in (amount - rest, amount - rest + each) if size)
            where, also = (*owned.at, "gpus"), ("pools", owned.pool, "hardware")
            fewer = put(where, amount - rest) if amount > rest else ()
            yield Finding(at=where, also=also, message=message, fix=fix, edits=fewer)


def _whole(machine: Machine) -> bool:
    """Tell whether pods get whole GPUs: of split and of shared ones no job takes all of a node."""
    gpu = machine.hardware.gpu
    return bool(gpu and gpu.count and gpu.mig is None and gpu.time_slices is None)


@rule("GEN-TEAM-006", "GPUs of pools that have GPUs")
def gpus_exist(cluster: Cluster) -> Iterator[Finding]:
    """On a pool without GPUs a quota is in CPUs and memory.

    Wrong:
        - {name: vision, quotas: {cpu: {gpus: 8}}}
    Right:
        - {name: vision, quotas: {cpu: {cpus: 64, memory: 512Gi}}}
    """
    with_gpus = [pool for pool in cluster.pools if offered(cluster, pool)]
    for owned in owned_quotas(cluster):
        named = {} if owned.has_gpus else quota_devices(owned.quota)
        for what, amount in named.items():
            message = f"pool {owned.pool} has no GPUs, and team {owned.team} has a quota of {amount}"
            fix = f"pools with GPUs: {', '.join(with_gpus)}" if with_gpus else "cpus and memory"
            where = (*owned.at, *key_of(owned.quota, what))
            yield Finding(at=where, also=("pools", owned.pool), message=message, fix=fix)


@rule("GEN-TEAM-007", "CPUs and memory follow GPUs")
def gpus_only(cluster: Cluster) -> Iterator[Finding]:
    """On a GPU pool a team gets CPUs and memory in proportion to its GPUs, so that none is left without; what is
    written for them has no effect.

    Wrong:
        - {name: vision, quotas: {gpu-training: {gpus: 8, cpus: 64}}}
    Right:
        - {name: vision, quotas: {gpu-training: {gpus: 8}}}
    """
    for owned in owned_quotas(cluster):
        for field in ("cpus", "memory") if owned.has_gpus else ():
            if getattr(owned.quota, field) is not None:
                message = f"{field} on GPU pool {owned.pool} {'have' if field == 'cpus' else 'has'} no effect"
                where = (*owned.at, field)
                said, instead = quota_devices(owned.quota), unit_of(owned)
                fix, edits = ("", remove(where)) if said else (f"say `{instead}` instead", ())
                also: Path = ("pools", owned.pool)
                yield Finding(at=where, key=True, also=also, message=message, fix=fix, edits=edits)


@warning("GEN-TEAM-008", "quotas own something")
def something_owned(cluster: Cluster) -> Iterator[Finding]:
    """A team that owns nothing of a pool runs there only while others leave it idle, and is stopped first. `gpus: 0`
    or `cpus: 0` says that this is meant.

    Wrong:
        - {name: vision, quotas: {cpu: {memory: 512Gi}}}
    Right:
        - {name: vision, quotas: {cpu: {cpus: 64, memory: 512Gi}}}
    """
    for at, team in entries(cluster.teams, "teams"):
        if not team.quotas:
            message, fix = f"team {team.name} owns nothing: it only uses what others leave idle", "add quotas"
            yield Finding(at=(*at, "name"), message=message, fix=fix)
    for owned in owned_quotas(cluster):
        if not quota_devices(owned.quota) and (owned.quota.cpus is None or owned.has_gpus):
            unit, words = unit_of(owned), {"gpus": "GPUs", "cpus": "CPUs"}
            message = f"team {owned.team}'s quota on {owned.pool} gives no {words.get(unit, unit)}"
            none = f"{{{next(iter(owned.amounts)).removeprefix(MIG)}: 0}}" if unit == "instances" else "0"
            fix = f"add `{unit}` ({unit}: {none} where the team shall only borrow)"
            yield Finding(at=owned.at, key=True, message=message, fix=fix)


@warning("GEN-TEAM-009", "no quotas on the control plane")
def not_control_plane(cluster: Cluster) -> Iterator[Finding]:
    """A quota is a permission to run there: jobs would share their nodes with etcd and the API server.

    Wrong:
        - {name: vision, quotas: {system: {cpus: 16}}}
    Right:
        - {name: vision, quotas: {cpu: {cpus: 16}}}
    """
    workers = any(pool.role == "worker" for pool in cluster.pools.values())
    for owned in owned_quotas(cluster):
        if workers and cluster.pools[owned.pool].role == "control-plane":
            message = f"team {owned.team}'s jobs would run on the control plane, pool {owned.pool}"
            fix, also = "take a pool of workers", ("pools", owned.pool)
            yield Finding(at=owned.at, key=True, also=also, message=message, fix=fix)


@rule("GEN-TEAM-010", "quotas in what nodes offer")
def offered_counted(cluster: Cluster) -> Iterator[Finding]:
    """A quota counts what pods ask for. Where GPUs are split and the MIG strategy is `mixed`, nodes offer instances by
    their names and no `nvidia.com/gpu`; else they offer `nvidia.com/gpu` only. What is counted and not offered lets in
    jobs that then wait for ever, and what is offered and not counted is refused to everybody.

    Wrong:
        gpus: {migStrategy: mixed}       # and the pool's GPUs are split by all-2g.12gb
        teams: [{name: vision, quotas: {gpu: {gpus: 8}}}]
    Right:
        gpus: {migStrategy: mixed}
        teams: [{name: vision, quotas: {gpu: {instances: {2g.12gb: 8}}}}]
    """
    for owned in owned_quotas(cluster):
        for what, amount in quota_devices(owned.quota).items() if owned.has_gpus else ():
            if what not in owned.amounts:
                key, there = key_of(owned.quota, what), ", ".join(owned.amounts)
                message = f"pool {owned.pool} offers {there} and no {what}"
                fix, at = f"say it in {there}: `{unit_of(owned)}`", (*owned.at, *key)
                edits = _instead(owned, amount)
                yield Finding(at=at, key=True, also=("pools", owned.pool), message=message, fix=fix, edits=edits)


def _instead(owned: TeamQuota, amount: int) -> tuple[Edit, ...]:
    """Return the change of the one resource that a quota names into the one that the pool offers, if it is so."""
    if len(quota_devices(owned.quota)) != 1 or len(owned.amounts) != 1:
        return ()
    said = "instances" if owned.quota.instances else "gpus"
    (what,) = owned.amounts
    if what == GPU:
        return (*remove((*owned.at, said)), *put((*owned.at, "gpus"), amount))
    profile = what.removeprefix(MIG).replace(".me", "+me")
    return (*remove((*owned.at, said)), *put((*owned.at, "instances"), {profile: amount}))
