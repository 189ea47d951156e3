"""What people put on objects of Cluster API for each pool that is scaled: the autoscaler reads its bounds there, and
what a machine will be like of which there is none yet (facts of the provider: cloudprovider/clusterapi/README.md).
"""

from generator.components.cluster_autoscaler.names import GPU_LABEL, scaled
from generator.components.component import Manifest
from generator.components.kubeadm.registration import SOCKET, arguments, node_labels
from generator.components.node_text import Place
from generator.components.parts import taint_entry
from generator.model.cluster import Cluster
from generator.model.gpus import devices
from generator.model.nodes import Machine
from generator.model.resolve import alike
from generator.model.scaling import Scaling

BOUND = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
FOLDER = "cluster-api"


def group_files(cluster: Cluster) -> dict[Place, Manifest]:
    """Return two merge patches for each pool: of its MachineDeployment, and of the KubeadmConfigTemplate by which its
    machines join.
    """
    found: dict[Place, Manifest] = {}
    for pool in scaled(cluster):
        found[Place(FOLDER, f"{pool}-machine-deployment.yaml")] = {"metadata": {"annotations": marks(cluster, pool)}}
        joining = {"joinConfiguration": {"nodeRegistration": registration(cluster, pool)}}
        found[Place(FOLDER, f"{pool}-kubeadm-config.yaml")] = {"spec": {"template": {"spec": joining}}}
    return found


def marks(cluster: Cluster, pool: str) -> dict[str, str]:
    """Return the annotations of a pool's MachineDeployment: its bounds, and what a pod finds on one machine. That is
    what nodes offer pods, less than the hardware by what is reserved: the autoscaler takes it for allocatable.
    """
    scaling, machine = _scaling(cluster, pool), alike(cluster, pool)
    reserved = cluster.kubernetes.reserved
    offered = devices(cluster.gpus, machine.hardware.gpu)
    found = {
        f"{BOUND}min-size": str(scaling.minimum),
        f"{BOUND}max-size": str(scaling.maximum),
        f"{CAPACITY}cpu": f"{machine.hardware.cpu * 1000 - reserved.cpu.milli}m",
        f"{CAPACITY}memory": str(machine.hardware.memory.value - reserved.memory.value),
        f"{CAPACITY}maxPods": str(cluster.kubernetes.max_pods),
        f"{CAPACITY}labels": _listed(labels(cluster, machine)),
    }
    if machine.taints:
        found[f"{CAPACITY}taints"] = ",".join(str(taint) for taint in machine.taints)
    for name, count in offered.items():
        found |= {f"{CAPACITY}gpu-type": name, f"{CAPACITY}gpu-count": str(count)}
    return found


def registration(cluster: Cluster, pool: str) -> Manifest:
    """Return how such a machine registers: as the pool's other nodes do, but by what its provider calls it."""
    machine = alike(cluster, pool)
    return {
        "criSocket": SOCKET,
        "kubeletExtraArgs": arguments({"node-labels": _listed(labels(cluster, machine))}),
        "taints": [taint_entry(taint) for taint in machine.taints],
    }


def labels(cluster: Cluster, machine: Machine) -> dict[str, str]:
    """Return the labels of the node; one with GPUs says so, so that none more is made while its driver starts."""
    gpu = machine.hardware.gpu
    return node_labels(cluster, machine) | ({GPU_LABEL: gpu.model} if gpu and gpu.count else {})


def deployment_of(cluster: Cluster, pool: str) -> str:
    """Return the name of a pool's MachineDeployment."""
    return _scaling(cluster, pool).machine_deployment or pool


def _scaling(cluster: Cluster, pool: str) -> Scaling:
    """Return the bounds of a pool that has some."""
    return cluster.pools[pool].scaling or Scaling(maximum=1)


def _listed(found: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in found.items())
