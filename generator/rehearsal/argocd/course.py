"""What Argo CD was seen to do between one commit and the moment when nothing of it went on any more."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from generator.build.objects import Object
from generator.components.component import Manifest
from generator.live.applications import Application
from generator.live.sync.operations import WAITS_FOR_A_WORD
from generator.live.why import ENDED_BADLY, WELL
from generator.model.fields import dig, sequence
from generator.rehearsal.argocd.comparing import uncompared

Key = tuple[str, str, str, str, str]
"""Application, group, kind, namespace and name of an object."""
FAILED = "SyncFailed"


class Result(Struct, frozen=True):
    """What Argo CD says of one object of a sync: `status` is Synced, SyncFailed, Pruned or PruneSkipped."""

    key: Key
    status: str
    message: str


class Span(Struct, frozen=True):
    """When a sync was seen to begin and to arrive, in seconds after the commit; None where it did not arrive."""

    began: float
    arrived: float | None


class Course:
    """What was seen on the way of some Applications (`expected`) to a commit, from looks at all of them. Times are
    seconds after the commit. `uncompared` tells of Applications that could not be compared with it, be it for a while,
    what Argo CD said at first.
    """

    def __init__(self, revision: str, expected: Iterable[str]) -> None:
        self.revision, self.expected = revision, frozenset(expected)
        self.found: dict[str, Application] = {}
        self.results: dict[Key, Result] = {}
        self.failures: dict[Key, str] = {}
        self.tries: dict[str, int] = {}
        self.uncompared: dict[str, str] = {}
        self.moved = 0.0
        self._began: dict[str, float] = {}
        self._arrived: dict[str, float] = {}
        self._seen: object = None

    def see(self, found: Sequence[Application], now: float) -> None:
        """Take down what all Applications are at a moment."""
        self.found = {one.name: one for one in found}
        for one in found:
            self._see(one, now)
        done = sum(one.status != FAILED for one in self.results.values())
        left = [one for one in found if one.name not in self._arrived]
        seen = done, [_standing(one) for one in left]
        if seen != self._seen or any(map(_at_work, left)):
            self._seen, self.moved = seen, now

    def _see(self, one: Application, now: float) -> None:
        if self._concerns(one):
            self._began.setdefault(one.name, now)
            self.tries[one.name] = max(self.tries.get(one.name, 0), one.retries)
            for result in results(one):
                self.results[result.key] = result
                if result.status == FAILED:
                    self.failures.setdefault(result.key, result.message)
        if one.revision == self.revision and (said := uncompared(one)):
            self.uncompared.setdefault(one.name, said)
        if one.name not in self._arrived and self._there(one):
            self._arrived[one.name] = now

    def _concerns(self, one: Application) -> bool:
        """Tell whether the operation that an Application shows is one to this commit."""
        return bool(one.phase) and self.revision in {one.brought, one.asked}

    def _there(self, one: Application) -> bool:
        """Tell whether all was applied, and is well. What differs again at once was applied nevertheless."""
        done = one.phase == "Succeeded" and one.brought == self.revision
        same = one.revision == self.revision and one.sync == "Synced" and one.phase in {"", "Succeeded"}
        return (done or same) and one.health in WELL and not one.acting

    @property
    def missing(self) -> list[str]:
        """Those who did not arrive, in the order of their waves; who is not even there yet comes last."""
        left = self.expected - self._arrived.keys()
        return sorted(left, key=lambda name: (self.found[name].wave if name in self.found else 1 << 31, name))

    @property
    def stuck(self) -> list[str]:
        """Those of the missing that Argo CD cannot compare now, and so does not sync."""
        return [name for name in self.missing if name in self.found and uncompared(self.found[name])]

    @property
    def leaving(self) -> list[str]:
        """Who is still there and should not be."""
        return sorted(self.found.keys() - self.expected)

    @property
    def waiting(self) -> list[Application]:
        """Those who wait for a person who confirms what is to go."""
        return [one for one in self.found.values() if asks(one)]

    def result(self, application: str, one: Object) -> Result | None:
        """Return what a sync did to an object; of what is in no namespace Argo CD names none, whatever Git says."""
        keys = ((application, one.group, one.kind, space, one.name) for space in (one.namespace, ""))
        return next((self.results[key] for key in keys if key in self.results), None)

    def over(self, now: float, patience: float, most: float) -> bool:
        """Tell whether nothing more is to come: all arrived, or wait for a person, or nothing changed for `patience`
        seconds, or it has lasted for `most`.
        """
        asked = {one.name for one in self.waiting}
        stays = not self.leaving or bool(asked)
        return (stays and asked >= {*self.missing}) or now - self.moved > patience or now > most

    @property
    def spans(self) -> dict[str, Span]:
        """When the sync of each Application that had one began and arrived."""
        return {name: Span(began, self._arrived.get(name)) for name, began in self._began.items()}


def asks(one: Application) -> bool:
    """Tell whether the sync of an Application waits for a person who confirms what is to go."""
    return one.acting and one.said.startswith(WAITS_FOR_A_WORD)


def results(one: Application) -> Iterator[Result]:
    """Yield what the last operation of an Application did to its objects. A hook counts by how it ended; of what is
    none that phase tells its health (gitops-engine: sync_context.go), and it was applied all the same.
    """
    for each in sequence(dig(one.manifest, "status", "operationState", "syncResult", "resources")):
        ended_badly = bool(each.get("hookType")) and each.get("hookPhase") in ENDED_BADLY
        status = FAILED if ended_badly else _word(each, "status")
        group, kind, namespace, name = (_word(each, part) for part in ("group", "kind", "namespace", "name"))
        yield Result((one.name, group, kind, namespace, name), status, " ".join(_word(each, "message").split()))


def _word(each: Manifest, name: str) -> str:
    return str(each.get(name) or "")


def _standing(one: Application) -> object:
    """Return what changes when an Application gets on; that it tries the same again is no way to get on."""
    return one.name, one.revision, one.sync, one.health, one.retries == 0 and (one.phase, one.said)


def _at_work(one: Application) -> bool:
    """Tell whether it is Argo CD itself that an Application waits for: to compare it, or to apply its objects for the
    first time. However busy the machine is, that ends.
    """
    applying = one.acting and not one.retries and not one.said
    return applying or one.refreshing or not one.sync
