"""What became of objects and waves, of what Argo CD was seen to do."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from generator.build.objects import ROOT, Object
from generator.live.applications import Application
from generator.live.sync.going import going
from generator.live.why import WELL, failures, why
from generator.model.plural import plural
from generator.rehearsal.argocd.comparing import sentence, uncompared
from generator.rehearsal.argocd.course import FAILED, Course, Result
from generator.rehearsal.outcome import Fate, Outcome, Wave

UNREACHED = "its sync never came to this"


class Judge:
    """Judges objects by a course that has ended. `waves` are those of the Applications; `refusals` is what the API
    server says of objects that keep Argo CD from comparing, by `id`.
    """

    def __init__(
        self, course: Course, waves: Mapping[str, int], refusals: Mapping[int, str] = MappingProxyType({})
    ) -> None:
        self.course, self.waves, self.refusals = course, waves, refusals

    def applied(self, todo: Iterable[Object]) -> Iterator[Outcome]:
        """Yield what became of objects that are new or changed."""
        missing = {*self.course.missing}
        for one in todo:
            result = self.course.result(one.component, one)
            taken = result is not None or one.component not in missing
            if result and result.status == FAILED:
                yield self.outcome(Fate.REFUSED, one, result.message)
            elif id(one) in self.refusals:
                yield self.outcome(Fate.REFUSED, one, self.refusals[id(one)])
            elif taken and (failed := self._failed(result, one)):
                yield self.outcome(Fate.LATE, one, failed)
            else:
                yield self.outcome(Fate.APPLIED, one) if taken else self.outcome(Fate.UNREACHED, one, UNREACHED)

    def _failed(self, result: Result | None, one: Object) -> str:
        """Say why an object was not taken at first; nothing where it was."""
        failed = self.course.failures.get(result.key, "") if result else ""
        return failed or sentence(self.course.uncompared.get(one.component, ""), one)

    def removed(self, gone: Iterable[tuple[Object, bool]]) -> Iterator[Outcome]:
        """Yield what became of objects that left Git, each with whether it is gone from the cluster."""
        held = [(one.name, each) for one in self.course.waiting for each in going(one)]
        waiting = {(name, each.kind, each.namespace, each.name) for name, each in held}
        for one, absent in gone:
            result = self.course.result(one.component, one)
            if absent:
                yield self.outcome(Fate.DELETED, one)
            elif result and result.status == FAILED:
                yield self.outcome(Fate.REFUSED, one, result.message)
            elif (one.component, one.kind, one.namespace, one.name) in waiting:
                yield self.outcome(Fate.WAITS, one, "Argo CD waits until a person confirms that it may go")
            else:
                yield self.outcome(Fate.KEPT, one, _kept(result))

    def outcome(self, fate: Fate, one: Object, said: str = "") -> Outcome:
        """Say what became of an object."""
        wave = self.waves.get(one.component, 0)
        kind = f"{one.group}/{one.kind}"
        return Outcome(
            fate=fate, application=one.component, wave=wave, kind=kind, namespace=one.namespace, name=one.name, why=said
        )

    def synced(self, applied: Sequence[Outcome]) -> tuple[Wave, ...]:
        """Return the waves of Applications that had a sync, or should have had one."""
        spans, missing = self.course.spans, {*self.course.missing}
        moved = sorted((spans.keys() | missing) - {ROOT}, key=lambda name: (self.waves.get(name, 0), name))
        numbers = sorted({self.waves.get(name, 0) for name in moved})
        waves = [self._wave(n, [one for one in moved if self.waves.get(one, 0) == n], applied) for n in numbers]
        return tuple(waves)

    def _wave(self, number: int, names: list[str], applied: Sequence[Outcome]) -> Wave:
        spans = [self.course.spans[name] for name in names if name in self.course.spans]
        began = min((one.began for one in spans), default=0.0)
        ended = max((one.arrived or one.began for one in spans), default=began)
        hung = [self._hung(name, applied) for name in names if name in self.course.missing]
        return Wave(
            number=number, applications=tuple(names), seconds=round(ended - began, 1), hung=tuple(hung), began=began
        )

    def _hung(self, name: str, applied: Sequence[Outcome]) -> str:
        """Say why an Application did not arrive, in Argo CD's words."""
        one = self.course.found.get(name)
        if one is None:
            return f"Application {name}: root's sync never came to it{self._root()}"
        left = sum(each.fate == Fate.UNREACHED for each in applied if each.application == name)
        beside = f"; {plural(left, 'other object')} of it not applied" if left else ""
        tries = self.course.tries.get(name, 0)
        again = f" (tried again {plural(tries, 'time')})" if tries else ""
        refused = [each.shown for each in applied if each.fate == Fate.REFUSED and each.application == name]
        return f"Application {name}: {_why(one, refused)}{again}{beside}"

    def _root(self) -> str:
        root = self.course.found.get(ROOT)
        return f": {root.said}" if root and root.said else ""


def _why(one: Application, refused: Sequence[str]) -> str:
    """Say why an Application is not where it should be; its objects that are refused are told by themselves."""
    if said := uncompared(one):
        return f"Argo CD cannot compare it, and syncs nothing of it: {', '.join(refused) or said}"
    if failed := [name for name, _ in failures(one)]:
        return f"its sync fails at {', '.join(failed[:3])}"
    unwell = [each for each in one.resources if each.health not in WELL][:3]
    return "; ".join(f"{each.full_name} is {each.health}{_because(each.message)}" for each in unwell) or why(one)


def _because(message: str) -> str:
    return f" ({message})" if message else ""


def _kept(result: Result | None) -> str:
    return result.message if result and result.message else "Argo CD left it"
