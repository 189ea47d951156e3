"""The jobs of acceptance, whole but for their names, their runs and how many pods they have: the steps put these in."""

from generator.components import mpi_operator
from generator.components.acceptance.names import JOBS, OBJECTS, PORT, PROGRAMS, TEST, labels, priority
from generator.components.acceptance.pools import GIB, Tried, environment, message, runs_mpi
from generator.components.acceptance.stores import stores, volume
from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.job_pods import SECURITY, SHM_MOUNT, on_pool, placement, shared_memory, variables
from generator.components.kueue import PRIORITY, QUEUE
from generator.components.python_steps import IMAGE
from generator.components.queues import flavors
from generator.components.queues.volumes import lasting_classes
from generator.components.volcano import GANG
from generator.model.capacity import flavor_capacity
from generator.model.cluster import Cluster
from generator.model.gpus import GPU
from generator.model.mirror import at_mirror
from generator.model.quantity import Quantity

PROGRAM, KEYS = "/program", "/keys"
# The shortest time that says something: caches of disks are full by then, and a link has come to its rate.
SECONDS_OF_DISK, SECONDS_OF_LINK, SECONDS_OF_OBJECTS = "60", "10", "30"
SECONDS_OF_START = 300
"""So long a GPU may take to be ready for its load, and to end after it: acceptance.py.txt knows both."""
SIZE_OF_FILE = 64 * GIB
# As big as the parts of checkpoints and of backups; all clients together less than half of their room.
SIZE_OF_OBJECT, MOST_OBJECTS = 64 * 2**20, 8 * GIB
CLIENTS = 3
"""How many pods use the shared tiers at once: enough to see them, few enough that others go on working."""


def jobs(cluster: Cluster, one: Tried) -> dict[str, Manifest]:
    """Return the job of each test that this pool can have."""
    made = {
        "nccl": all_reduce,
        "pairs": pairs,
        "burn": burn,
        "training": training,
        "inference": inference,
        "scratch": scratch,
        "shared": shared,
        "objects": objects,
    }
    missing = absent(cluster, one)
    return {name: make(cluster, one) for name, make in made.items() if name not in missing}


def all_reduce(cluster: Cluster, one: Tried) -> Manifest:
    """Return the job of one all-reduce over all GPUs: nccl-tests where the cluster runs MPIJobs, else PyTorch."""
    return by_mpi(cluster, one) if runs_mpi(cluster) else by_torchrun(cluster, one)


def by_torchrun(cluster: Cluster, one: Tried) -> Manifest:
    """Return the Job whose pods meet at the first of them, by the names that a Service gives them."""
    told = {"SIZE": message(one), "NCCL_DEBUG": "INFO"}
    return _meeting(cluster, one, told, ["sh", f"{PROGRAM}/torch.sh", "torch_reduce.py"])


def training(cluster: Cluster, one: Tried) -> Manifest:
    """Return the Job that trains a small model by all GPUs together, and goes on from its checkpoint in the middle."""
    return _meeting(cluster, one, {}, ["sh", f"{PROGRAM}/training.sh"])


def inference(cluster: Cluster, one: Tried) -> Manifest:
    """Return the Job in which each GPU answers requests to that model."""
    return _meeting(cluster, one, {}, ["sh", f"{PROGRAM}/torch.sh", "inference.py"])


def _meeting(cluster: Cluster, one: Tried, told: dict[str, str], command: list[str]) -> Manifest:
    """Return a Job by torchrun."""
    patience = str(cluster.scheduling.start_minutes * 60)
    env = environment(one) | {"GPUS": str(one.each), "PATIENCE": patience, "PORT": str(PORT)} | told
    return _indexed(cluster, len(one.machines), {"subdomain": "", **_pod(cluster, one, env, command=command)})


def burn(cluster: Cluster, one: Tried) -> Manifest:
    """Return the Job in which each pod loads all GPUs of its node, and meets no other."""
    env = environment(one) | {"GPUS": str(one.each), "PATIENCE": str(SECONDS_OF_START)}
    spec = _pod(cluster, one, env, command=["python3", "-u", "-B", f"{PROGRAM}/gpu_burn.py"])
    return _indexed(cluster, len(one.machines), spec)


def by_mpi(cluster: Cluster, one: Tried) -> Manifest:
    """Return the MPIJob."""
    env = environment(one) | {"SSH": mpi_operator.KEYS, "SIZE": message(one), "NCCL_DEBUG": "INFO"}
    launch = {"command": ["sh", f"{PROGRAM}/launch.sh"], "args": ["sh", f"{PROGRAM}/all_reduce.sh"]}
    worker = _pod(cluster, one, env, command=["sh", f"{PROGRAM}/worker.sh"])
    worker["containers"][0]["securityContext"] = mpi_operator.worker_security(SECURITY)
    return _metadata("kubeflow.org/v2beta1", "MPIJob", cluster) | {
        "spec": {
            "slotsPerWorker": one.each,
            "sshAuthMountPath": mpi_operator.KEYS,
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0},
            "mpiReplicaSpecs": {
                "Launcher": _replicas(1, _launcher(cluster, one, env) | {"terminationGracePeriodSeconds": 5}, launch),
                "Worker": _replicas(len(one.machines), worker, {}),
            },
        }
    }


def _replicas(count: int, spec: Manifest, container: Manifest) -> Manifest:
    (main,) = spec["containers"]
    template = {"metadata": {"labels": labels()}, "spec": spec | {"containers": [main | container]}}
    return {"replicas": count, "restartPolicy": "Never", "template": template}


def _launcher(cluster: Cluster, one: Tried, env: dict[str, str]) -> Manifest:
    """Return the pod that starts the others: on nodes without GPUs where a queue leads to some, and Kueue adds their
    tolerations.
    """
    plain = [pool for pool in flavors(cluster) if not flavor_capacity(cluster, pool).devices]
    where = {"nodeSelector": {POOL: plain[0]}} if plain else on_pool(cluster, one.pool)
    container = _container(cluster, env | {"PATIENCE": str(cluster.scheduling.start_minutes * 60)})
    container["resources"] = {"limits": {"cpu": "1", "memory": "2Gi"}}
    return {**placement(priority(cluster)), **where, "containers": [container], "volumes": [_programs()]}


def pairs(cluster: Cluster, one: Tried) -> Manifest:
    """Return the Job in which each pod writes to its neighbour's memory, link by link. Pods find each other by names,
    below that of a Service which the steps make with it.
    """
    env = {"HCAS": " ".join(one.hcas), "MEMORIES": "host cuda", "SECONDS_EACH": SECONDS_OF_LINK, "PATIENCE": "120"}
    spec = _pod(cluster, one, environment(one) | env, command=["sh", f"{PROGRAM}/pairs.sh"])
    return _indexed(cluster, len(one.machines), {"subdomain": "", **spec})


def scratch(cluster: Cluster, one: Tried) -> Manifest:
    """Return the Job in which each pod tries all disks for scratch of its node."""
    settings = cluster.storage.scratch
    assert settings
    size = min(SIZE_OF_FILE, min(disk.size.value for node in one.machines for disk in node.disks_for("scratch")) // 2)
    claims = {f"disk-{number}": _claim(settings.storage_class, GIB) for number in range(one.disks)}
    return _indexed(cluster, len(one.machines), _with_disks(cluster, one, claims, size))


def shared(cluster: Cluster, one: Tried) -> Manifest:
    """Return the Job in which a few pods try a new volume of each shared class."""
    size = SIZE_OF_FILE // 4
    claims = {name: _claim(name, size + size // 4) for name in lasting_classes(cluster)}
    return _indexed(cluster, min(CLIENTS, len(one.machines)), _with_disks(cluster, one, claims, size))


def objects(cluster: Cluster, one: Tried) -> Manifest:
    """Return the Job in which a few pods write into each store that speaks S3, and read it back: of an image with
    Python alone, for the keys are nothing for programs of many people's.
    """
    env = {
        "STORES": "".join(f"{store.name} {store.place}\n" for store in stores(cluster)),
        "KEYS": KEYS,
        "CA": f"{KEYS}/ca.crt",
        "SIZE": str(SIZE_OF_OBJECT),
        "MOST": str(MOST_OBJECTS),
        "SECONDS_EACH": SECONDS_OF_OBJECTS,
    }
    spec = _pod(cluster, one, env, command=["python3", "-u", "-B", f"{PROGRAM}/object_stores.py"])
    spec["volumes"] += [volume(cluster)]
    spec["containers"][0]["image"] = at_mirror(IMAGE, cluster.site.images)
    spec["containers"][0]["volumeMounts"] += [{"name": "keys", "mountPath": KEYS, "readOnly": True}]
    made = _indexed(cluster, min(CLIENTS, len(one.machines)), spec)
    made["spec"]["template"]["metadata"]["labels"][TEST] = OBJECTS
    return made


def _claim(storage_class: str, size: int) -> Manifest:
    """Return a volume that comes and goes with its pod."""
    asked = {"requests": {"storage": str(Quantity.of(size, binary=True))}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, "resources": asked}
    return {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


def _with_disks(cluster: Cluster, one: Tried, claims: dict[str, Manifest], size: int) -> Manifest:
    env = {"SIZE": str(size), "SECONDS_EACH": SECONDS_OF_DISK}
    spec = _pod(cluster, one, environment(one) | env, command=["sh", f"{PROGRAM}/disks.sh"])
    spec["volumes"] += [{"name": name, **claim} for name, claim in claims.items()]
    spec["containers"][0]["volumeMounts"] += [{"name": name, "mountPath": f"/disks/{name}"} for name in claims]
    return spec


def _indexed(cluster: Cluster, count: int, spec: Manifest) -> Manifest:
    """Return a Job whose pods all run or none, each told its place. A pod that fails is not made again: what it has
    said is the result.
    """
    made = _metadata("batch/v1", "Job", cluster)
    made["metadata"]["annotations"] = {GANG: str(count)}
    template = {
        "metadata": {"labels": labels()},
        "spec": {"restartPolicy": "Never", **spec},
    }
    return made | {
        "spec": {
            "parallelism": count,
            "completions": count,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": template,
        }
    }


def _metadata(version: str, kind: str, cluster: Cluster) -> Manifest:
    lowest = priority(cluster)
    queued = {QUEUE: "default", **({PRIORITY: lowest} if lowest else {})}
    return {"apiVersion": version, "kind": kind, "metadata": {"namespace": JOBS, "labels": {**labels(), **queued}}}


def _pod(cluster: Cluster, one: Tried, env: dict[str, str], command: list[str]) -> Manifest:
    """Return a pod that has all GPUs of its node, so that nobody else computes there, and all its HCAs."""
    container = _container(cluster, env) | {"command": command}
    container["resources"] = {
        "limits": {
            "cpu": str(Quantity(one.milli_cpu)),
            "memory": str(Quantity.of(one.memory, binary=True)),
            GPU: str(one.each),
            **({one.rdma: "1"} if one.rdma else {}),
        }
    }
    container["volumeMounts"] += [SHM_MOUNT]
    return {
        **placement(priority(cluster)),
        **on_pool(cluster, one.pool),
        "containers": [container],
        "volumes": [_programs(), shared_memory(one.memory // 4)],
    }


def _container(cluster: Cluster, env: dict[str, str]) -> Manifest:
    assert cluster.acceptance
    return {
        "name": "main",
        "image": cluster.acceptance.image,
        "env": [*variables(env), {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "securityContext": SECURITY,
        "volumeMounts": [{"name": "program", "mountPath": PROGRAM}],
    }


def _programs() -> Manifest:
    return {"name": "program", "configMap": {"name": PROGRAMS}}


def absent(cluster: Cluster, one: Tried) -> dict[str, str]:
    """Return the tests that this pool cannot have, each with the reason."""
    found = {}
    if not one.hcas:
        found["pairs"] = "its nodes have no HCAs in a fabric, or not all the same"
    elif len(one.machines) < 2:
        found["pairs"] = "it has one node, and so no neighbours"
    if not one.disks:
        found["scratch"] = "its nodes have no disks for scratch"
    if not lasting_classes(cluster):
        found["shared"] = "the cluster has neither Ceph's volumes nor NFS"
    if not stores(cluster):
        found["objects"] = "the cluster has neither MinIO nor object stores of Ceph"
    if cluster.kubernetes.endpoint.by == "external":
        found["vip"] = "the control plane's address is not held by its nodes, but outside of them"
    elif len(cluster.control_plane) < 2:
        found["vip"] = "there is one control-plane node, and so nobody who could take the address over"
    return found
