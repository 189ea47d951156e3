"""Rules about GPUs: what models can do, how they are split and shared."""

from collections.abc import Iterator

from generator.checks.places import by_place, hardware_path, sections
from generator.components.gpu_operator import own_mig_configurations
from generator.components.queues import hard
from generator.model.capacity import flavor_capacity
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put, remove
from generator.model.gpus import (
    GPU,
    SPLITTABLE,
    can_be_split,
    configurations,
    devices,
    instances,
    largest,
    profiles,
    quota_devices,
)
from generator.model.nodes import Gpu
from generator.model.quantity import Quantity
from generator.model.rule import rule, warning
from generator.spec.near import near


def _gpus(cluster: Cluster) -> Iterator[tuple[Path, Gpu]]:
    """Yield what the file says of GPUs, once for each place."""
    for at, section in sections(cluster):
        if section.hardware and section.hardware.gpu:
            yield (*at, "hardware", "gpu"), section.hardware.gpu


@warning("GEN-NODE-030", "a GPU section means GPUs")
def gpu_count(cluster: Cluster) -> Iterator[Finding]:
    """Nodes without GPUs need no section; on a node that overrides its pool, 0 says that it has none.

    Wrong:
        gpu: {model: H100, count: 0, memory: 80Gi}
    Right:
        # no gpu section
    """
    for at, gpu in _gpus(cluster):
        if gpu.count == 0 and at[0] == "pools":
            fix, edits = "remove it, or give the count", remove(at)
            yield Finding(at=(*at, "count"), message="a gpu section with no GPUs", fix=fix, edits=edits)


@warning("GEN-NODE-031", "MIG on GPUs that can be split")
def mig_possible(cluster: Cluster) -> Iterator[Finding]:
    """Only some models can be split into instances; on others the MIG manager reports `failed` for ever.

    Wrong:
        gpu: {model: L40S, count: 4, memory: 48Gi, mig: {profile: all-1g.12gb}}
    Right:
        gpu: {model: H100, count: 4, memory: 80Gi, mig: {profile: all-1g.10gb}}
    """
    for at, gpu in _gpus(cluster):
        if gpu.mig and not can_be_split(gpu.model):
            known, able, where = largest(gpu.model), ", ".join(sorted(SPLITTABLE)), (*at, "mig")
            message = f"{gpu.model} {'cannot be' if known else 'is not known as a model that can be'} split by MIG"
            fix, edits = (f"remove `mig`: {able} can", remove(where)) if known else (f"{able} can", ())
            yield Finding(at=where, key=True, also=(*at, "model"), message=message, fix=fix, edits=edits)


@warning("GEN-NODE-032", "the memory of one GPU")
def gpu_memory(cluster: Cluster) -> Iterator[Finding]:
    """`memory` is that of one GPU: not of the node's GPUs together, nor of a MIG instance. The smallest variant of a
    model has half as much as the largest.

    Wrong:
        gpu: {model: H100, count: 8, memory: 640Gi}
    Right:
        gpu: {model: H100, count: 8, memory: 80Gi}
    """
    for at, gpu in _gpus(cluster):
        known = largest(gpu.model)
        if known and gpu.memory > Quantity.parse(f"{known}Gi"):
            each = Quantity.of(gpu.memory.value // max(gpu.count, 1), binary=True)
            fits = gpu.count > 1 and each.value <= known * 2**30
            message = f"one {gpu.model} has at most {known}Gi, and memory is {gpu.memory}"
            edits = put((*at, "memory"), str(each if fits else f"{known}Gi"))
            yield Finding(at=(*at, "memory"), message=message, edits=edits)
        # People write `G` and `Gi`: 40G is half of 80Gi as well.
        elif known and gpu.memory.value * 2 < known * 10**9:
            message = f"one {gpu.model} has up to {known}Gi and never less than half of it; memory is {gpu.memory}"
            yield Finding(at=(*at, "memory"), message=message, edits=put((*at, "memory"), f"{known}Gi"))


@warning("GEN-NODE-033", "GPU nodes keep other pods off")
def gpu_tainted(cluster: Cluster) -> Iterator[Finding]:
    """Pods that need no GPU fill the CPUs and memory of GPU nodes, and GPUs stay idle for the lack of them.

    Wrong:
        gpu-training:
          hardware: {gpu: {model: H100, count: 8, memory: 80Gi}, ...}
    Right:
        gpu-training:
          hardware: {gpu: {model: H100, count: 8, memory: 80Gi}, ...}
          taints: [nvidia.com/gpu=present:NoSchedule]
    """
    mixed = any(not machine.gpus and machine.role == "worker" for machine in cluster.machines)
    untainted = [machine for machine in cluster.gpu_nodes if mixed and not machine.taints]
    for at, (first, *_) in by_place(cluster, untainted, "gpu").items():
        message = f"{first.name} has GPUs and no taint"
        taint, told = "nvidia.com/gpu=present:NoSchedule", at[0] == "pools" and cluster.pools[first.pool].taints
        # Its pool has some, and the node says that it has none.
        edits = () if told else put((*at[:-2], "taints"), [taint])
        yield Finding(at=at, message=message, fix="" if edits else f"give it the taint {taint}", edits=edits)


@rule("GEN-NODE-034", "MIG configurations that there are for the model")
def mig_configuration(cluster: Cluster) -> Iterator[Finding]:
    """The MIG manager makes a configuration for each profile of the GPUs that it finds, and `all-balanced`. A node that
    is told another one reports `failed` for ever, and its GPUs serve nobody. One of your own comes with the values of
    the component `gpu-operator` (`migManager.config`); what it makes of a node's GPUs is then said in `instances`, for
    quotas count it.

    Wrong:
        gpu: {model: A30, count: 4, memory: 24Gi, mig: {profile: all-1g.5gb}}
    Right:
        gpu: {model: A30, count: 4, memory: 24Gi, mig: {profile: all-1g.6gb}}
    """
    own = own_mig_configurations(cluster)
    for at, gpu in _gpus(cluster):
        if gpu.mig is None or gpu.mig.profile in configurations(gpu):
            continue
        if profiles(gpu) and not own:
            yield _no_such_configuration((*at, "mig", "profile"), gpu, gpu.mig.profile)
        elif not gpu.mig.instances and (own or can_be_split(gpu.model)):
            message = f"what {gpu.mig.profile} makes of a node's GPUs is not known"
            fix = "say it with `instances`, as in {1g.10gb: 56}"
            yield Finding(at=(*at, "mig", "profile"), message=message, fix=fix)


def _no_such_configuration(at: Path, gpu: Gpu, profile: str) -> Finding:
    there = configurations(gpu)
    message = f"{gpu.model} with {gpu.memory} has no MIG configuration {profile}"
    meant = f"all-{profile}" if f"all-{profile}" in there else near(profile, there)
    names = ", ".join(there)
    fix = f"`{meant}`; there are {names}" if meant else f"one of {names}"
    return Finding(at=at, message=message, fix=fix, edits=put(at, meant) if meant else ())


@rule("GEN-NODE-035", "instances that a model can have")
def mig_instances(cluster: Cluster) -> Iterator[Finding]:
    """`instances` says what a MIG configuration of your own makes of all GPUs of one node. For those that the MIG
    manager makes by itself it is known, and another number would be believed by quotas and not by nodes.

    Wrong:
        gpu: {model: A30, count: 4, memory: 24Gi, mig: {profile: halves, instances: {2g.10gb: 8}}}
    Right:
        gpu: {model: A30, count: 4, memory: 24Gi, mig: {profile: halves, instances: {2g.12gb: 8}}}
    """
    own = own_mig_configurations(cluster)
    for at, gpu in _gpus(cluster):
        place, there = (*at, "mig", "instances"), profiles(gpu)
        if gpu.mig and gpu.mig.instances and not own and gpu.mig.profile in configurations(gpu):
            message = f"what {gpu.mig.profile} makes of {gpu.model} is known, and `instances` says it again"
            yield Finding(at=place, key=True, message=message, edits=remove(place))
            continue
        for name, count in gpu.mig.instances.items() if gpu.mig and there else ():
            if count > there.get(name, 0) * gpu.count:
                most = f"at most {there[name] * gpu.count}" if name in there else "none"
                message = f"{count} instances of {name}: {gpu.count} GPUs of {gpu.model} give {most}"
                fix = f"the profiles of {gpu.model} are {', '.join(there)}"
                yield Finding(at=(*place, name), key=name not in there, message=message, fix=fix)


@rule("GEN-NODE-036", "instances of one kind on a node, or strategy mixed")
def one_kind(cluster: Cluster) -> Iterator[Finding]:
    """With the strategy `single` the device plugin offers instances as `nvidia.com/gpu`, so that those of a node must
    be of one kind; it offers nothing where they are not.

    Wrong:
        gpus: {migStrategy: single}
        pools: {gpu: {hardware: {gpu: {mig: {profile: all-balanced}, ...}}}}
    Right:
        gpus: {migStrategy: mixed}
        pools: {gpu: {hardware: {gpu: {mig: {profile: all-balanced}, ...}}}}
    """
    for at, gpu in _gpus(cluster) if cluster.gpus.mig_strategy == "single" else ():
        kinds = instances(gpu)
        if gpu.mig and len(kinds) > 1:
            message = f"{gpu.mig.profile} makes instances of {len(kinds)} kinds, and the MIG strategy is single"
            edits = put(("gpus", "migStrategy"), "mixed")
            fix = "`gpus: {migStrategy: mixed}`, and quotas in `instances`"
            yield Finding(at=(*at, "mig", "profile"), also=("gpus",), message=message, fix=fix, edits=edits)


@warning("GEN-NODE-037", "GPUs that are shared by time are shared in trust")
def time_sliced(cluster: Cluster) -> Iterator[Finding]:
    """Pods that take turns on a GPU share its memory: one that takes all of it stops the others, one that crashes the
    GPU crashes them, and more turns for one pod are no more speed. Instances (MIG) keep pods apart. Where one team owns
    all turns of a pool and lends none, its pods share with no others.

    Wrong:
        gpu: {model: A30, count: 4, memory: 24Gi, timeSlices: 4}
    Right:
        gpu: {model: A30, count: 4, memory: 24Gi, mig: {profile: all-1g.6gb}}
    """
    for at, gpu in _gpus(cluster):
        pool = str(at[1]) if at[0] == "pools" else cluster.nodes[int(at[1])].pool
        if gpu.time_slices and not _one_team_alone(cluster, pool):
            message = f"{gpu.time_slices} pods share each GPU by time, and nothing keeps their memory apart"
            apart = [name for name, most in profiles(gpu).items() if most >= gpu.time_slices]
            alone = f"one team that owns all turns of pool {pool}, with `lend: 0`, shares with no others"
            fix = f"`mig: {{profile: all-{apart[-1]}}}` keeps them apart" if apart else alone
            yield Finding(at=(*at, "timeSlices"), message=message, fix=fix)


def _one_team_alone(cluster: Cluster, pool: str) -> bool:
    """Tell whether a team owns all GPUs of a pool and lends none: what nobody owns, everybody may borrow."""
    quotas = [team.quotas[pool] for team in cluster.teams if pool in team.quotas]
    there = flavor_capacity(cluster, pool).devices
    return len(quotas) == 1 and quotas[0].lend == 0 and quota_devices(quotas[0]) == there


@warning("GEN-NODE-038", "turns on a GPU and whole GPUs have different taints")
def turns_apart(cluster: Cluster) -> Iterator[Finding]:
    """A turn on a shared GPU and a whole GPU are both `nvidia.com/gpu`. A job that asks for four GPUs, and may run on
    nodes with either, gets four turns that can be on one GPU: NCCL refuses two ranks on one, and what was meant to be
    fast is slow. A taint of their own keeps the nodes with turns to pods that mean them.

    Wrong:
        t4: {hardware: {gpu: {timeSlices: 4, ...}, ...}, taints: [nvidia.com/gpu=present:NoSchedule]}
        a100: {hardware: {gpu: {...}, ...}, taints: [nvidia.com/gpu=present:NoSchedule]}
    Right:
        t4:
          hardware: {gpu: {timeSlices: 4, ...}, ...}
          taints: [nvidia.com/gpu=present:NoSchedule, gen.internal/turns=present:NoSchedule]
        a100: {hardware: {gpu: {...}, ...}, taints: [nvidia.com/gpu=present:NoSchedule]}
    """
    named_gpu = [machine for machine in cluster.gpu_nodes if GPU in devices(cluster.gpus, machine.hardware.gpu)]
    turns = [machine for machine in named_gpu if machine.hardware.gpu and machine.hardware.gpu.time_slices]
    whole = {frozenset(hard(machine.taints)): machine for machine in named_gpu if machine not in turns}
    for at, machines in by_place(cluster, turns, "gpu").items():
        met = [each for taints, each in whole.items() if any(taints >= {*hard(one.taints)} for one in machines)]
        if met:
            message = f"what may run on {met[0].name}, which has whole GPUs, may run on {machines[0].name} as well"
            fix = f"one more taint for pool {machines[0].pool}, as in gen.internal/turns=present:NoSchedule"
            also = hardware_path(cluster, met[0], "gpu")
            yield Finding(at=(*at, "timeSlices"), also=also, message=message, fix=fix)
