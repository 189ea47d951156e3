"""Objects, as Argo CD applies and removes them."""

from collections.abc import Iterator, Sequence
from time import monotonic, sleep
from urllib.parse import quote

from generator.build.kinds import Kinds
from generator.build.objects import Built, Object
from generator.components.component import Manifest
from generator.kinds.syncing import UPDATED
from generator.live.api import Answer, Request
from generator.live.discovery import Served, discover, place
from generator.live.running import ARGO_CD
from generator.model.compared import options
from generator.model.fields import dig, sequence
from generator.rehearsal.outcome import Fate, Outcome
from generator.rehearsal.twin.kueue import NAMESPACE as KUEUE
from generator.rehearsal.twin.kueue import SERVICE
from generator.rehearsal.twin.twin import Twin
from generator.rules.providers import waves

PATIENCE = 8.0
"""Seconds in which an object is tried again that what it needs may still allow."""
HOOK = "argocd.argoproj.io/hook"
REMADE = {"Force=true", "Replace=true"}
"""What Argo CD deletes and makes again with each change; one that the API server refuses it cannot even compare."""
STOOD = 200
"""The status of the answer where what is applied was there already."""
UNSERVED = "nothing here serves this kind"


class Applier:
    """Applies objects of one build to a twin. What it cannot play it says so of."""

    def __init__(self, twin: Twin, built: Built) -> None:
        self.api = twin.cluster.api
        self.kinds = Kinds.of(built)
        self.waves = waves(built)
        self.served: Served = {}

    def apply(self, objects: Sequence[Object], patience: float = PATIENCE) -> list[Outcome]:
        """Apply objects that need nothing of one another; those that may need what is only just coming again and again
        until patience, in seconds, ends.
        """
        left, found = {id(one): one for one in objects}, {}
        end = monotonic() + patience
        while True:
            for one, outcome, again in self._round([*left.values()]):
                found[id(one)] = outcome
                if not again:
                    del left[id(one)]
            if not left or monotonic() > end:
                return [found[id(one)] for one in objects]
            sleep(0.5)

    def _round(self, objects: Sequence[Object]) -> Iterator[tuple[Object, Outcome, bool]]:
        played = []
        for one in objects:
            if why := self._unplayed(one):
                yield one, self.outcome(Fate.NOT_PLAYED, one, why), False
            elif self.path(one) is None:
                yield one, self.outcome(Fate.REFUSED, one, UNSERVED), True
            else:
                played.append(one)
        for one, answer in zip(played, self.api.ask_all([self._request(one) for one in played]), strict=True):
            if not answer.good:
                yield one, self.outcome(Fate.REFUSED, one, answer.message), _passing(answer)
            elif answer.status == STOOD and _remade(one):
                yield one, self._replaced(one), False
            else:
                yield one, self.outcome(Fate.APPLIED, one), False

    def _replaced(self, one: Object) -> Outcome:
        self.api.ask(Request(path=f"{self.path(one)}?propagationPolicy=Background", method="DELETE"))
        answer = self.api.ask(self._request(one))
        return self.outcome(Fate.REPLACED if answer.good else Fate.REFUSED, one, "" if answer.good else answer.message)

    def remove(self, one: Object) -> Outcome:
        """Remove an object that left Git, unless its sync options keep it."""
        found = options(one.manifest)
        if "Prune=false" in found:
            return self.outcome(Fate.KEPT, one, "Prune=false")
        if "Prune=confirm" in found:
            return self.outcome(Fate.WAITS, one, "Prune=confirm")
        path = self.path(one)
        if path is None or self._unplayed(one):
            return self.outcome(Fate.NOT_PLAYED, one, UNSERVED)
        answer = self.api.ask(Request(path=f"{path}?propagationPolicy=Background", method="DELETE"))
        if answer.good or answer.status == 404:
            return self.outcome(Fate.DELETED, one)
        return self.outcome(Fate.REFUSED, one, answer.message)

    def path(self, one: Object) -> str | None:
        """Return where an object lives, None where its kind is not served."""
        if (one.version, one.kind) not in self.served:
            self.served |= discover(self.api, [one.version])
        where = place(self.served, one)
        return where and f"{where}/{quote(one.name, safe='')}"

    def _request(self, one: Object) -> Request:
        if HOOK in one.annotations:  # BeforeHookCreation is what gen writes, and Argo CD's default
            self.api.ask(Request(path=f"{self.path(one)}?propagationPolicy=Background", method="DELETE"))
        path = f"{self.path(one)}?fieldManager={ARGO_CD}&force=true"
        return Request(path=path, method="PATCH", body=sent(one))

    def _unplayed(self, one: Object) -> str:
        """Say why an object is left out, nothing for one that is played."""
        why = unplayed(one, self.kinds)
        return "" if why == UNSERVED and self.path(one) else why

    def outcome(self, fate: Fate, one: Object, why: str = "") -> Outcome:
        """Say what became of an object."""
        return Outcome(
            fate=fate,
            application=one.component,
            wave=self.waves.get(one.component, 0),
            kind=f"{one.group}/{one.kind}",
            namespace=one.namespace,
            name=one.name,
            why=why,
        )


def sent(one: Object) -> Manifest:
    """Return an object as it is applied."""
    manifest = {**one.manifest, "metadata": dict(one.manifest["metadata"])}
    if one.kind.endswith("WebhookConfiguration"):
        manifest["metadata"].pop("namespace", None)  # Kueue's chart names one; it has no meaning
    return manifest


def unplayed(one: Object, kinds: Kinds) -> str:
    """Say why an object of a build with these kinds cannot be played on a twin, nothing for one that can."""
    if not one.manifest["metadata"].get("name"):
        return "its name is made by the server"
    if one.kind.endswith("WebhookConfiguration") and not _answered(one):
        return "nobody here answers this webhook"
    if one.kind == "APIService" and one.spec.get("service"):
        return "nobody here answers for this API"
    return "" if kinds.versions(one.group, one.kind) else UNSERVED


def _answered(one: Object) -> bool:
    """Tell whether all webhooks of a configuration are Kueue's, which runs."""
    services = [dig(each, "clientConfig", "service") or {} for each in sequence(one.manifest.get("webhooks"))]
    return all((each.get("namespace"), each.get("name")) == (KUEUE, SERVICE) for each in services)


def _remade(one: Object) -> bool:
    return options(one.manifest) >= REMADE and f"{one.group}/{one.kind}" not in UPDATED


def _passing(answer: Answer) -> bool:
    """Tell whether what an object is refused for may pass by itself."""
    return answer.status in {404, 409, 429, 500, 503, 504}
