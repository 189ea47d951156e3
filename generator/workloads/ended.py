"""What is left of a job that has ended: for how long, what it holds until then, and how it is run again."""

from collections.abc import Iterator

from generator.model.plural import plural
from generator.model.quantity import Quantity
from generator.workloads.place import Place
from generator.workloads.storage import kept, scratch_bound, scratch_size
from generator.workloads.wanted import Wanted

DAY = 24 * 60 * 60


def kept_seconds(place: Place, *, scratch: bool) -> int:
    """Return how long a job is kept that has ended, with the logs of its pods. A pod keeps its claim for `scratch` for
    as long: who needs that disk, or the quota, may have been let in, and has to get it before Kueue takes its place
    back.
    """
    return place.cluster.scheduling.start_minutes * 60 // 2 if scratch else DAY


def retries(place: Place, most: int) -> int:
    """Return how often each pod may be made again. One that failed keeps its disk until its job is gone, and the next
    one is put on the same node: as often as there is another disk there, and in the team's quota.
    """
    size = scratch_size(place)
    if size is None:
        return most
    disks = min(sum(disk.count for disk in machine.disks_for("scratch")) for machine in place.machines)
    return again(min(most, disks - 1), place.pods * size, scratch_bound(place))


def again(most: int, size: int, bound: Quantity | None) -> int:
    """Return how often pods that claim so many bytes may be made again, each beside what failed before it."""
    return most if bound is None else min(most, max(0, bound.value // size - 1))


def notes(place: Place, wanted: Wanted, kind: str) -> Iterator[str]:
    """Yield what whoever starts a job should know of its end; empty is the kind of what runs step by step."""
    if not kind:
        yield "kubectl create a second time runs it again, and says of all but the Workflow that it is there already"
        return
    if kind == "Job":
        seconds = kept_seconds(place, scratch=scratch_size(place) is not None)
        after = "a day" if seconds == DAY else plural(-(-seconds // 60), "minute")
        yield f"it is deleted {after} after its end, its pods with their logs and scratch as well"
    else:
        yield f"its pods with GPUs go when it ends, with their logs and scratch; the {kind} stays until it is deleted"
    goes_on = ", which goes on from its checkpoints" if kept(place) else ""
    yield (
        f"to run it again{goes_on}: kubectl delete {kind.lower()} {wanted.name} --ignore-not-found, then kubectl apply "
        "with this file"
    )
