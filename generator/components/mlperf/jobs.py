"""The Jobs of benchmarks, in the team's namespace: one pod with all GPUs of a node, or one on each of several nodes."""

from typing import Any

from generator.components.component import Manifest
from generator.components.job_pods import SECURITY, SHM_MOUNT, on_pool, placement, shared_memory
from generator.components.kueue import PRIORITY, QUEUE
from generator.components.mlperf.names import OF_TEAM, job_name, labels
from generator.components.queues.reach import reach
from generator.components.rdma import nccl, offers
from generator.components.volcano import GANG
from generator.model.capacity import PART, WHOLE, allocatable
from generator.model.cluster import Cluster
from generator.model.gpus import GPU
from generator.model.mlperf import LIMITS, MIN_DURATION, Mlperf, MlperfRun
from generator.model.nodes import Machine
from generator.model.quantity import Quantity
from generator.model.teams import Team

PORT = 29400
PROGRAM, OUTPUT, DATA = "/program", "/results", "/data"
GIB = 2**30
SHARED_MEMORY = 64 * GIB
DAYS = 7
"""How long an ended Job stays, with its log."""


def machines(cluster: Cluster, mlperf: Mlperf) -> tuple[Machine, ...]:
    """Return the nodes that benchmarks may get."""
    return tuple(one for one in cluster.in_pools(mlperf.pool) if one.gpus)


def gpus(cluster: Cluster, mlperf: Mlperf) -> int:
    """Return how many GPUs a pod gets: all of its node, so that no other pod has one beside it."""
    return min((one.gpus for one in machines(cluster, mlperf)), default=0)


def plan(cluster: Cluster, team: Team, mlperf: Mlperf, run: MlperfRun) -> dict[str, Any]:
    """Return what the operation reads of a benchmark: its Job, and what the summary must say."""
    return {
        "job": job(cluster, team, mlperf, run),
        "wanted": {
            "scenario": run.scenario,
            "result": LIMITS[run.model].result,
            "minDuration": MIN_DURATION,
            "settings": settings(run),
        },
        "tolerance": mlperf.tolerance,
        "image": mlperf.image,
    }


def settings(run: MlperfRun) -> dict[str, float]:
    """Return what LoadGen says of its settings at the end of its summary, in nanoseconds."""
    limits = LIMITS[run.model]
    said = {
        "target_latency (ns)": limits.latency,
        "ttft_latency (ns)": limits.first_token,
        "tpot_latency (ns)": limits.each_token,
    }
    bounds = {key: value * 1e6 for key, value in said.items() if value is not None}
    return {"target_qps": run.queries_per_second, **(bounds if run.scenario == "Server" else {})}


def user_conf(run: MlperfRun) -> str:
    """Return the file in which a harness finds the load: all that LoadGen lets users set of these two scenarios."""
    return f"{run.model}.{run.scenario}.target_qps = {run.queries_per_second!r}\n"


def service(team: Team, run: MlperfRun) -> Manifest:
    """Return what gives the pods of a benchmark on several nodes names, before they are ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": job_name(run.name), "namespace": team.name, "labels": labels()},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"batch.kubernetes.io/job-name": job_name(run.name)},
        },
    }


def job(cluster: Cluster, team: Team, mlperf: Mlperf, run: MlperfRun) -> Manifest:
    """Return the Job. It is not tried again: a figure that came at the second try is to be known as such. What Kueue or
    a drain stops is no failure.
    """
    name, priority = job_name(run.name), highest(cluster, team)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": team.name,
            "labels": {**labels(), QUEUE: "default", **({PRIORITY: priority} if priority else {})},
            "annotations": {GANG: str(run.nodes)},
        },
        "spec": {
            "parallelism": run.nodes,
            "completions": run.nodes,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "activeDeadlineSeconds": run.hours * 3600,
            "ttlSecondsAfterFinished": DAYS * 24 * 3600,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
            },
            "template": {"metadata": {"labels": labels()}, "spec": pod(cluster, team, mlperf, run)},
        },
    }


def highest(cluster: Cluster, team: Team) -> str | None:
    """Return the highest of the team's classes: a benchmark that is stopped half way was for nothing."""
    classes = cluster.scheduling.priorities
    return max(cluster.scheduling.open_to(team), key=lambda name: classes.get(name, 0), default=None)


def pod(cluster: Cluster, team: Team, mlperf: Mlperf, run: MlperfRun) -> Manifest:
    """Return the spec of a pod, which a restricted namespace takes."""
    cpu, memory = size(cluster, team, mlperf, run)
    data = [{"name": "data", "persistentVolumeClaim": {"claimName": mlperf.data, "readOnly": True}}]
    return {
        **placement(highest(cluster, team)),
        **on_pool(cluster, mlperf.pool),
        **({"subdomain": job_name(run.name)} if run.nodes > 1 else {}),
        "restartPolicy": "Never",
        "containers": [container(cluster, mlperf, run, (cpu, memory))],
        "volumes": [
            {"name": "program", "configMap": {"name": OF_TEAM}},
            {"name": "results", "emptyDir": {"sizeLimit": "20Gi"}},
            shared_memory(min(SHARED_MEMORY, memory // 4)),
            *(data if mlperf.data else []),
        ],
    }


def size(cluster: Cluster, team: Team, mlperf: Mlperf, run: MlperfRun) -> tuple[int, int]:
    """Return thousandths of a core and bytes of memory for a pod: whole cores, so that it is of the class Guaranteed,
    and as much of the smallest node as its team may use.
    """
    shares = [allocatable(one, cluster) for one in machines(cluster, mlperf)]
    room = reach(cluster, team, mlperf.pool)
    cpu = min((one.milli_cpu * PART // WHOLE for one in shares), default=0)
    memory = min((one.memory * PART // WHOLE for one in shares), default=0)
    return min(cpu, room.milli_cpu // run.nodes) // 1000 * 1000, min(memory, room.memory // run.nodes) // GIB * GIB


def container(cluster: Cluster, mlperf: Mlperf, run: MlperfRun, room: tuple[int, int]) -> Manifest:
    """Return the harness, with all GPUs of its node; on several nodes with a ticket for InfiniBand as well."""
    cpu, memory = room
    ticket = rdma(cluster, mlperf) if run.nodes > 1 else None
    limits = {
        "cpu": str(Quantity(cpu)),
        "memory": str(Quantity.of(memory, binary=True)),
        GPU: str(gpus(cluster, mlperf)),
        **({ticket: "1"} if ticket else {}),
    }
    return {
        "name": "main",
        "image": mlperf.image,
        "command": ["sh", f"{PROGRAM}/run.sh"],
        "args": list(mlperf.command),
        "env": variables(cluster, mlperf, run, reached=ticket is not None),
        "resources": {"limits": limits},
        "securityContext": SECURITY,
        "volumeMounts": [
            {"name": "program", "mountPath": PROGRAM},
            {"name": "results", "mountPath": OUTPUT},
            SHM_MOUNT,
            *([{"name": "data", "mountPath": DATA, "readOnly": True}] if mlperf.data else []),
        ],
    }


def rdma(cluster: Cluster, mlperf: Mlperf) -> str | None:
    """Return the resource by which a pod gets the HCAs of its node; None where a node has none."""
    offered = [offers(cluster, one) for one in machines(cluster, mlperf)]
    return next(iter(offered[0]), None) if offered and all(offered) else None


def variables(cluster: Cluster, mlperf: Mlperf, run: MlperfRun, *, reached: bool) -> list[Manifest]:
    """Return what a harness is told: its benchmark, and where its processes meet, as torchrun and NCCL read it. It
    starts its processes itself; nobody logs in from one pod to another.
    """
    named = {one.hardware.hcas for one in machines(cluster, mlperf)}
    first = f"{job_name(run.name)}-0.{job_name(run.name)}" if run.nodes > 1 else "localhost"
    said = {
        "MODEL": run.model,
        "SCENARIO": run.scenario,
        "USER_CONF": f"{PROGRAM}/{run.name}.conf",
        "OUTPUT": OUTPUT,
        **({"DATA": DATA} if mlperf.data else {}),
        "COMPUTE_MODE": mlperf.compute_mode,
        "PODS": str(run.nodes),
        "GPUS": str(gpus(cluster, mlperf)),
        "MASTER_ADDR": first,
        "MASTER_PORT": str(PORT),
        **(nccl(named.pop() if len(named) == 1 else (), reached=reached) if run.nodes > 1 else {}),
        # The user has no entry in most images.
        "HOME": "/tmp",  # noqa: S108 - the pod's own
        "USER": "mlperf",
        "PYTHONUNBUFFERED": "1",
    }
    node = {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    return [*({"name": name, "value": value} for name, value in said.items()), node]
