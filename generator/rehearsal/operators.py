"""What operators would bring that do not run here, as their components state it: the status of objects, Secrets, and
other objects.
"""

from collections.abc import Iterable, Iterator, Sequence

from generator.build.objects import Built, Object
from generator.components import CATALOGUE, compose
from generator.components.component import Manifest, Secret
from generator.components.operated import OWN, Made, OperatedKind
from generator.live.api import Request
from generator.live.discovery import path_of_version
from generator.model.finding import full_name
from generator.rehearsal.applying import Applier
from generator.rehearsal.twin.twin import REAL

STATED = {
    f"{kind.group}/{kind.kind}": (name, kind.status)
    for name, one in CATALOGUE.items()
    for kind in one.kinds
    if kind.status
}
"""The component whose program would write the status of a kind, and that status."""
_KINDS: tuple[tuple[str, OperatedKind], ...] = tuple(
    (name, kind) for name, one in CATALOGUE.items() if name not in REAL for kind in one.kinds
)
_MADE: dict[str, tuple[str, str]] = {
    "ConfigMap": ("v1", "configmaps"),
    "Secret": ("v1", "secrets"),
    "CSIDriver": ("storage.k8s.io/v1", "csidrivers"),
    "IngressClass": ("networking.k8s.io/v1", "ingressclasses"),
    "RuntimeClass": ("node.k8s.io/v1", "runtimeclasses"),
}
"""Kinds of what is made that Kubernetes itself serves: what an operator makes for itself alone moves nothing here."""


class Operators:
    """Acts for the operators of one build."""

    def __init__(self, applier: Applier, built: Built) -> None:
        self.applier = applier
        composed = compose(built.cluster) if built.cluster else ()
        self.secrets: dict[str, list[Secret]] = {
            one.name: [each for each in one.secrets if each.source == "in-cluster"] for one in composed
        }

    def act(self, applied: Sequence[Object]) -> Iterator[str]:
        """Bring what comes of objects that were just applied, and tell each thing that was. Raises UsageError."""
        yield from dict.fromkeys(self._states(applied))
        for name in dict.fromkeys(one.component for one in applied):
            if name in CATALOGUE and name not in REAL:
                yield from self._made(name, CATALOGUE[name].brings, "")
                yield from self._secrets(name)
        for one in applied:
            for name, kind in _KINDS:
                if kind.kind == one.kind:
                    yield from self._made(name, kind.makes(one.manifest), one.namespace)

    def _secrets(self, component: str) -> Iterator[str]:
        for one in self.secrets.get(component, ()):
            made = Made("Secret", one.name, one.namespace, frozenset(one.keys))
            yield from self._made(one.by or component, (made,), "")

    def _states(self, applied: Sequence[Object]) -> Iterator[str]:
        for one in applied:
            kind = f"{one.group}/{one.kind}"
            if kind in STATED:
                name, status = STATED[kind]
                if self.write(str(self.applier.path(one)), {"status": status}):
                    yield f"the status of each {one.kind}, for {name}"

    def write(self, path: str, change: Manifest) -> bool:
        """Write a status where the kind has it apart, else with the object."""
        answer = self.applier.api.ask(Request(path=f"{path}/status", method="PATCH", body=change, merge=True))
        if answer.status == 404:
            answer = self.applier.api.ask(Request(path=path, method="PATCH", body=change, merge=True))
        return answer.good

    def _made(self, component: str, made: Iterable[Made], own: str) -> Iterator[str]:
        for one in made:
            namespace = own if one.namespace == OWN else one.namespace
            if one.kind in _MADE and self._create(one, namespace):
                yield f"{full_name(one.kind, namespace, one.name)}, for {component}"

    def _create(self, one: Made, namespace: str) -> bool:
        version, plural = _MADE[one.kind]
        between = f"/namespaces/{namespace}" if namespace else ""
        path = f"{path_of_version(version)}{between}/{plural}"
        return self.applier.api.ask(Request(path=path, method="POST", body=manifest(one, namespace))).good


def operated(one: Object) -> bool:
    """Tell whether an operator that does not run here would act on an object."""
    return f"{one.group}/{one.kind}" in STATED or any(kind.kind == one.kind for _, kind in _KINDS)


def manifest(one: Made, namespace: str) -> Manifest:
    """Return an object as it is made, with nothing in it that means anything."""
    metadata = {"name": one.name} | ({"namespace": namespace} if namespace else {})
    made: Manifest = {"apiVersion": _MADE[one.kind][0], "kind": one.kind, "metadata": metadata}
    if one.kind in {"ConfigMap", "Secret"}:
        return made | {"data": dict.fromkeys(sorted(one.keys or ()), "")}
    if one.kind == "RuntimeClass":
        return made | {"handler": one.name}
    return made | {"spec": {}}
