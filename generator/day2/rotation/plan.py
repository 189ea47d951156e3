"""What a rotation would do, told before anything is done, and what is in its way."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from msgspec import Struct

from generator.components.component import Secret
from generator.day2.rotation.family import Family
from generator.day2.rotation.readers import readers
from generator.day2.rotation.rotating import Rotating, done_steps, existing
from generator.day2.rotation.syncs import obstacle
from generator.live.running import RunningCluster
from generator.live.secret_objects import values_of
from generator.live.secret_state import set_at
from generator.model.cluster import Cluster
from generator.model.plural import plural


class Planned(Struct, frozen=True, kw_only=True):
    """A step as it is told: whether it was done already, and what it does."""

    step: str
    done: bool
    what: str


class Plan(Struct, frozen=True, kw_only=True):
    """What is rotated, since how many days it has its values, its steps, and why it cannot begin (empty: it can)."""

    name: str
    days: int | None
    loss: str
    still: str
    steps: tuple[Planned, ...]
    waiting: tuple[str, ...]


def plan(work: Rotating, cluster: Cluster) -> Plan:
    """Look how a rotation stands; nothing is changed. Raises UsageError where a Secret is not there."""
    origin = work.family.origin
    there = existing(work.running, origin)
    names = [step.name for step in work.steps()]
    done = done_steps(there, work.family, names)
    return Plan(
        name=origin.full_name,
        days=age(set_at(origin, there)),
        loss=origin.loss,
        still=_still(work.family),
        steps=tuple(
            Planned(step=name, done=number < done, what=_WORDS[name](work)) for number, name in enumerate(names)
        ),
        waiting=tuple(_waiting(work.running, cluster, work.family, begun=done > 0)),
    )


def _still(of: Family) -> str:
    """Return what does not go on meanwhile. Who reads a user's keys is known of copies alone."""
    if of.turn.way == "delete":
        return "the start of pods that mount it, or the host whose certificate it is,"
    unseen = of.stolen or not of.copies
    return "what still has the former value" if of.turn.former and unseen else of.turn.still


def age(since: datetime | None) -> int | None:
    """Return how many whole days ago that was."""
    return (datetime.now(UTC) - since).days if since else None


def _waiting(running: RunningCluster, cluster: Cluster, family: Family, *, begun: bool) -> Iterator[str]:
    """Say what a person must settle before it begins. What was begun goes on: it finds out by itself."""
    held = values_of(existing(running, family.origin))
    if lacking := [key for key in family.origin.keys if not held.get(key)]:
        yield f"{family.origin.full_name} lacks {', '.join(lacking)}: `gen bootstrap` tells how to add that"
    teams = {team.name for team in cluster.teams}
    for one in family.copies:
        theirs = values_of(existing(running, one))
        if not begun and one.namespace not in teams and any(theirs.get(key) != held.get(key) for key in one.keys):
            yield f"{one.full_name} does not hold what {family.origin.full_name} holds: `gen bootstrap` tells more"
    for name in dict.fromkeys(name for name, _ in (*family.turn.syncs, *family.syncs_of_copies)):
        if why := obstacle(running, name):
            yield why


def _values(work: Rotating) -> str:
    origin, turn, former = work.family.origin, work.family.turn, work.family.former
    if turn.way == "delete":
        return f"{origin.full_name} is deleted, and {origin.by} makes it again"
    what = "a random value" if origin.source == "generated" else "the value that is given"
    changed = ", ".join(key for key in origin.keys if key not in origin.known)
    kept = f"; the former stays in {', '.join(former.values())} and counts as well" if former else ""
    return f"{changed} of {origin.full_name}: {what}{kept}"


def _jobs(syncs: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"Application {name} by its Job {job}" for name, job in syncs)


def _copies(work: Rotating) -> str:
    copies = work.family.copies
    return f"written: {', '.join(_read_by(work.running, one) for one in copies)}" if copies else "there are none"


def _read_by(running: RunningCluster, secret: Secret) -> str:
    count = len(readers(running, secret))
    return f"{secret.full_name}, which {plural(count, 'pod')} {'reads' if count == 1 else 'read'}"


def _restart(work: Rotating) -> str:
    found = [f"{each} in {one.namespace}" for one in work.family.all if one.turn for each in one.turn.restarts]
    return f"restarted, few pods at a time: {', '.join(found)}"


def _former(work: Rotating) -> str:
    return f"{', '.join(work.family.former.values())} leaves {work.family.origin.full_name}"


_WORDS: dict[str, Callable[[Rotating], str]] = {
    "values": _values,
    "both": lambda work: f"synced, so that both values count: {_jobs(work.family.turn.syncs)}",
    "copies": _copies,
    "sync": lambda work: f"synced, so that the new value counts: {_jobs(work.family.turn.syncs)}",
    "follow": lambda work: f"synced: {_jobs(work.family.syncs_of_copies)}",
    "restart": _restart,
    "readers": lambda _work: "waited for: every pod that may have read the former value is gone",
    "former": _former,
    "end": lambda work: f"synced, so that the former value counts no more: {_jobs(work.family.turn.syncs)}",
}
