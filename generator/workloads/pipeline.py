"""A pipeline of a team's own on Argo Workflows: steps that start one after the other, each through the queue."""

from msgspec import Struct, structs

from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.job_pods import SECURITY, SHM_MOUNT, on_pool, placement, shared_memory, variables
from generator.components.tenants.pods import PIPELINE
from generator.errors import UsageError
from generator.model.quantity import Quantity
from generator.workloads.ended import kept_seconds
from generator.workloads.place import GIB, Place, beside
from generator.workloads.pods import PROGRAM, environment, labels, limits, program, program_mount, program_volume
from generator.workloads.storage import claim, kept, scratch_size, volumes
from generator.workloads.wanted import Wanted

API = "argoproj.io/v1alpha1"
STEPS = ("ingest", "train", "evaluate")
STEP = "app.kubernetes.io/component"
"""The label of a step's pods."""
CPUS, MEMORY = 2, 8 * GIB
"""Of a step without GPUs."""
BESIDE_CPU, BESIDE_MEMORY = 1000, GIB
"""Left for the executor that Argo puts beside each step, in thousandths of a core and bytes: more than it requests."""
WEEK = 7 * 24 * 60 * 60
RETRY: Manifest = {"limit": "10", "retryPolicy": "Always", "backoff": {"duration": "60", "factor": "2", "cap": "1800"}}
"""What Kueue stops is gone, which Argo takes for an error: the step begins anew, and goes on from what it kept."""


class Step(Struct, frozen=True):
    """Where a step runs and what it may use; `more` are the volumes that are its own, with their mounts."""

    where: Manifest
    limits: dict[str, str]
    more: tuple[list[Manifest], list[Manifest]] = ([], [])


def pipeline(place: Place, wanted: Wanted) -> list[Manifest]:
    """Return a pipeline in the order in which it is made: its program, the volume by which steps hand on files, the
    template, and what runs it once. Raises UsageError where no step could start, or none could hand on anything.
    """
    _possible(place, wanted)
    files = program(place, wanted, **{"pipeline.py": "pipeline.py.txt"})
    volume = claim(place, wanted)
    return [files, *([volume] if volume else []), template(place, wanted), run(place, wanted)]


def _possible(place: Place, wanted: Wanted) -> None:
    if not place.team.pipelines:
        raise UsageError(
            f"team {wanted.team} may run no workflows on {place.cluster.name}: say pipelines: true of it in the "
            "cluster file"
        )
    if place.pods > 1:
        raise UsageError(
            f"a step is one pod, and a node of pool {place.pool} has {place.each} of {place.device}: take "
            f"--gpus {place.each} at most, or a job of its own for what trains on several nodes"
        )
    if kept(place) is None:
        raise UsageError(
            f"{place.cluster.name} has no storage that outlives pods, by which steps could hand on files: have "
            "storage.nfs or storage.ceph in its cluster file"
        )
    if place.milli_cpu <= 2 * BESIDE_CPU or place.memory <= 2 * BESIDE_MEMORY:
        raise UsageError(f"{wanted.gpus} of {place.device} leave no CPU or memory for what Argo puts beside a step")


def template(place: Place, wanted: Wanted) -> Manifest:
    """Return what a run is made of. The label makes Kueue hold each pod by itself; the deadline is of the whole run,
    with all that it waits.
    """
    said, shared = placement(place.priority), kept(place)
    spec = {
        "entrypoint": "pipeline",
        "serviceAccountName": PIPELINE,
        "podMetadata": {"labels": labels(place)},
        "schedulerName": said["schedulerName"],
        **({"podPriorityClassName": said["priorityClassName"]} if "priorityClassName" in said else {}),
        "securityContext": said["securityContext"],
        "activeDeadlineSeconds": WEEK,
        **cleaned(place),
        # A volume that one node mounts: the pods of a second run would wait for it with their quota.
        **({"synchronization": {"mutexes": [{"name": wanted.name}]}} if shared and shared.mode[-4:] == "Once" else {}),
        "volumes": [program_volume(wanted), *_shared(place, wanted)[0]],
        "templates": [order(), *(step(name, place, wanted) for name in STEPS)],
    }
    return {
        "apiVersion": API,
        "kind": "WorkflowTemplate",
        "metadata": {"name": wanted.name, "namespace": place.team.name},
        "spec": spec,
    }


def cleaned(place: Place) -> Manifest:
    """Return when pods go that have ended, of steps that have scratch: each keeps its disk until then, also one that
    failed and that the next try stands beside. Others are there as long as the run is.
    """
    if scratch_size(place) is None:
        return {}
    delay = f"{kept_seconds(place, scratch=True)}s"
    of_scratch = {"matchLabels": {STEP: "train"}}
    return {"podGC": {"strategy": "OnPodCompletion", "deleteDelayDuration": delay, "labelSelector": of_scratch}}


def order() -> Manifest:
    """Return the steps, each after the one before it."""
    pairs = zip(STEPS, ("", *STEPS), strict=False)
    tasks = [{"name": name, "template": name, **({"depends": before} if before else {})} for name, before in pairs]
    return {"name": "pipeline", "dag": {"tasks": tasks}}


def step(name: str, place: Place, wanted: Wanted) -> Manifest:
    """Return the template of a step."""
    one = on_gpus(place, wanted) if name == "train" else on_cpus(place)
    run_folder = {"RUN": f"{environment(place)['CHECKPOINTS']}/{{{{workflow.name}}}}"}
    own_volumes, own_mounts = one.more
    container = {
        "image": wanted.image,
        # Argo would ask the image's registry for a command that is not said.
        "command": ["python3", f"{PROGRAM}/pipeline.py", name],
        "env": variables(environment(place) | run_folder),
        "resources": {"limits": one.limits},
        "securityContext": SECURITY,
        "volumeMounts": [program_mount(), *_shared(place, wanted)[1], *own_mounts],
    }
    made = {
        "name": name,
        "metadata": {"labels": {STEP: name}},
        **one.where,
        "retryStrategy": RETRY,
        "container": container,
    }
    return made | ({"volumes": own_volumes} if own_volumes else {})


def on_gpus(place: Place, wanted: Wanted) -> Step:
    """Return the place of the step with all the GPUs."""
    less = structs.replace(place, milli_cpu=place.milli_cpu - BESIDE_CPU, memory=place.memory - BESIDE_MEMORY)
    of_its_own = [[one for one in each if one["name"] == "scratch"] for each in volumes(place, wanted)]
    memory = shared_memory(less.shared_memory)
    more = ([memory, *of_its_own[0]], [SHM_MOUNT, *of_its_own[1]])
    return Step(on_pool(place.cluster, place.pool), limits(less), more)


def on_cpus(place: Place) -> Step:
    """Return the place of a step without GPUs: on nodes without them if the team has a quota there, where Kueue adds
    the tolerations.
    """
    if pool := beside(place, CPUS + 1, MEMORY + BESIDE_MEMORY):
        return Step({"nodeSelector": {POOL: pool}}, _bounds(CPUS * 1000, MEMORY))
    most = (min(CPUS * 1000, place.milli_cpu - BESIDE_CPU), min(MEMORY, place.memory - BESIDE_MEMORY))
    return Step(on_pool(place.cluster, place.pool), _bounds(*most))


def _bounds(milli_cpu: int, memory: int) -> dict[str, str]:
    return {"cpu": str(Quantity(milli_cpu)), "memory": str(Quantity.of(memory, binary=True))}


def _shared(place: Place, wanted: Wanted) -> tuple[list[Manifest], list[Manifest]]:
    """Return the volume that all steps mount, one after the other, and where."""
    found, mounts = volumes(place, wanted)
    return [one for one in found if one["name"] != "scratch"], [one for one in mounts if one["name"] != "scratch"]


def run(place: Place, wanted: Wanted) -> Manifest:
    """Return what runs it once; made again, it runs again."""
    return {
        "apiVersion": API,
        "kind": "Workflow",
        "metadata": {"generateName": f"{wanted.name}-", "namespace": place.team.name},
        "spec": {"workflowTemplateRef": {"name": wanted.name}},
    }
