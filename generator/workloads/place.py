"""Where a job runs: the team's pool, how many pods with how many GPUs each, and what each pod may ask for beside."""

from msgspec import Struct

from generator.components.queues import nominal
from generator.components.queues.reach import reach
from generator.components.rdma import offers
from generator.errors import UsageError
from generator.model.capacity import PART, WHOLE, Share, allocatable
from generator.model.cluster import Cluster
from generator.model.gpus import devices, weight
from generator.model.nodes import Machine
from generator.model.quantity import Quantity
from generator.model.teams import Team
from generator.spec.near import suggest, there_are
from generator.workloads.wanted import Wanted

GIB = 2**30
SHARED_MEMORY = 64 * GIB


class Place(Struct, frozen=True, kw_only=True):
    """A job's place on a cluster: `pods` with `each` of `device`, and for every pod CPU in thousandths of a core and
    memory in bytes. `machines` are the nodes that offer the device. `owned` is how many of it are the team's. A service
    has as many `copies` of all that as it may have replicas.
    """

    cluster: Cluster
    team: Team
    pool: str
    machines: tuple[Machine, ...]
    device: str
    pods: int
    each: int
    milli_cpu: int
    memory: int
    priority: str | None
    owned: int
    copies: int = 1

    @property
    def borrowed(self) -> int:
        """How many of the device are others', who may take them back."""
        return max(0, self.copies * self.pods * self.each - self.owned)

    @property
    def whole_nodes(self) -> bool:
        """Whether each pod has all of a node's GPUs, so that no other pod of a job is beside it."""
        return self.each == _on_each(self.cluster, self.machines, self.device)

    @property
    def shared_memory(self) -> int:
        """The bytes of a pod's /dev/shm, a part of its memory."""
        return min(SHARED_MEMORY, self.memory // 4)

    @property
    def rdma(self) -> str | None:
        """The resource by which a pod gets the HCAs of its node; None where the job is one pod, or a node has none."""
        offered = [offers(self.cluster, machine) for machine in self.machines]
        return next(iter(offered[0]), None) if self.pods > 1 and all(offered) else None

    @property
    def hcas(self) -> tuple[str, ...]:
        """The names of the HCAs, none where nodes differ: the same list would be wrong on some."""
        named = {machine.hardware.hcas for machine in self.machines}
        return named.pop() if len(named) == 1 else ()


def place(cluster: Cluster, wanted: Wanted) -> Place:
    """Find the place of a job. Raises UsageError where it could never start."""
    team = _team(cluster, wanted.team)
    pool = _pool(cluster, team, wanted.pool)
    device = _device(cluster, pool, wanted.device)
    machines = tuple(one for one in cluster.in_pools(pool) if device in devices(cluster.gpus, one.hardware.gpu))
    room = reach(cluster, team, pool)
    _fits(team, pool, device, wanted, room)
    each = _each(cluster, machines, device, wanted.gpus, room.devices[device])
    pods = wanted.gpus // each
    of_all = pods * wanted.copies
    share = _share(cluster, machines, device, each)
    return Place(
        cluster=cluster,
        team=team,
        pool=pool,
        machines=machines,
        device=device,
        pods=pods,
        each=each,
        milli_cpu=_round(min(share.milli_cpu, room.milli_cpu // of_all)),
        memory=min(share.memory, room.memory // of_all) // GIB * GIB,
        priority=_priority(cluster, team, wanted.priority),
        owned=nominal(cluster, team, pool).devices.get(device, 0),
        copies=wanted.copies,
    )


class OnCpus(Struct, frozen=True, kw_only=True):
    """A pod without GPUs as it is asked for, or as many `copies` of it; `pool` and `priority` as of `Wanted`."""

    team: str
    cpus: int
    memory: Quantity
    pool: str | None = None
    priority: str | None = None
    copies: int = 1


def cpu_place(cluster: Cluster, wanted: OnCpus) -> Place:
    """Find the place of a pod without GPUs: on the pool that is named, else where the team owns the most CPUs. Raises
    UsageError where it could never start.
    """
    team, pool_name = _team(cluster, wanted.team), wanted.pool
    pools = _without_gpus(cluster, team)
    if pool_name not in (None, *pools):
        raise UsageError(f"team {team.name} has no quota on pool {pool_name} without GPUs; {_or_none(pools)}")
    if not pools:
        raise UsageError(f"team {team.name} has a quota on no pool of {cluster.name} without GPUs")
    pool = pool_name or max(pools, key=lambda name: nominal(cluster, team, name).milli_cpu)
    machines = tuple(cluster.in_pools(pool))
    _fits_one(cluster, team, pool, wanted)
    return Place(
        cluster=cluster,
        team=team,
        pool=pool,
        machines=machines,
        device="",
        pods=1,
        each=0,
        milli_cpu=wanted.cpus * 1000,
        memory=wanted.memory.value,
        priority=_priority(cluster, team, wanted.priority),
        owned=0,
        copies=wanted.copies,
    )


def beside(place: Place, cpus: int, memory: int) -> str | None:
    """Return the pool without GPUs on which a job has a pod beside those with GPUs, None where its team has a quota on
    none. Raises UsageError where it could never start.
    """
    if not _without_gpus(place.cluster, place.team):
        return None
    room = Quantity.of(memory, binary=True)
    return cpu_place(place.cluster, OnCpus(team=place.team.name, cpus=cpus, memory=room, priority=place.priority)).pool


def _without_gpus(cluster: Cluster, team: Team) -> list[str]:
    return [name for name in team.quotas if name in cluster.pools and not _offered(cluster, name)]


def _fits_one(cluster: Cluster, team: Team, pool: str, wanted: OnCpus) -> None:
    """Refuse a pod that is more than any node, or copies of one that are more than the team's quota with all that it
    may borrow.
    """
    room, nodes = reach(cluster, team, pool), [allocatable(one, cluster) for one in cluster.in_pools(pool)]
    cpus, memory = (max((getattr(one, name) for one in nodes), default=0) for name in ("milli_cpu", "memory"))
    for asked, unit, whole, there, what in (
        (wanted.cpus, 1000, cpus, room.milli_cpu, "CPUs"),
        (-(-wanted.memory.value // GIB), GIB, memory, room.memory, "GiB of memory"),
    ):
        most = min(whole, there) // unit
        if asked > most:
            raise UsageError(f"a pod of team {team.name} can never have {asked} {what} on pool {pool}: {most} at most")
        if asked * wanted.copies * unit > there:
            raise UsageError(
                f"team {team.name} can never have {wanted.copies} replicas of {asked} {what} on pool {pool}: "
                f"{there // unit} are all that it owns and may borrow, and Kueue would let some wait for ever; take "
                f"{there // (asked * unit)} replicas at most"
            )


def _or_none(pools: list[str]) -> str:
    return f"it has on {', '.join(pools) or 'none'}"


def _team(cluster: Cluster, name: str) -> Team:
    for team in cluster.teams:
        if team.name == name:
            return team
    names = [team.name for team in cluster.teams]
    hint = suggest(name, names, there_are(names))
    raise UsageError(f"{cluster.name} has no team {name}; {hint}")


def _pool(cluster: Cluster, team: Team, name: str | None) -> str:
    """Return the pool that is named, or the one of which the team owns the most GPUs."""
    owned = {pool: sum(nominal(cluster, team, pool).devices.values()) for pool in team.quotas}
    with_gpus = [pool for pool in owned if _offered(cluster, pool)]
    if name is None:
        if not with_gpus:
            raise UsageError(f"team {team.name} has a quota on no pool of {cluster.name} that has GPUs")
        return max(with_gpus, key=lambda pool: owned[pool])
    if name not in cluster.pools:
        raise UsageError(f"{cluster.name} has no pool {name}; {suggest(name, with_gpus, _listed(team, with_gpus))}")
    if name not in owned:
        raise UsageError(f"team {team.name} has no quota on pool {name}: {_listed(team, with_gpus)}")
    if name not in with_gpus:
        raise UsageError(f"the nodes of pool {name} have no GPUs; {_listed(team, with_gpus)}")
    return name


def _listed(team: Team, pools: list[str]) -> str:
    return f"pools with GPUs on which {team.name} has a quota: {', '.join(pools) or 'none'}"


def _offered(cluster: Cluster, pool: str) -> list[str]:
    found = [name for one in cluster.in_pools(pool) for name in devices(cluster.gpus, one.hardware.gpu)]
    return list(dict.fromkeys(found))


def _device(cluster: Cluster, pool: str, name: str | None) -> str:
    """Return the resource that pods ask for: the only one that the pool offers, or the one that is named."""
    offered = _offered(cluster, pool)
    if name is None and len(offered) > 1:
        raise UsageError(f"pool {pool} offers {', '.join(offered)}: say which, as in --device {offered[0]}")
    if name is not None and name not in offered:
        hint = suggest(name, offered, f"it offers {', '.join(offered)}")
        raise UsageError(f"pool {pool} offers no {name}; {hint}")
    return name or offered[0]


def _on_each(cluster: Cluster, machines: tuple[Machine, ...], device: str) -> int:
    return min(devices(cluster.gpus, one.hardware.gpu)[device] for one in machines)


def _each(cluster: Cluster, machines: tuple[Machine, ...], device: str, gpus: int, most_of_it: int) -> int:
    """Return how many a pod gets: all on one node where they fit, else whole nodes. Parts of GPUs go one by one: a
    process sees one instance alone, instances reach no other's memory, and a turn more on a shared GPU is no more of
    it.
    """
    split = any(gpu and (gpu.mig or gpu.time_slices) for gpu in (one.hardware.gpu for one in machines))
    if split and gpus > 1:
        raise UsageError(
            f"GPUs of pool {machines[0].pool} are split or shared, and a job gets one part of them: --gpus 1; what "
            "trains on several takes a pool of whole GPUs"
        )
    on_one = _on_each(cluster, machines, device)
    if gpus > on_one and gpus % on_one:
        near = [count for count in (gpus // on_one * on_one, (gpus // on_one + 1) * on_one) if count <= most_of_it]
        raise UsageError(
            f"{gpus} GPUs are not whole nodes of {on_one}, and the pods of one job have as many each; take "
            f"{' or '.join(map(str, near))}"
        )
    return min(gpus, on_one)


def _fits(team: Team, pool: str, device: str, wanted: Wanted, room: Share) -> None:
    """Refuse what Kueue could never let in, whatever others leave idle."""
    there, asked = room.devices.get(device, 0), wanted.gpus * wanted.copies
    if asked <= there:
        return
    what, unit, most = "the job", "", there
    if wanted.serving:
        what, unit, most = "some of the replicas", " replicas", there // wanted.gpus
    fix = f"take {most}{unit} at most" if most else "its administrator gives quotas"
    raise UsageError(
        f"team {team.name} can never have {asked} of {device} on pool {pool}: {there} are all that it owns and may "
        f"borrow, and Kueue would let {what} wait for ever; {fix}"
    )


def _share(cluster: Cluster, machines: tuple[Machine, ...], device: str, each: int) -> Share:
    """Return what goes with a pod's GPUs of the node that has the least: its part of the node by slices."""
    shares = [allocatable(machine, cluster) for machine in machines]
    parts = [(share, weight(device) * each, _slices(share)) for share in shares]
    return Share(
        devices={device: each},
        milli_cpu=min(share.milli_cpu * part * PART // (whole * WHOLE) for share, part, whole in parts),
        memory=min(share.memory * part * PART // (whole * WHOLE) for share, part, whole in parts),
        pods=1,
    )


def _slices(share: Share) -> int:
    return sum(weight(name) * count for name, count in share.devices.items())


def _round(milli: int) -> int:
    """Return whole cores, of less than one tenths."""
    return milli // 1000 * 1000 or milli // 100 * 100


def _priority(cluster: Cluster, team: Team, name: str | None) -> str | None:
    """Return the class that is named, or the middle one of those that the team may use."""
    allowed = sorted(cluster.scheduling.open_to(team), key=lambda each: cluster.scheduling.priorities.get(each, 0))
    if name is not None and name not in allowed:
        hint = suggest(name, allowed, f"it may use {', '.join(allowed) or 'none'}")
        raise UsageError(f"team {team.name} may not use the priority class {name}; {hint}")
    return name or (allowed[len(allowed) // 2] if allowed else None)
