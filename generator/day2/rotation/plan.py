"""What a rotation would do, told before anything is done, and what is in its way."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from msgspec import Struct

from generator.components.component import Secret, Turn
from generator.day2.rotation.family import Family
from generator.day2.rotation.made_again import jobless
from generator.day2.rotation.new_values import replaced
from generator.day2.rotation.readers import readers
from generator.day2.rotation.rotating import Rotating, done_steps, existing, origin
from generator.day2.rotation.syncs import obstacle
from generator.day2.rotation.workloads import untaken
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
    secret = work.family.origin
    there = origin(work.running, work.family)
    names = [step.name for step in work.steps()]
    done = done_steps(there, work.family, names)
    return Plan(
        name=secret.full_name,
        days=age(set_at(secret, there)) if there else None,
        loss=secret.loss,
        still=_still(work.family),
        steps=tuple(
            Planned(step=name, done=number < done, what=_WORDS[name](work)) for number, name in enumerate(names)
        ),
        waiting=tuple(_waiting(work.running, cluster, work.family, begun=done > 0)),
    )


def _still(of: Family) -> str:
    """Return what does not go on meanwhile. Who reads a user's keys is known of copies alone."""
    if of.turn.way == "delete" and not of.turn.still:
        return "the start of pods that mount it, or the host whose certificate it is,"
    unseen, both = of.stolen or not of.copies, of.turn.former and not of.turn.handed
    return "what still has the former value" if both and unseen else of.turn.still


def age(since: datetime | None) -> int | None:
    """Return how many whole days ago that was."""
    return (datetime.now(UTC) - since).days if since else None


def _waiting(running: RunningCluster, cluster: Cluster, family: Family, *, begun: bool) -> Iterator[str]:
    """Say what a person must settle before it begins. What was begun goes on: it finds out by itself."""
    held = values_of(origin(running, family))
    lacking = [key for key in family.origin.keys if not held.get(key)]
    if lacking and family.turn.way == "replace":
        yield f"{family.origin.full_name} lacks {', '.join(lacking)}: `gen bootstrap` tells how to add that"
    teams = {team.name for team in cluster.teams}
    for one in family.copies:
        theirs = values_of(existing(running, one))
        if not begun and one.namespace not in teams and any(theirs.get(key) != held.get(key) for key in one.keys):
            yield f"{one.full_name} does not hold what {family.origin.full_name} holds: `gen bootstrap` tells more"
    if why := jobless(running, family.origin, family.turn):
        yield why
    taken = family.turn.taken
    if taken and (why := untaken(running, family.origin.namespace, *taken)):
        yield why
    for name in dict.fromkeys(name for name, _ in (*family.turn.syncs, *family.syncs_of_copies, *family.turn.proof)):
        if why := obstacle(running, name):
            yield why


def _values(work: Rotating) -> str:
    origin, turn, former = work.family.origin, work.family.turn, work.family.former
    if turn.way != "replace":
        return _made_again(origin, turn)
    what = "the value that is given" if origin.source == "given" else "a random value"
    changed = ", ".join((*replaced(origin), *origin.computed))
    counts = "until the new one is taken" if turn.handed else "and counts as well"
    kept = f"; the former stays in {', '.join(former.values())} {counts}" if former else ""
    return f"{changed} of {origin.full_name}: {what}{kept}"


def _made_again(secret: Secret, turn: Turn) -> str:
    if turn.way == "user":
        return (
            f"{_object(turn.user)} is given other keys, and keeps its buckets; Rook writes them into {secret.full_name}"
        )
    if turn.way == "empty":
        return f"{secret.full_name} is emptied, and {secret.by} fills it"
    if turn.deletes:
        return f"{_object(turn.deletes)}, which it is made for, is deleted; with the next one comes another"
    by = f" by a Job of CronJob {turn.job}" if turn.job else ""
    return f"{secret.full_name} is deleted, and {secret.by} makes it again{by}"


def _object(path: str) -> str:
    kind, _, name = path.rpartition("/")
    return f"{name} ({kind.rpartition('/')[2]})"


def _jobs(syncs: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"Application {name} by its Job {job}" for name, job in syncs)


def _copies(work: Rotating) -> str:
    copies = work.family.copies
    return f"written: {', '.join(_read_by(work.running, one) for one in copies)}" if copies else "there are none"


def _read_by(running: RunningCluster, secret: Secret) -> str:
    count = len(readers(running, secret))
    return f"{secret.full_name}, which {plural(count, 'pod')} {'reads' if count == 1 else 'read'}"


def _restart(work: Rotating) -> str:
    turns = [(one.namespace, one.turn) for one in work.family.all if one.turn]
    few = [f"{each} in {space}" for space, turn in turns for each in turn.restarts]
    all_at_once = [f"{each} in {space}" for space, turn in turns for each in turn.together]
    parts = (("restarted, all pods at once", all_at_once), ("restarted, few pods at a time", few))
    return "; ".join(f"{how}: {', '.join(names)}" for how, names in parts if names)


def _former(work: Rotating) -> str:
    return f"{', '.join(work.family.former.values())} leaves {work.family.origin.full_name}"


_WORDS: dict[str, Callable[[Rotating], str]] = {
    "values": _values,
    "signed": lambda work: f"made again, as it signs them: {', '.join(work.family.turn.signs)}",
    "both": lambda work: f"synced, so that both values count: {_jobs(work.family.turn.syncs)}",
    "copies": _copies,
    "sync": lambda work: f"synced, so that the new value counts: {_jobs(work.family.turn.syncs)}",
    "follow": lambda work: f"synced: {_jobs(work.family.syncs_of_copies)}",
    "restart": _restart,
    "readers": lambda _work: "waited for: every pod that may have read the former value is gone",
    "ready": lambda _work: "waited for: every pod that is started anew is ready",
    "trusted": lambda work: f"waited for: the new certificate is trusted by {', '.join(work.family.turn.trusted)}",
    "former": _former,
    "proof": lambda work: f"synced, which proves that the new value counts: {_jobs(work.family.turn.proof)}",
    "end": lambda work: f"synced, so that the former value counts no more: {_jobs(work.family.turn.syncs)}",
}
