"""The play itself: what stands, jobs in its queues, then the change."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from generator.errors import UsageError
from generator.live.api import Request
from generator.live.rehearsal.applying import Applier
from generator.live.rehearsal.foretold import Foretold
from generator.live.rehearsal.jobs import Load, fill, settle
from generator.live.rehearsal.laid_out import LaidOut, lay_out
from generator.live.rehearsal.outcome import Fate, Outcome, Synced
from generator.live.rehearsal.perpetual import differing
from generator.live.rehearsal.probing import probe
from generator.live.rehearsal.promises import Trial, promises
from generator.live.rehearsal.rehearsal import Event, Happened, Rehearsal
from generator.live.rehearsal.standin import StandIn
from generator.live.rehearsal.syncing import Syncing
from generator.live.rehearsal.watching import Moment, look, replaced, stopped
from generator.live.twin.nodes import nodes
from generator.live.twin.twin import Twin, twin
from generator.review.report import ClusterReport
from generator.review.sides import Sides


class Clock:
    """Seconds of the phases."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Take the time of a block."""
        begun = monotonic()
        yield
        self.seconds[name] = round(monotonic() - begun, 1)


def rehearse(sides: Sides, told: ClusterReport | None, name: str, watch: float, *, promised: bool) -> Rehearsal:
    """Play the change of one cluster on a twin; after the change it is watched for some seconds. `told` is what `gen
    diff` says of it. With `promised` the promises of the queues are tried at the end. Raises UsageError.
    """
    clock = Clock()
    # Sockets lie in the folder: their paths may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="gen-twin-") as folder:
        with clock.phase("build"):
            old, new = (lay_out(side, name, Path(folder, at)) for side, at in ((sides.old, "a"), (sides.new, "b")))
        work = Path(folder) / "t"
        work.mkdir()
        with twin(work, nodes(old.cluster, old.bootstrap)) as made:
            return _Play(made, old, new, clock).play(sides, told, watch, promised=promised)


class _Play:
    def __init__(self, made: Twin, old: LaidOut, new: LaidOut, clock: Clock) -> None:
        self.twin, self.old, self.new, self.clock = made, old, new, clock
        teams = frozenset(team.name for one in (old, new) for team in one.cluster.teams)
        self.standin = StandIn(made.cluster, teams)
        self.syncing = Syncing(made, self.standin)

    def play(self, sides: Sides, told: ClusterReport | None, watch: float, *, promised: bool) -> Rehearsal:
        with self.clock.phase("before"):
            first = self.syncing.sync(self.old.built)
            self._nodes_ready()
        self._whole()
        with self.clock.phase("jobs"):
            load = fill(self.twin.cluster, self.standin)
        before = look(self.twin.cluster)
        with self.clock.phase("change"):
            self._nodes()
            changed = self.syncing.sync(self.new.built)
            settle(self.twin.cluster, self.standin, quiet=min(5.0, watch), patience=watch)
        after = look(self.twin.cluster)
        with self.clock.phase("probes"):
            closed = probe(self.twin.cluster, self.standin, load.shares)
            again = differing(Applier(self.twin, self.new.built), self.new.built, changed)
        with self.clock.phase("promises"):
            kept = tuple(promises(Trial(self.twin.cluster, self.standin.round))) if promised else ()
        foretold = Foretold(told)
        moved, ended = replaced(before, after), stopped(before, after)
        happened = [
            *_of_objects(first, changed, foretold),
            *(
                Happened(event=Event.STOPPED, what=job, why=why, foretold=foretold.of_jobs())
                for job, why in ended.items()
            ),
            *_of_states(before, after, closed, foretold),
            *_of_waves(first, changed),
            *(
                Happened(event=Event.REPLACED, what=owner, why=f"{gone} of {had}", foretold=foretold.of_owner(owner))
                for owner, (gone, had) in moved.items()
            ),
            *(Happened(event=Event.DIFFERS, what=what, why=why) for what, why in again.items()),
        ]
        order = [*Event]
        return Rehearsal(
            cluster=self.new.cluster.name,
            old=sides.old.label,
            new=sides.new.label,
            nodes=len(self.old.cluster.machines),
            jobs=len(before.jobs),
            objects=(_applied(first), _applied(changed)),
            before=first.waves,
            waves=changed.waves,
            happened=tuple(sorted(happened, key=lambda one: order.index(one.event))),
            disagreements=tuple(foretold.disagreements(changed, moved, before.owners, stopped=bool(ended))),
            promises=kept,
            not_proven=tuple(self._not_proven(first, changed, load)),
            seconds=self.clock.seconds,
        )

    def _whole(self) -> None:
        """Refuse to go on without the queues: all that follows is about them."""
        for component in ("kueue", "volcano"):
            if component in {one.component for one in self.old.built.objects} and component not in self.twin.started:
                raise UsageError(
                    f"{component} did not start: not all of it is in what stands; `gen vendor {component}` brings it, "
                    "or `make real-tools` the chart beside the program"
                )

    def _nodes_ready(self) -> None:
        def ready() -> bool:
            return all(
                any(
                    each["type"] == "Ready" and each["status"] == "True" for each in one["status"].get("conditions", [])
                )
                and not any(each["key"].startswith("node.kubernetes.io/") for each in one["spec"].get("taints", []))
                for one in self.twin.cluster.items("/api/v1/nodes")
            )

        self.twin.plane.wait("nodes are ready", ready)

    def _nodes(self) -> None:
        """Let nodes join and leave: those who stay are changed by hand, and not by a merge."""
        had = {one.name for one in self.old.cluster.machines}
        wanted = {one["metadata"]["name"]: one for one in nodes(self.new.cluster, self.new.bootstrap)}
        for name in wanted.keys() - had:
            self.twin.cluster.create("/api/v1/nodes", wanted[name])
        for name in had - wanted.keys():
            self.twin.cluster.api.ask(Request(path=f"/api/v1/nodes/{name}", method="DELETE"))

    def _not_proven(self, first: Synced, changed: Synced, load: Load) -> Iterator[str]:
        yield "Argo CD itself: objects were applied in the order of its waves, as its field manager, and pruned"
        yield "pods: KWOK says of each that it runs; nothing of any image was started"
        yield from dict.fromkeys((*self.old.notes, *self.new.notes))
        if unseen := sorted({*self.old.built.unvendored, *self.new.built.unvendored}):
            yield f"not vendored, so not played: what {', '.join(unseen)} bring"
        left = Counter(
            (one.why, one.kind.lstrip("/"))
            for one in dict.fromkeys((*first.outcomes, *changed.outcomes))
            if one.fate == Fate.NOT_PLAYED
        )
        for why in dict.fromkeys(each for each, _ in left):
            yield f"left out, {why}: {', '.join(sorted(kind for each, kind in left if each == why))}"
        yield from (f"played: {one}" for one in sorted(self.standin.played))
        yield from (
            f"what stands is refused already: {_told(one)}" for one in first.outcomes if one.fate == Fate.REFUSED
        )
        yield from (f"what stands hangs already: {one}" for wave in first.waves for one in wave.hung)
        yield from (f"a job was not taken: {one}" for one in load.refused)


def _told(one: Outcome) -> str:
    return f"{one.shown} ({one.application}, wave {one.wave}): {one.why}"


def _applied(synced: Synced) -> int:
    return sum(one.fate in {Fate.APPLIED, Fate.LATE, Fate.REPLACED} for one in synced.outcomes)


_EVENTS = {
    Fate.REFUSED: Event.REFUSED,
    Fate.LATE: Event.LATE,
    Fate.DELETED: Event.DELETED,
    Fate.REPLACED: Event.DELETED,
    Fate.WAITS: Event.WAITS,
}


def _of_objects(first: Synced, changed: Synced, foretold: Foretold) -> Iterator[Happened]:
    """Yield what became of objects, without what is so before the change already."""
    known = {(one.kind, one.namespace, one.name) for one in first.outcomes if one.fate == Fate.REFUSED}
    for one in changed.outcomes:
        key = (one.kind, one.namespace, one.name)
        if one.fate in _EVENTS and not (one.fate == Fate.REFUSED and key in known):
            what = f"{one.shown} ({one.application}, wave {one.wave})"
            yield Happened(event=_EVENTS[one.fate], what=what, why=one.why, foretold=foretold.of(*key))


def _of_states(before: Moment, after: Moment, closed: dict[str, str], foretold: Foretold) -> Iterator[Happened]:
    for what, why in {**after.closed, **closed}.items():
        if what not in before.closed:
            kind, _, name = what.partition(" ")
            said = foretold.of(f"kueue.x-k8s.io/{kind}", "", name)
            yield Happened(event=Event.CLOSED, what=what, why=why, foretold=said)
    for what, why in after.blocked.items():
        if what not in before.blocked:
            namespace, _, name = what.partition(" ")[2].partition("/")
            said = foretold.of("policy/PodDisruptionBudget", namespace, name)
            yield Happened(event=Event.BLOCKED, what=what, why=why, foretold=said)


def _of_waves(first: Synced, changed: Synced) -> Iterator[Happened]:
    known = {one.partition(":")[0] for wave in first.waves for one in wave.hung}
    for wave in changed.waves:
        for one in wave.hung:
            what, _, why = one.partition(": ")
            if what not in known:
                yield Happened(event=Event.HUNG, what=f"{what} (wave {wave.number})", why=why)
