"""Runtimes of Kubeflow Trainer: how PyTorch and JAX run on this cluster's pools of GPUs."""

from generator.components.component import Component, Manifest, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.job_pods import HOME, SECURITY, SHM_MOUNT, on_pool, placement, shared_memory, variables
from generator.components.rdma import nccl, offers
from generator.components.rule_files import read_rules
from generator.components.trainer import ANCESTOR, CLUSTER_RUNTIME, GROUP, NODE
from generator.components.trainer import VERSIONS as TRAINER_VERSIONS
from generator.model.capacity import allocatable
from generator.model.cluster import Cluster
from generator.model.gpus import GPU
from generator.model.nodes import Machine
from generator.model.quantity import Quantity, whole_gib

GIB = 2**30
POLICIES: dict[str, Manifest] = {"torch": {"torch": {}}, "jax": {"jax": {}}}
"""Trainer's word for how each framework's processes find each other."""


def training_runtimes(cluster: Cluster) -> Component:
    """Write a runtime for each framework on each pool of whole GPUs that a team has a quota on."""
    return Component(
        name="training-runtimes",
        tier=DEFINITION.tier,
        summary="Runtimes of TrainJobs for the pools with GPUs",
        version=TRAINER_VERSIONS.of(cluster).version,
        objects=tuple(runtime(cluster, name, pool) for pool in pools(cluster) for name in POLICIES),
        needs=("trainer",),
    )


def pools(cluster: Cluster) -> list[str]:
    """Return the pools of whole GPUs that teams have quotas on. What one node is to ask for is a person's to say where
    GPUs are split or shared.
    """
    shared = {pool for team in cluster.teams for pool in team.quotas}
    split = {machine.pool for machine in cluster.gpu_nodes if set(allocatable(machine, cluster).devices) != {GPU}}
    timed = {one.pool for one in cluster.gpu_nodes if (gpu := one.hardware.gpu) and (gpu.mig or gpu.time_slices)}
    with_gpus = {machine.pool for machine in cluster.gpu_nodes}
    return [pool for pool in cluster.pools if pool in (shared & with_gpus) - split - timed]


def runtime(cluster: Cluster, framework: str, pool: str) -> Manifest:
    """Return a runtime whose every pod has a node of the pool. All that the API server would fill in is said, so that
    nothing differs from Git.
    """
    job = {
        "metadata": {"labels": {ANCESTOR: "trainer"}},
        "spec": {"template": {"spec": pod(cluster, pool)}},
    }
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": CLUSTER_RUNTIME,
        "metadata": {"name": f"{framework}-{pool}", "labels": {f"{GROUP}/framework": framework}},
        "spec": {
            "mlPolicy": {"numNodes": 1, **POLICIES[framework]},
            # All pods of a TrainJob are one gang. No step of it may wait for another, which would wait for the gang.
            "podGroupPolicy": {"volcano": {}},
            "template": {
                "spec": {
                    "replicatedJobs": [{"name": NODE, "groupName": "default", "replicas": 1, "template": job}],
                },
            },
        },
    }


def pod(cluster: Cluster, pool: str) -> Manifest:
    """Return the pod for a node, without an image, which is the TrainJob's to name. Trainer names no scheduler, and a
    TrainJob cannot (2.2.1: plugins/volcano). It runs as any namespace of a team lets it: a pod that Pod Security
    refused would be missing from a gang that was let in.
    """
    # A node of the pool may have none: no pod that asks for GPUs goes there.
    machines = tuple(one for one in cluster.gpu_nodes if one.pool == pool)
    asked = node_share(cluster, machines)
    memory = Quantity.parse(asked["memory"]).value
    return {
        **placement(None),
        "restartPolicy": "Never",
        **on_pool(cluster, pool),
        "containers": [
            {
                "name": NODE,
                "env": variables(environment(cluster, machines) | HOME),
                "resources": {"requests": asked, "limits": asked},
                "securityContext": SECURITY,
                "volumeMounts": [SHM_MOUNT],
            }
        ],
        "volumes": [shared_memory(memory // 8 // GIB * GIB)],
    }


def node_share(cluster: Cluster, machines: tuple[Machine, ...]) -> Manifest:
    """Return what a pod asks for that has a node to itself: all GPUs, and nine tenths of what is left of CPU and
    memory, for firmware and kernel keep some of the memory that a data sheet says.
    """
    shares = [allocatable(machine, cluster) for machine in machines]
    asked = {
        "cpu": str(min(share.milli_cpu for share in shares) * 9 // 10 // 1000),
        "memory": whole_gib(min(share.memory for share in shares) * 9 // 10),
        GPU: str(min(share.devices[GPU] for share in shares)),
    }
    return asked | dict.fromkeys(reached(cluster, machines), "1")


def reached(cluster: Cluster, machines: tuple[Machine, ...]) -> set[str]:
    """Return the resources by which a pod reaches InfiniBand on each of these nodes."""
    return set.intersection(*({*offers(cluster, machine)} for machine in machines))


def environment(cluster: Cluster, machines: tuple[Machine, ...]) -> dict[str, str]:
    """Return what NCCL must be told on a pool."""
    hcas = {machine.hardware.hcas for machine in machines}
    return nccl(hcas.pop() if len(hcas) == 1 else (), reached=bool(reached(cluster, machines)))


# Read in Trainer v2.2: `pkg/runtime/framework/plugins/jobset`, `pkg/controller/clustertrainingruntime_controller.go`,
# `pkg/runtime/core/clustertrainingruntime.go`.

DEFINITION = Definition(
    name="training-runtimes",
    tier=Tier.SCHEDULING,
    make=training_runtimes,
    wanted=lambda cluster: "trainer" in cluster.frameworks and pools(cluster),
    absence="frameworks do not name trainer, or no team has whole GPUs",
    own_kinds=(f"{GROUP}/{CLUSTER_RUNTIME}",),
    changes=lambda: read_rules("training_runtimes_changes.yaml"),
    shown_by=Evidence(objects=(Shown(GROUP, "clustertrainingruntimes"),)),
    notes="`torch-<pool>` and `jax-<pool>`, for each pool of whole GPUs with a quota: Volcano as the scheduler, one "
    "gang, the pool's taints, all GPUs of a node, InfiniBand where there is some, and shared memory. Pods run as user "
    "1000 without any capability, as a namespace with Pod Security `restricted` wants it. A TrainJob names its image "
    "and the number of nodes. What it says as `resourcesPerNode` takes the place of all that the runtime asks for, "
    "InfiniBand as well.",
)
