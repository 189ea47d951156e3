"""The pods of a job or service: what places, connects and secures them, whatever the framework."""

from pathlib import Path

from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.kueue import PRIORITY, QUEUE
from generator.components.parts import UNPRIVILEGED, pod_security, toleration
from generator.components.queues import BATCH, common_taints
from generator.components.rdma import nccl
from generator.components.volcano import SCHEDULER
from generator.model.capacity import flavor_capacity
from generator.model.quantity import Quantity
from generator.workloads.place import Place
from generator.workloads.storage import checkpoint_folder, volumes
from generator.workloads.wanted import Wanted

PROGRAMS = Path(__file__).parent / "programs"
USER = 1000
PROGRAM = "/program"
# Programs write below their home, and caches beside their code.
SECURITY: Manifest = {**UNPRIVILEGED, "readOnlyRootFilesystem": False}


def labels(place: Place) -> dict[str, str]:
    """Return the labels by which Kueue takes a job: of its queue, and of its class."""
    return {QUEUE: "default", **({PRIORITY: place.priority} if place.priority else {})}


def pod(place: Place, wanted: Wanted, **container: object) -> Manifest:
    """Return the spec of a pod with its GPUs; `container` is what the framework says of the one container."""
    found, mounts = volumes(place, wanted)
    memory = str(Quantity.of(place.shared_memory, binary=True))
    main = {
        "name": "main",
        "image": wanted.image,
        "env": variables(environment(place)),
        "resources": {"limits": limits(place)},
        "securityContext": SECURITY,
        "volumeMounts": [
            program_mount(),
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - the pod's own
            *mounts,
        ],
    }
    return {
        **placement(place),
        **tolerated(place),
        "containers": [main | container],
        "volumes": [
            program_volume(wanted),
            # Workers of a data loader and NCCL's ranks on one node meet there; the default is 64 MiB.
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": memory}},
            *found,
        ],
    }


def helper(place: Place, wanted: Wanted, **container: object) -> Manifest:
    """Return the spec of a pod without GPUs, which only starts others: on the team's nodes without GPUs if it has a
    quota there, where Kueue adds the tolerations.
    """
    main = {
        "name": "main",
        "image": wanted.image,
        "env": variables(environment(place)),
        "resources": {"limits": {"cpu": "1", "memory": "2Gi"}},
        "securityContext": SECURITY,
        "volumeMounts": [program_mount()],
    }
    where = tolerated(place)
    for pool in place.team.quotas:
        if not flavor_capacity(place.cluster, pool).devices:
            where = {"nodeSelector": {POOL: pool}}
    return {**placement(place), **where, "containers": [main | container], "volumes": [program_volume(wanted)]}


def program(place: Place, wanted: Wanted, **files: str) -> Manifest:
    """Return the programs that pods find below `PROGRAM`."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": wanted.name, "namespace": place.team.name},
        "data": {name: (PROGRAMS / file).read_text(encoding="utf-8") for name, file in files.items()},
    }


def program_volume(wanted: Wanted) -> Manifest:
    """Return the volume of the programs."""
    return {"name": "program", "configMap": {"name": wanted.name}}


def program_mount() -> Manifest:
    """Return where it is mounted."""
    return {"name": "program", "mountPath": PROGRAM}


def variables(values: dict[str, str]) -> list[Manifest]:
    """Write variables as a container has them."""
    return [{"name": name, "value": value} for name, value in values.items()]


def placement(place: Place) -> Manifest:
    """Return who places a pod, and as whom it runs: as a restricted namespace wants it."""
    return {
        "schedulerName": SCHEDULER,
        **({"priorityClassName": f"{BATCH}{place.priority}"} if place.priority else {}),
        "securityContext": {
            **pod_security(USER, runAsGroup=USER, fsGroup=USER),
            # A big volume would be walked at every start.
            "fsGroupChangePolicy": "OnRootMismatch",
        },
        "automountServiceAccountToken": False,
        # A Service that is called as a variable's name begins (`master`) would put an address into it.
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 60,
    }


def tolerated(place: Place) -> Manifest:
    """Select the nodes of the pool and tolerate its taints: no others, so that no job strays to another pool's."""
    taints = common_taints(place.cluster, place.pool)
    return {"nodeSelector": {POOL: place.pool}, "tolerations": [toleration(taint) for taint in taints]}


def limits(place: Place) -> dict[str, str]:
    """Return what a pod may use, which is also what it requests: memory beyond it would be others'."""
    return {
        "cpu": str(Quantity(place.milli_cpu)),
        "memory": str(Quantity.of(place.memory, binary=True)),
        place.device: str(place.each),
        **({place.rdma: "1"} if place.rdma else {}),
    }


def environment(place: Place) -> dict[str, str]:
    """Return what every framework is told: the way NCCL takes, and where data goes."""
    return {
        "NCCL_DEBUG": "WARN",
        **nccl(place.hcas, reached=bool(place.rdma)),
        "CHECKPOINTS": checkpoint_folder(place),
        "SCRATCH": "/scratch",
        # The user has no entry in most images: caches go by these.
        "HOME": "/tmp",  # noqa: S108 - the pod's own
        "USER": "job",
        "PYTHONUNBUFFERED": "1",
    }
