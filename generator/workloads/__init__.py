"""Jobs and services for teams: manifests that a cluster lets in, places and connects, for so many GPUs."""

from collections.abc import Callable, Collection, Iterator
from functools import partial

from msgspec import Struct

from generator.components import CATALOGUE, unrun
from generator.components.component import Manifest
from generator.components.definition import Definition
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.workloads import ended
from generator.workloads.indexed import indexed
from generator.workloads.mpi import mpi
from generator.workloads.pipeline import pipeline
from generator.workloads.place import Place, place
from generator.workloads.ray import ray
from generator.workloads.storage import kept
from generator.workloads.triton import notes as triton_notes
from generator.workloads.triton import triton
from generator.workloads.wanted import Wanted, checked


class Kind(Struct, frozen=True):
    """A framework: what writes its job, and the kind of object that an operator has to know for it, if one does. A
    server runs until somebody stops it: `serves` tells what its user should know. What is `stepwise` starts its pods
    one by one, each through the queue.
    """

    make: Callable[[Place, Wanted], list[Manifest]]
    operated: str = ""
    serves: Callable[[Place, Wanted], Iterator[str]] | None = None
    stepwise: bool = False


KINDS: dict[str, Kind] = {
    "pytorch": Kind(partial(indexed, framework="pytorch")),
    "tensorflow": Kind(partial(indexed, framework="tensorflow")),
    "jax": Kind(partial(indexed, framework="jax")),
    "ray": Kind(ray, operated="RayJob"),
    "mpi": Kind(mpi, operated="MPIJob"),
    "pipeline": Kind(pipeline, stepwise=True),
    "triton": Kind(triton, serves=triton_notes),
}


class Workload(Struct, frozen=True):
    """A job's manifests in the order in which they are made, and what whoever starts it should know."""

    place: Place
    manifests: list[Manifest]
    notes: tuple[str, ...]


def workload(
    cluster: Cluster, kind: str, wanted: Wanted, catalogue: Collection[Definition] = tuple(CATALOGUE.values())
) -> Workload:
    """Write a job of one of `KINDS`. Raises UsageError where the cluster could never run it."""
    one = KINDS[kind]
    if wanted.serving and not one.serves:
        raise UsageError(f"{kind} is a job: leave --models, --replicas, --scale-on and --credentials out")
    if one.operated:
        _operator(cluster, one.operated, catalogue)
    found = place(cluster, checked(wanted))
    if one.operated and found.priority is None:
        raise UsageError(f"team {wanted.team} may use no priority class, and one has to be named on a {one.operated}")
    notes = (*_borrowed(found, wanted), *(one.serves(found, wanted) if one.serves else _of_jobs(found, wanted, one)))
    return Workload(found, one.make(found, wanted), notes)


def _operator(cluster: Cluster, kind: str, catalogue: Collection[Definition]) -> None:
    """Refuse what nobody on the cluster would run."""
    if why := unrun(cluster, kind, catalogue):
        raise UsageError(f"{why}; pytorch, tensorflow and jax need no operator")


def _borrowed(found: Place, wanted: Wanted) -> Iterator[str]:
    if found.borrowed and wanted.serving:
        yield (
            f"{found.borrowed} of {found.device} at the most are borrowed: as many replicas go when their owner wants "
            "them, and wait until there is room again"
        )
    elif found.borrowed:
        yield (
            f"{found.borrowed} of {found.device} are borrowed: the job stops when their owner wants them, and goes on "
            "from its last checkpoint"
        )


def _of_jobs(found: Place, wanted: Wanted, one: Kind) -> Iterator[str]:
    yield from _unkept(found)
    yield from ended.notes(found, wanted, "" if one.stepwise else one.operated or "Job")


def _unkept(found: Place) -> Iterator[str]:
    if kept(found) is None:
        yield (
            f"{found.cluster.name} has no storage for checkpoints that outlives pods and that all of them reach: they "
            "go to /scratch and end with their pod; copy them away, or have storage.nfs or storage.ceph in its cluster "
            "file"
        )
