"""Rules about what teams own of the pools."""

from collections.abc import Iterator
from typing import NamedTuple

from generator.checks.places import entries, human, meant
from generator.model.capacity import Share, flavor_capacity, quota_share
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, in_words, put, remove
from generator.model.rule import rule, warning
from generator.model.teams import Quota
from generator.spec.near import suggest


class TeamQuota(NamedTuple):
    """A team's quota on a pool that exists: where it stands, and in which of its keys it is counted."""

    team: str
    pool: str
    at: Path
    quota: Quota
    unit: str

    @property
    def amount(self) -> int:
        """How many GPUs or CPUs the team owns."""
        return (self.quota.gpus if self.unit == "gpus" else self.quota.cpus) or 0


def _has_gpus(cluster: Cluster, pool: str) -> bool:
    gpu = cluster.pools[pool].hardware.gpu
    machines = cluster.in_pools(pool)
    return any(machine.gpus for machine in machines) if machines else bool(gpu and gpu.count)


def _quotas(cluster: Cluster) -> list[TeamQuota]:
    units = {pool: "gpus" if _has_gpus(cluster, pool) else "cpus" for pool in cluster.pools}
    return [
        TeamQuota(team.name, pool, (*at, "quotas", pool), quota, units[pool])
        for at, team in entries(cluster.teams, "teams")
        for pool, quota in team.quotas.items()
        if pool in units
    ]


def _by_pool(cluster: Cluster) -> dict[str, list[TeamQuota]]:
    found: dict[str, list[TeamQuota]] = {}
    for owned in _quotas(cluster):
        found.setdefault(owned.pool, []).append(owned)
    return found


def _count(share: Share, unit: str) -> int:
    return share.gpus if unit == "gpus" else share.milli_cpu // 1000


def _words(unit: str, amount: int) -> str:
    return f"{amount} {unit[:-1].upper()}{'s' * (amount != 1)}"


@rule("GEN-TEAM-001", "quotas on pools that exist")
def pools_known(cluster: Cluster) -> Iterator[Finding]:
    """A quota is a part of a pool's nodes.

    Wrong:
        - {name: vision, quotas: {gpu-trainig: {gpus: 8}}}
    Right:
        - {name: vision, quotas: {gpu-training: {gpus: 8}}}
    """
    for at, team in entries(cluster.teams, "teams"):
        for pool in team.quotas:
            if pool not in cluster.pools:
                message = f"team {team.name} has a quota on pool {pool}, which is not described"
                fix = suggest(pool, cluster.pools, f"one of {', '.join(cluster.pools)}")
                where = (*at, "quotas", pool)
                edits = meant(where, pool, cluster.pools, key=True)
                cause = f"pool {pool} is not described"
                yield Finding(at=where, key=True, also=("pools",), message=message, fix=fix, edits=edits, cause=cause)


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
    for pool, all_owned in _by_pool(cluster).items():
        capacity, unit = flavor_capacity(cluster, pool), all_owned[0].unit
        whose = f"of pool {pool}, whose {len(cluster.in_pools(pool))} nodes give"
        # Without GPUs a share has none, so what was asked for is counted as it stands.
        total, most = sum(owned.amount for owned in all_owned), _count(capacity, unit)
        if total > most:
            what = f"{_words(unit, total)} {whose} {_words(unit, most)}"
            yield _too_much(all_owned, unit, what, total - most)
        if unit == "cpus" and any(owned.quota.memory for owned in all_owned):
            memory = sum(quota_share(cluster, pool, owned.quota).memory for owned in all_owned)
            if memory > capacity.memory:
                what = f"{human(memory)} {whose} {human(capacity.memory)}"
                yield _too_much(all_owned, "memory", what, memory - capacity.memory)


def _too_much(owners: list[TeamQuota], field: str, what: str, over: int) -> Finding:
    """Point at the team that names the most of the resource: there the mistake is likeliest."""
    named = [owned for owned in owners if getattr(owned.quota, field) is not None]
    most = max(named, key=lambda owned: int(getattr(owned.quota, field)), default=None)
    at = (*most.at, field) if most else owners[-1].at
    left: int = int(getattr(most.quota, field)) - over if most else 0
    # Rounded down, as what is over is rounded up.
    rest = f"{left // 2**30}Gi" if field == "memory" else left
    edits = put(at, rest) if left > 0 and rest != "0Gi" else ()
    fix = f"{human(over) if field == 'memory' else over} less"
    also: Path = ("pools", owners[0].pool, "hardware")
    return Finding(at=at, also=also, message=f"teams own {what}", fix=fix, edits=edits)


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
    for owned in _quotas(cluster):
        sizes = {machine.gpus for machine in cluster.in_pools(owned.pool)}
        each = next(iter(sizes), 0)
        if owned.unit == "gpus" and len(sizes) == 1 and (rest := owned.amount % each):
            message = f"{owned.amount} GPUs are not whole nodes of {each}: {rest} are left over"
            fix = " or ".join(str(size) for size in (owned.amount - rest, owned.amount - rest + each) if size)
            where, also = (*owned.at, "gpus"), ("pools", owned.pool, "hardware")
            fewer = put(where, owned.amount - rest) if owned.amount > rest else ()
            yield Finding(at=where, also=also, message=message, fix=fix, edits=fewer)


@warning("GEN-TEAM-004", "borrowing what there is")
def borrow_possible(cluster: Cluster) -> Iterator[Finding]:
    """A team borrows what no team owns and what others lend; a limit beyond that limits nothing.

    Wrong:
        # 16 GPUs in all, and
        - {name: vision, quotas: {gpu: {gpus: 8, borrow: 16}}}
    Right:
        - {name: vision, quotas: {gpu: {gpus: 8, borrow: 8}}}
    """
    for pool, owners in _by_pool(cluster).items():
        most, owned_by_all = _count(flavor_capacity(cluster, pool), owners[0].unit), sum(each.amount for each in owners)
        for owned in owners if owned_by_all <= most else ():
            lent = [min(each.amount, _lend(each)) for each in owners if each is not owned]
            there = most - owned_by_all + sum(lent)
            if owned.quota.borrow is not None and owned.quota.borrow > there:
                can = _words(owned.unit, there)
                message = f"team {owned.team} may borrow {owned.quota.borrow}, and others lend or leave {can} of {pool}"
                where = (*owned.at, "borrow")
                yield Finding(at=where, also=("pools", pool), message=message, edits=put(where, there))


def _lend(owned: TeamQuota) -> int:
    return owned.amount if owned.quota.lend is None else owned.quota.lend


@rule("GEN-TEAM-005", "lending what one owns")
def lend_own(cluster: Cluster) -> Iterator[Finding]:
    """`lend` is the part of a team's own that others may use; Kueue refuses more than that.

    Wrong:
        - {name: serving, quotas: {gpu: {gpus: 8, lend: 16}}}
    Right:
        - {name: serving, quotas: {gpu: {gpus: 8, lend: 8}}}
    """
    for owned in _quotas(cluster):
        if owned.quota.lend is not None and owned.quota.lend > owned.amount:
            owns = _words(owned.unit, owned.amount)
            message = f"team {owned.team} owns {owns} of {owned.pool} and lends {owned.quota.lend}"
            edits = put((*owned.at, "lend"), owned.amount)
            fix = f"{in_words(edits)}, or remove it to lend all"
            yield Finding(at=(*owned.at, "lend"), message=message, fix=fix, edits=edits)


@rule("GEN-TEAM-006", "GPUs of pools that have GPUs")
def gpus_exist(cluster: Cluster) -> Iterator[Finding]:
    """On a pool without GPUs a quota is in CPUs and memory.

    Wrong:
        - {name: vision, quotas: {cpu: {gpus: 8}}}
    Right:
        - {name: vision, quotas: {cpu: {cpus: 64, memory: 512Gi}}}
    """
    with_gpus = [pool for pool in cluster.pools if _has_gpus(cluster, pool)]
    for owned in _quotas(cluster):
        if owned.unit == "cpus" and owned.quota.gpus is not None:
            message = f"pool {owned.pool} has no GPUs, and team {owned.team} has a quota of {owned.quota.gpus}"
            fix = f"pools with GPUs: {', '.join(with_gpus)}" if with_gpus else "cpus and memory"
            yield Finding(at=(*owned.at, "gpus"), also=("pools", owned.pool), message=message, fix=fix)


@rule("GEN-TEAM-007", "CPUs and memory follow GPUs")
def gpus_only(cluster: Cluster) -> Iterator[Finding]:
    """On a GPU pool a team gets CPUs and memory in proportion to its GPUs, so that none is left without; what is
    written for them has no effect.

    Wrong:
        - {name: vision, quotas: {gpu-training: {gpus: 8, cpus: 64}}}
    Right:
        - {name: vision, quotas: {gpu-training: {gpus: 8}}}
    """
    for owned in _quotas(cluster):
        for field in ("cpus", "memory") if owned.unit == "gpus" else ():
            if getattr(owned.quota, field) is not None:
                message = f"{field} on GPU pool {owned.pool} {'have' if field == 'cpus' else 'has'} no effect"
                where = (*owned.at, field)
                fix, edits = ("", remove(where)) if owned.quota.gpus is not None else ("say `gpus` instead", ())
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
    for owned in _quotas(cluster):
        if owned.quota.gpus is None and (owned.quota.cpus is None or owned.unit == "gpus"):
            message = f"team {owned.team}'s quota on {owned.pool} gives no {owned.unit[:-1].upper()}s"
            fix = f"add `{owned.unit}` ({owned.unit}: 0 where the team shall only borrow)"
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
    for owned in _quotas(cluster):
        if workers and cluster.pools[owned.pool].role == "control-plane":
            message = f"team {owned.team}'s jobs would run on the control plane, pool {owned.pool}"
            fix, also = "take a pool of workers", ("pools", owned.pool)
            yield Finding(at=owned.at, key=True, also=also, message=message, fix=fix)
