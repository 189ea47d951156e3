"""The play itself: what stands, jobs in its queues, then the change."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic

from msgspec import Struct

from generator.build.kinds import Kinds
from generator.live.api import Request
from generator.live.apiserver import tidied
from generator.rehearsal.argocd.programs import PROGRAMS as ARGO_CD
from generator.rehearsal.events import Played, disagreements, happened
from generator.rehearsal.foretold import Foretold
from generator.rehearsal.jobs import fill, settle
from generator.rehearsal.laid_out import LaidOut, lay_out
from generator.rehearsal.operators import STATED
from generator.rehearsal.outcome import Fate, Outcome, Synced
from generator.rehearsal.probing import probe
from generator.rehearsal.promises import Promise, Trial, promises
from generator.rehearsal.rehearsal import Rehearsal
from generator.rehearsal.standing import Standing, standing
from generator.rehearsal.twin.nodes import nodes
from generator.rehearsal.twin.twin import require
from generator.rehearsal.watching import look
from generator.review.report import ClusterReport
from generator.review.sides import Sides

PHASES = {
    "build": "building both sides",
    "before": "bringing a twin to what stands",
    "jobs": "filling the queues",
    "change": "bringing the change",
    "probes": "trying budgets, queues and what was applied",
    "promises": "trying the promises of the queues",
    "confirmation": "confirming what waits for a person",
    "tree": "building the working tree",
    "runs": "bringing the twin to what runs",
    "operation": "running the steps of the operation",
}
"""What is done, by the name of its seconds."""


class Clock:
    """Seconds of the phases, each of which is told when it begins."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.seconds: dict[str, float] = {}
        self._tell = tell

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Take the time of a block."""
        begun = monotonic()
        self._tell(PHASES[name])
        yield
        self.seconds[name] = round(monotonic() - begun, 1)


class Wish(Struct, frozen=True, kw_only=True):
    """What is wanted of a rehearsal: for how many seconds it is watched at the most, and whether the promises of the
    queues are tried at its end, whether Argo CD itself syncs. `tell` hears what is being done.
    """

    watch: float
    promised: bool
    argocd: bool = False
    tell: Callable[[str], None]


def rehearse(sides: Sides, told: ClusterReport | None, name: str, wish: Wish) -> Rehearsal:
    """Play the change of one cluster on a twin. `told` is what `gen diff` says of it. Raises UsageError."""
    require(ARGO_CD if wish.argocd else ())
    clock = Clock(wish.tell)
    # Sockets lie in the folder: their paths may have 107 bytes.
    with tidied(), tempfile.TemporaryDirectory(prefix="gen-twin-") as folder, ExitStack() as stack:
        with clock.phase("build"):
            old, new = (
                lay_out(side, name, Path(folder, at), argocd=wish.argocd)
                for side, at in ((sides.old, "a"), (sides.new, "b"))
            )
        work = Path(folder) / "t"
        work.mkdir(mode=0o700)
        with clock.phase("before"):
            base = stack.enter_context(standing(old, work))
        return _Play(base, old, new, clock).play(sides, told, wish)


class _Play:
    def __init__(self, base: Standing, old: LaidOut, new: LaidOut, clock: Clock) -> None:
        self.base, self.old, self.new, self.clock = base, old, new, clock
        self.twin, self.standin, self.syncing = base.twin, base.standin, base.syncing
        self.standin.teams |= {team.name for team in new.cluster.teams}

    def play(self, sides: Sides, told: ClusterReport | None, wish: Wish) -> Rehearsal:
        played = self._played(wish)
        kept: tuple[Promise, ...] = ()
        if wish.promised:
            with self.clock.phase("promises"):
                kept = tuple(promises(Trial(self.twin.cluster, self.standin.round)))
        confirmed: Mapping[str, str] = {}
        if wish.argocd:
            with self.clock.phase("confirmation"):
                confirmed = self.syncing.confirmed(self.new.built)
        foretold = Foretold(told)
        return Rehearsal(
            cluster=self.new.cluster.name,
            old=sides.old.label,
            new=sides.new.label,
            nodes=len(self.old.cluster.machines),
            jobs=len(played.before.jobs),
            kept=self.base.kept,
            argocd=wish.argocd,
            objects=(_applied(played.first), _applied(played.changed)),
            before=played.first.waves,
            waves=played.changed.waves,
            happened=happened(played, foretold, confirmed),
            disagreements=disagreements(played, foretold),
            promises=kept,
            not_proven=tuple(self._not_proven(played)),
            seconds=self.clock.seconds,
        )

    def _played(self, wish: Wish) -> Played:
        with self.clock.phase("jobs"):
            load = fill(self.twin.cluster, self.standin)
        before = look(self.twin.cluster)
        with self.clock.phase("change"):
            self._nodes()
            changed = self.syncing.sync(self.new.built)
            settle(self.twin.cluster, self.standin, quiet=min(5.0, wish.watch), patience=wish.watch)
        after = look(self.twin.cluster)
        with self.clock.phase("probes"):
            closed = probe(self.twin.cluster, self.standin, load.shares)
            again = self.syncing.differing(self.new.built, changed)
        return Played(
            first=self.base.first, changed=changed, load=load, before=before, after=after, closed=closed, again=again
        )

    def _nodes(self) -> None:
        """Let nodes join and leave: those who stay are changed by hand, and not by a merge."""
        had = {one.name for one in self.old.cluster.machines}
        wanted = {one["metadata"]["name"]: one for one in nodes(self.new.cluster, self.new.bootstrap)}
        for name in wanted.keys() - had:
            self.twin.cluster.create("/api/v1/nodes", wanted[name])
        for name in had - wanted.keys():
            self.twin.cluster.api.ask(Request(path=f"/api/v1/nodes/{name}", method="DELETE"))

    def _not_proven(self, played: Played) -> Iterator[str]:
        first = played.first
        yield self.syncing.unproven
        yield "pods: KWOK says of each that it runs; nothing of any image was started"
        yield from dict.fromkeys((*self.old.notes, *self.new.notes))
        if unseen := sorted({*self.old.built.unvendored, *self.new.built.unvendored}):
            yield f"not vendored, so not played: what {', '.join(unseen)} bring"
        left = Counter(
            (one.why, one.kind.lstrip("/"))
            for one in dict.fromkeys((*first.outcomes, *played.changed.outcomes))
            if one.fate == Fate.NOT_PLAYED
        )
        for why in dict.fromkeys(each for each, _ in left):
            yield f"left out, {why}: {', '.join(sorted(kind for each, kind in left if each == why))}"
        yield from (f"played: {one}" for one in sorted(self.standin.played))
        kinds = Kinds.of(self.new.built)
        groups = {one.kind for one in first.outcomes if one.fate == Fate.APPLIED}
        operated = sorted(one for one in groups if _nobodys(kinds, one))
        if operated:
            yield f"taken for ready, as nobody here acts on them: {', '.join(operated)}"
        yield from (
            f"what stands is refused already: {_told(one)}" for one in first.outcomes if one.fate == Fate.REFUSED
        )
        yield from (f"what stands hangs already: {one}" for wave in first.waves for one in wave.hung)
        yield from (f"a job was not taken: {one}" for one in played.load.refused)


def _told(one: Outcome) -> str:
    return f"{one.shown} ({one.application}, wave {one.wave}): {one.why}"


def _applied(synced: Synced) -> int:
    return sum(one.fate in {Fate.APPLIED, Fate.LATE, Fate.REPLACED} for one in synced.outcomes)


def _nobodys(kinds: Kinds, one: str) -> bool:
    """Tell whether nobody here acts on a kind, and no component states what its operator would say of it."""
    return not kinds.ours(one.partition("/")[0]) and not one.startswith(_RUN) and one not in STATED


_RUN = ("kueue.x-k8s.io/", "scheduling.volcano.sh/", "batch.volcano.sh/")
"""Groups whose programs run."""
