"""Operators that do not run here, played while Argo CD syncs: it waits for what they say of their objects."""

from collections.abc import Iterable, Iterator

from generator.build.objects import ROOT, Built, Object
from generator.live.api import Request
from generator.live.applications import Application
from generator.model.fields import dig
from generator.rehearsal.applying import Applier
from generator.rehearsal.operators import Operators, operated

ADDRESS = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.80"}]}}}
"""What Argo CD waits for at each Ingress and Service of type LoadBalancer; the address is one for documentation."""


class Acting:
    """Acts for the operators of one build, once on each object that has come."""

    def __init__(self, applier: Applier, built: Built) -> None:
        self.applier, self.operators = applier, Operators(applier, built)
        self._awaited: dict[str, list[Object]] = {}
        for one in built.objects:
            kept = self._awaited.setdefault(one.component, [])
            if not kept or operated(one) or _addressed(one):  # the first one stands for the component as such
                kept.append(one)
        self._awaited.pop(ROOT, None)

    def round(self, found: Iterable[Application]) -> Iterator[str]:
        """Act on what has come of Applications that are being synced or were; yield each thing that was brought."""
        names = [one.name for one in found if one.phase and one.name in self._awaited]
        some = [one for name in names for one in self._awaited[name] if self.applier.path(one)]
        answers = self.applier.api.ask_all([Request(path=str(self.applier.path(one))) for one in some])
        there = [one for one, answer in zip(some, answers, strict=True) if answer.good]
        for one in there:
            self._awaited[one.component].remove(one)
        yield from self.operators.act(there)
        yield from dict.fromkeys(self._addresses(there))

    def _addresses(self, there: Iterable[Object]) -> Iterator[str]:
        for one in there:
            if _addressed(one) and self.operators.write(str(self.applier.path(one)), ADDRESS):
                yield f"the address of each {one.kind} that wants one"


def _addressed(one: Object) -> bool:
    ingress = (one.group, one.kind) == ("networking.k8s.io", "Ingress")
    return ingress or (one.kind == "Service" and dig(one.spec, "type") == "LoadBalancer")
