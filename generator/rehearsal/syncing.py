"""A whole sync of a cluster: wave by wave, as the root Application would, and pruned at the end."""

from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from time import monotonic, sleep

from generator.build.objects import ROOT, Built, Object
from generator.live.api import Request
from generator.live.dry_run.dry_run import in_order, within
from generator.rehearsal.applying import Applier
from generator.rehearsal.health import unready
from generator.rehearsal.operators import Operators
from generator.rehearsal.outcome import Fate, Outcome, Synced, Wave
from generator.rehearsal.perpetual import differing
from generator.rehearsal.standin import StandIn
from generator.rehearsal.twin.twin import REAL, Twin

PATIENCE = 30.0
"""Seconds that a wave may take to get ready; in a cluster pods start slower, and nothing is given up."""
Identity = tuple[str, str, str, str]


def leaving(stored: Mapping[Identity, Object], wanted: Collection[Identity]) -> list[Object]:
    """Return what left Git, the last that came first. Of an Application that leaves only itself is meant: what it holds
    goes once a person has confirmed that.
    """
    gone = [one for identity, one in stored.items() if identity not in wanted]
    whole = {one.name for one in gone if one.kind == "Application" and one.component == ROOT}
    return [one for one in reversed(gone) if one.component not in whole]


def stands(stored: Mapping[Identity, Object], one: Object) -> bool:
    """Tell whether an object was stored as it is."""
    known = stored.get(one.identity) if one.identity else None
    return known is not None and known.manifest == one.manifest


DONE = {Fate.APPLIED, Fate.LATE, Fate.REPLACED, Fate.NOT_PLAYED}
"""After these there is nothing left to do with an object as it stands in Git."""


class Syncing:
    """Brings a twin to what is built of one side."""

    unproven = "Argo CD itself: objects were applied in the order of its waves, as its field manager, and pruned"

    def __init__(self, twin: Twin, standin: StandIn) -> None:
        self.twin, self.standin = twin, standin
        self.stored: dict[Identity, Object] = {}

    def sync(self, built: Built) -> Synced:
        """Apply what is not there or differs, wave by wave, then remove what is no longer named. Raises UsageError."""
        applier = Applier(self.twin, built)
        operators = Operators(applier, built)
        wanted = {one.identity: one for one in built.objects if one.identity}
        todo = [one for one in in_order(built) if not stands(self.stored, one)]
        outcomes: dict[int, Outcome] = {}
        waves = []
        for number, each in groupby(todo, lambda one: applier.waves.get(one.component, 0)):
            waves.append(self._wave(operators, number, [*each], outcomes))
        late = [one for one in todo if outcomes[id(one)].fate == Fate.REFUSED]
        for one, again in zip(late, applier.apply(late, 0.0), strict=True):
            if again.fate == Fate.APPLIED:
                outcomes[id(one)] = applier.outcome(Fate.LATE, one, outcomes[id(one)].why)
        pruned = [applier.remove(one) for one in leaving(self.stored, wanted)]
        self._remember(todo, outcomes, pruned)
        self.settle(1.0)
        return Synced((*outcomes.values(), *pruned), tuple(waves))

    def resume(self, built: Built, synced: Synced) -> None:
        """Take up a twin that was brought to what is built, with these outcomes; wait until it serves all that again.
        Raises UsageError.
        """
        fates = {(one.kind, one.namespace, one.name): one.fate for one in synced.outcomes}
        told = [(one, fates.get((f"{one.group}/{one.kind}", one.namespace, one.name))) for one in in_order(built)]
        self.stored = {one.identity: one for one, fate in told if one.identity and fate in DONE}
        applier = Applier(self.twin, built)
        there = [one for one, fate in told if fate in DONE and fate != Fate.NOT_PLAYED]
        self.twin.plane.wait("all kinds are served", lambda: all(map(applier.path, there)))
        self.twin.start_all()
        self.settle(1.0)

    def differing(self, built: Built, synced: Synced) -> dict[str, str]:
        """Return what another apply would change again, with the fields. Raises UsageError."""
        return differing(Applier(self.twin, built), built, synced)

    def confirmed(self, _built: Built) -> dict[str, str]:
        """Confirm nothing: what waits for a person was told, and nobody waits."""
        return {}

    def _wave(self, operators: Operators, number: int, objects: list[Object], outcomes: dict[int, Outcome]) -> Wave:
        applier, begun = operators.applier, monotonic()
        for _, each in groupby(objects, within):
            some = [*each]
            outcomes |= {id(one): outcome for one, outcome in zip(some, applier.apply(some), strict=True)}
            if some[0].kind == "CustomResourceDefinition":
                self._wait(applier, some, 60.0)
        applications = tuple(dict.fromkeys(one.component for one in objects))
        for component in REAL.keys() & {*applications}:
            self.twin.start(component)
        applied = [one for one in objects if outcomes[id(one)].fate in {Fate.APPLIED, Fate.REPLACED}]
        self.standin.played.update(operators.act(applied))
        hung = self._wait(applier, applied, PATIENCE)
        return Wave(number=number, applications=applications, seconds=monotonic() - begun, hung=hung)

    def _wait(self, applier: Applier, objects: Iterable[Object], patience: float) -> tuple[str, ...]:
        """Wait until objects are ready; name those that are not when patience, in seconds, ends."""
        waiting, why, end = [*objects], dict[int, str](), monotonic() + patience
        while waiting:
            self.standin.round()
            requests = [Request(path=str(applier.path(one))) for one in waiting]
            answers = self.twin.cluster.api.ask_all(requests)
            why = {id(one): unready(one, answer.body) for one, answer in zip(waiting, answers, strict=True)}
            waiting = [one for one in waiting if why[id(one)]]
            if monotonic() > end:
                break
            sleep(0.2 if waiting else 0)
        return tuple(f"{one.full_name}: {why[id(one)]}" for one in waiting)

    def settle(self, seconds: float) -> None:
        """Let controllers act for some seconds."""
        end = monotonic() + seconds
        while monotonic() < end:
            self.standin.round()
            sleep(0.3)

    def _remember(self, todo: Iterable[Object], outcomes: dict[int, Outcome], pruned: Collection[Outcome]) -> None:
        self.stored |= {one.identity: one for one in todo if one.identity and outcomes[id(one)].fate in DONE}
        for one in pruned:
            if one.fate in {Fate.DELETED, Fate.NOT_PLAYED}:
                group, kind = one.kind.split("/")
                del self.stored[group, kind, one.namespace, one.name]
