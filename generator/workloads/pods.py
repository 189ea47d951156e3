"""The pods of a job or service: what places, connects and secures them, whatever the framework."""

from pathlib import Path

from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.job_pods import HOME, SECURITY, SHM_MOUNT, on_pool, placement, shared_memory, variables
from generator.components.kueue import PRIORITY, QUEUE
from generator.components.rdma import nccl
from generator.model.quantity import Quantity
from generator.workloads.place import GIB, Place, beside
from generator.workloads.storage import checkpoint_folder, volumes
from generator.workloads.wanted import Wanted

PROGRAMS = Path(__file__).parent / "programs"
PROGRAM = "/program"
HELPER_MEMORY = 2 * GIB


def labels(place: Place) -> dict[str, str]:
    """Return the labels by which Kueue takes a job: of its queue, and of its class."""
    return {QUEUE: "default", **({PRIORITY: place.priority} if place.priority else {})}


def pod(place: Place, wanted: Wanted, **container: object) -> Manifest:
    """Return the spec of a pod with its GPUs; `container` is what the framework says of the one container."""
    found, mounts = volumes(place, wanted)
    main = {
        "name": "main",
        "image": wanted.image,
        "env": variables(environment(place)),
        "resources": {"limits": limits(place)},
        "securityContext": SECURITY,
        "volumeMounts": [
            program_mount(),
            SHM_MOUNT,
            *mounts,
        ],
    }
    return {
        **placement(place.priority),
        **on_pool(place.cluster, place.pool),
        "containers": [main | container],
        "volumes": [program_volume(wanted), shared_memory(place.shared_memory), *found],
    }


def helper(place: Place, wanted: Wanted, **container: object) -> Manifest:
    """Return the spec of a pod without GPUs, which only starts others: on the team's nodes without GPUs if it has a
    quota there, where Kueue adds the tolerations. Raises UsageError where it could never start there.
    """
    main = {
        "name": "main",
        "image": wanted.image,
        "env": variables(environment(place)),
        "resources": {"limits": {"cpu": "1", "memory": str(Quantity.of(HELPER_MEMORY, binary=True))}},
        "securityContext": SECURITY,
        "volumeMounts": [program_mount()],
    }
    pool = beside(place, 1, HELPER_MEMORY)
    where = {"nodeSelector": {POOL: pool}} if pool else on_pool(place.cluster, place.pool)
    return {**placement(place.priority), **where, "containers": [main | container], "volumes": [program_volume(wanted)]}


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
        **HOME,
        "PYTHONUNBUFFERED": "1",
    }
