"""What `gen diff` says of the same change, beside what happened."""

from collections.abc import Collection, Iterator, Mapping

from generator.model.change import CHART, Effect
from generator.rehearsal.outcome import Fate, Synced
from generator.review.judging import JudgedChange
from generator.review.report import ClusterReport

ROLLED = {"Deployment", "StatefulSet", "DaemonSet"}
REPLACES = {Effect.ROLLING, Effect.RESTART, Effect.OUTAGE}
NOTHING = "nothing"


class Foretold:
    """What was said of a cluster's objects, by group and kind, namespace and name."""

    def __init__(self, told: ClusterReport | None) -> None:
        self.judged = told.judged if told else ()
        self._by_key = {(one.change.kind, one.change.namespace, one.change.name): one for one in self.judged}
        self._charts = {one.change.namespace: one for one in self.judged if one.change.kind == CHART}

    def of(self, kind: str, namespace: str, name: str) -> str:
        """Return what is said of an object, in the words of `gen diff`."""
        found = self._by_key.get((kind, namespace, name))
        return _words(found) if found else NOTHING

    def of_owner(self, owner: str) -> str:
        """Return what is said of who makes pods, as in "Deployment argocd/x", or of the chart that is not vendored and
        has it.
        """
        kind, _, place = owner.partition(" ")
        namespace, _, name = place.partition("/")
        found, chart = self.of(f"apps/{kind}", namespace, name), self._charts.get(namespace)
        return f"{_words(chart)} (Chart {chart.change.name})" if found == NOTHING and chart else found

    def of_jobs(self) -> str:
        """Return what is said of jobs that are stopped for others."""
        found = [one for one in self.judged if one.effect == Effect.PREEMPTS or _stops_queue(one)]
        found.sort(key=lambda one: one.effect != Effect.PREEMPTS)
        return "; ".join(f"{_words(one)} ({_kind(one)} {one.change.name})" for one in found[:3]) or NOTHING

    def disagreements(
        self, synced: Synced, replaced: Mapping[str, object], had: Collection[str], *, stopped: bool
    ) -> Iterator[str]:
        """Yield where what happened is not what was said. `had` are those who had pods before."""
        yield from self._refusals(synced)
        for owner in replaced:
            kind = owner.partition(" ")[0]
            if kind in ROLLED and self.of_owner(owner).partition(" ")[0] in {NOTHING, Effect.NONE.word.split()[0]}:
                yield f"{owner}: pods were replaced; gen diff says {self.of_owner(owner)}"
        for one in self.judged:
            owner = f"{_kind(one)} {one.change.namespace}/{one.change.name}"
            if _rolls(one) and owner in had and owner not in replaced and _applied(one, synced):
                yield f"{owner}: gen diff says {_words(one)}; no pod was replaced"
        if stopped and self.of_jobs() == NOTHING:
            yield "jobs were stopped; gen diff names no change that preempts"

    def _refusals(self, synced: Synced) -> Iterator[str]:
        for one in synced.outcomes:
            found = self._by_key.get((one.kind, one.namespace, one.name))
            effect = found.effect if found else None
            if one.fate == Fate.REFUSED and effect != Effect.IMPOSSIBLE:
                yield f"{one.shown}: refused; gen diff says {_words(found) if found else NOTHING}"
            if one.fate == Fate.APPLIED and found and effect == Effect.IMPOSSIBLE:
                yield f"{one.shown}: gen diff says {_words(found)}; the API server took it"


def _words(one: JudgedChange) -> str:
    rule = one.meanings[0].rule
    return f"{one.effect.word} {rule.code}" if rule else one.effect.word


def _stops_queue(one: JudgedChange) -> bool:
    return one.change.kind.startswith("kueue.x-k8s.io/") and one.effect.loudness > Effect.PREEMPTS.loudness


def _kind(one: JudgedChange) -> str:
    return one.change.kind.rpartition("/")[2]


def _rolls(one: JudgedChange) -> bool:
    armed = any(each.rule and each.rule.armed for each in one.meanings)
    return one.change.on == "changed" and _kind(one) in ROLLED and one.effect in REPLACES and not armed


def _applied(one: JudgedChange, synced: Synced) -> bool:
    key = (one.change.kind, one.change.namespace, one.change.name)
    return any((each.kind, each.namespace, each.name) == key and each.fate == Fate.APPLIED for each in synced.outcomes)
