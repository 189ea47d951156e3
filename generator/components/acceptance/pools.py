"""What can be tried on which pool, and with what of a node."""

from msgspec import Struct

from generator.components import mpi_operator
from generator.components.acceptance.names import JOBS, priority
from generator.components.acceptance.thresholds import link_rate
from generator.components.queues import flavors
from generator.components.queues.reach import reach
from generator.components.rdma import nccl, offers
from generator.model.capacity import allocatable
from generator.model.cluster import Cluster
from generator.model.gpus import GPU, devices
from generator.model.nodes import Machine
from generator.model.once import once
from generator.model.teams import Team

GIB = 2**30
BY_JOBS = ("nccl", "pairs", "burn", "training", "inference", "scratch", "shared", "objects")
TESTS = (*BY_JOBS, "vip")
"""All tests, in the order in which they run. The last one has no job: its step asks the control plane's
address itself."""
# Nothing that is tried computes on CPUs.
CORES, MEMORY = 8, 64 * GIB


class Tried(Struct, frozen=True, kw_only=True):
    """A pool whose nodes are tried: those with as many GPUs as the first, `each`. A pod has all GPUs of its node, CPU
    in thousandths of a core and memory in bytes. `rdma` is the resource for its HCAs, `disks` how many disks for
    scratch each node has.
    """

    pool: str
    machines: tuple[Machine, ...]
    each: int
    milli_cpu: int
    memory: int
    rdma: str | None
    hcas: tuple[str, ...]
    disks: int


@once
def tried(cluster: Cluster) -> tuple[Tried, ...]:
    """Return the pools that can be tried: a queue leads to them, and their nodes have whole GPUs."""
    pools = ((pool, cluster.in_pools(pool)) for pool in flavors(cluster))
    # Instances reach no other's memory, and turns on a GPU are others' as well.
    return tuple(
        _of(cluster, pool, found) for pool, found in pools if found and all(_whole(cluster, one) for one in found)
    )


def _whole(cluster: Cluster, machine: Machine) -> bool:
    gpu = machine.hardware.gpu
    return bool(gpu and not gpu.mig and not gpu.time_slices and devices(cluster.gpus, gpu).get(GPU))


def _of(cluster: Cluster, pool: str, found: tuple[Machine, ...]) -> Tried:
    machines = tuple(one for one in found if one.gpus == found[0].gpus)
    shares = [allocatable(machine, cluster) for machine in machines]
    reached = link_rate(cluster, machines) is not None
    return Tried(
        pool=pool,
        machines=machines,
        each=machines[0].gpus,
        milli_cpu=min(CORES * 1000, *(share.milli_cpu // 2 for share in shares)),
        memory=min(MEMORY, *(share.memory // 2 for share in shares)) // GIB * GIB,
        rdma=next(iter(offers(cluster, machines[0]))) if reached else None,
        hcas=machines[0].hardware.hcas if reached and len({one.hardware.hcas for one in machines}) == 1 else (),
        disks=min(one.drive_count("scratch") for one in machines) if cluster.storage.scratch else 0,
    )


def most(cluster: Cluster, one: Tried) -> int:
    """Return how many nodes the queue can ever have at once: what no team owns of the pool, and what teams lend."""
    there = reach(cluster, Team(name=JOBS), one.pool)
    of_each = ((there.devices.get(GPU, 0), one.each), (there.milli_cpu, one.milli_cpu), (there.memory, one.memory))
    return min(len(one.machines), *(amount // each for amount, each in of_each))


def runs_mpi(cluster: Cluster) -> bool:
    """Tell whether an MPIJob can be tried: something runs them, and there are priority classes, for it names one."""
    return bool(mpi_operator.DEFINITION.wanted(cluster)) and priority(cluster) is not None


def message(one: Tried) -> str:
    """Return how much each GPU gives to the sum: nccl-tests holds that three times."""
    gpu = one.machines[0].hardware.gpu
    return "8G" if gpu and gpu.memory.value >= 32 * GIB else "1G"


def environment(one: Tried) -> dict[str, str]:
    """Return what every test is told: the way NCCL takes, and to count GPUs as `nvidia-smi` does."""
    reached = nccl(one.hcas, reached=bool(one.rdma)) if len(one.machines) > 1 else {}
    return {**reached, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "HOME": "/tmp", "USER": "job"}  # noqa: S108 - the pod's own
