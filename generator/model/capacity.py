"""Arithmetic that checks and components share: what nodes can give, what storage can hold."""

from collections.abc import Mapping

from msgspec import Struct

from generator.model.cluster import Cluster
from generator.model.gpus import devices, quota_devices, weight
from generator.model.nodes import Disk, Machine
from generator.model.quantity import Quantity
from generator.model.resolve import alike
from generator.model.storage import CephPool
from generator.model.teams import Quota

# What the daemon sets of this project (CNI, CSI, GPU and monitoring agents) request on every node.
DAEMONS_MILLI_CPU = 1000
DAEMONS_MEMORY = 4 * 2**30
# What one OSD requests by the class of its disk: thousandths of a core, and bytes.
OSD_REQUESTS = {"nvme": (2000, 8 * 2**30), "ssd": (1000, 5 * 2**30), "hdd": (500, 5 * 2**30)}
# Pods of daemon sets that count against a node's limit.
DAEMON_PODS = 15
# Of a node's share for a job: what a machine reports is less than what was bought, and a launcher needs a little.
PART, WHOLE = 7, 8
# Ceph stops rebalancing at 0.90 and warns at 0.85 (facts: storage 3): plan for the warning.
NEARFULL = 0.85


class Share(Struct, frozen=True, kw_only=True):
    """An amount of one flavor: GPUs as pods ask for them, by extended resource, CPU in thousandths of a core, memory in
    bytes, pods.
    """

    devices: Mapping[str, int]
    milli_cpu: int
    memory: int
    pods: int


NOTHING = Share(devices={}, milli_cpu=0, memory=0, pods=0)


def allocatable(machine: Machine, cluster: Cluster) -> Share:
    """Return what jobs can have of one node: all but what is used before them."""
    used_cpu, used_memory = used(machine, cluster)
    return Share(
        devices=devices(cluster.gpus, machine.hardware.gpu),
        milli_cpu=max(0, machine.hardware.cpu * 1000 - used_cpu),
        memory=max(0, machine.hardware.memory.value - used_memory),
        pods=max(0, cluster.kubernetes.max_pods - DAEMON_PODS - osds(machine, cluster)),
    )


def used(machine: Machine, cluster: Cluster) -> tuple[int, int]:
    """Return what is reserved on a node and what daemon sets and OSDs request: thousandths of a core, and bytes."""
    reserved, (cpu, memory) = cluster.kubernetes.reserved, osd_requests(machine, cluster)
    return reserved.cpu.milli + DAEMONS_MILLI_CPU + cpu, reserved.memory.value + DAEMONS_MEMORY + memory


def ceph_disks(machine: Machine, cluster: Cluster) -> tuple[Disk, ...]:
    """Return the disks of a node that become OSDs: none where its pool is not one of Ceph's."""
    ceph = cluster.storage.ceph
    return machine.disks_for("ceph") if ceph and machine.pool in ceph.pools else ()


def osds(machine: Machine, cluster: Cluster) -> int:
    """Return how many OSDs run on a node."""
    return sum(disk.count for disk in ceph_disks(machine, cluster))


def osd_requests(machine: Machine, cluster: Cluster) -> tuple[int, int]:
    """Return what the OSDs of a node request together: thousandths of a core, and bytes."""
    asked = [(disk.count, *OSD_REQUESTS[disk.class_]) for disk in ceph_disks(machine, cluster)]
    return sum(count * cpu for count, cpu, _ in asked), sum(count * memory for count, _, memory in asked)


def flavor_capacity(cluster: Cluster, pool: str) -> Share:
    """Return what all nodes of a pool give together: the most that quotas on its flavor may add up to."""
    known: dict[str, Share] = cluster.__dict__.setdefault("flavor_capacity", {})  # asked for 50 times in a render
    if pool not in known:
        shares = [allocatable(machine, cluster) for machine in cluster.in_pools(pool)]
        known[pool] = together(*shares)
    return known[pool]


def made_capacity(cluster: Cluster, pool: str) -> Share:
    """Return what the machines give that Cluster API makes of a pool at most; nothing where it makes none."""
    made = _made(cluster, pool)  # all alike
    return together(*[allocatable(made[0], cluster)] * len(made)) if made else NOTHING


def machines_of(cluster: Cluster, pool: str) -> tuple[Machine, ...]:
    """Return the nodes of a pool, with those that Cluster API may make of it."""
    return (*cluster.in_pools(pool), *_made(cluster, pool))


def _made(cluster: Cluster, pool: str) -> list[Machine]:
    scaling = cluster.pools[pool].scaling
    return [alike(cluster, pool)] * scaling.maximum if scaling and cluster.autoscaler else []


def together(*shares: Share) -> Share:
    """Return the sum of shares."""
    names = dict.fromkeys(name for share in shares for name in share.devices)
    return Share(
        devices={name: sum(share.devices.get(name, 0) for share in shares) for name in names},
        milli_cpu=sum(share.milli_cpu for share in shares),
        memory=sum(share.memory for share in shares),
        pods=sum(share.pods for share in shares),
    )


def quota_share(cluster: Cluster, pool: str, quota: Quota, amount: int | None = None) -> Share:
    """Return a quota on a pool in full: on a GPU pool CPU, memory and pods follow its GPUs in proportion, of several
    kinds of instances by their slices; on others pods follow the CPUs. `amount` (GPUs, instances of each kind, or CPUs)
    replaces the quota's own, for borrowing and lending; memory that the team gave itself goes with it in proportion.
    """
    capacity = flavor_capacity(cluster, pool)
    if capacity.devices:
        own = quota_devices(quota)
        part = {name: own.get(name, 0) if amount is None else amount for name in capacity.devices}
        return _proportion(capacity, part, _slices(part), _slices(capacity.devices))
    owned = quota.cpus or 0
    cpus = owned if amount is None else amount
    share = _proportion(capacity, {}, cpus * 1000, capacity.milli_cpu or 1)
    memory = share.memory
    if quota.memory is not None:
        memory = quota.memory.value * cpus // owned if owned else quota.memory.value
    return Share(devices={}, milli_cpu=cpus * 1000, memory=memory, pods=share.pods)


def _slices(devices: Mapping[str, int]) -> int:
    return sum(weight(name) * count for name, count in devices.items())


def _proportion(capacity: Share, devices: Mapping[str, int], part: int, whole: int) -> Share:
    # Whole cores, whole GiB: canonical quantities, and the sum of all teams stays below the capacity.
    return Share(
        devices=devices,
        milli_cpu=capacity.milli_cpu * part // whole // 1000 * 1000,
        memory=capacity.memory * part // whole // 2**30 * 2**30,
        pods=capacity.pods * part // whole,
    )


def ceph_raw(machine: Machine, device_class: str) -> int:
    """Return the bytes of one node's Ceph disks of a class."""
    return sum(disk.size.value * disk.count for disk in machine.disks_for("ceph") if disk.class_ == device_class)


def ceph_usable(cluster: Cluster, pool: CephPool) -> Quantity:
    """Return the bytes a pool can hold if it has its disk class to itself, with the largest host or rack lost and
    rebuilt on the others without passing nearfull (facts: storage 3).
    """
    sizes: dict[str, int] = {}
    for machine in cluster.ceph_hosts:
        domain = (machine.rack or machine.name) if pool.failure_domain == "rack" else machine.name
        sizes[domain] = sizes.get(domain, 0) + ceph_raw(machine, pool.device_class)
    raw = sum(sorted(sizes.values())[:-1])
    return Quantity.of(int(pool.held_by(raw) * NEARFULL), binary=True)


class ErasureSet(Struct, frozen=True, kw_only=True):
    """How MinIO lays out its drives: `drives` in each of `sets` sets, of which `parity` hold parity."""

    drives: int
    sets: int
    parity: int


def erasure_set(nodes: int, drives_per_node: int) -> ErasureSet | None:
    """Return the layout of one of MinIO's server pools with half of each set as parity, so that two lost nodes of
    four lose no data; None where there are no drives, or where no size between 2 and 16 divides them and lies alike on
    all nodes.

    Facts (storage 6): the largest symmetric size up to 16 wins; for four nodes 4, 8, 12 or 16. Beyond 16 nodes a set
    takes one drive of each of some nodes (MinIO's `possibleSetCountsWithSymmetry`).
    """
    total = nodes * drives_per_node
    fitting = [
        size
        for size in range(2, 17)
        if total and total % size == 0 and not (size % nodes if size >= nodes else nodes % size)
    ]
    if not fitting:
        return None
    size = max(fitting)
    return ErasureSet(drives=size, sets=total // size, parity=size // 2)


def objects_drives(cluster: Cluster, pool: str) -> int:
    """Return how many drives each node of a pool gives MinIO: as many as the one with the fewest, because the endpoints
    are one pattern for all.
    """
    return min((machine.drive_count("objects") for machine in cluster.in_pools(pool)), default=0)


def objects_usable(cluster: Cluster) -> Quantity:
    """Return the bytes that MinIO can hold: half of its drives' size, each counted as the smallest one of its pool."""
    objects, total = cluster.storage.objects, 0
    for pool in objects.pools if objects else ():
        disks = [disk for machine in cluster.in_pools(pool) for disk in machine.disks_for("objects")]
        total += min((disk.size.value for disk in disks), default=0) * sum(disk.count for disk in disks)
    return Quantity.of(total // 2, binary=True)
