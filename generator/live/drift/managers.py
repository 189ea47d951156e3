"""Who last wrote fields of an object, by its managed fields (Kubernetes: server-side apply, `fieldsV1`)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from generator.components.component import Manifest
from generator.live.running import ARGO_CD
from generator.model.change import Steps
from generator.model.fields import dig, mapping, sequence

HANDS = {
    "kubectl": "kubectl apply --server-side",
    "kubectl-client-side-apply": "kubectl apply",
    "kubectl-edit": "kubectl edit",
    "kubectl-patch": "kubectl patch",
    "kubectl-create": "kubectl create",
    "kubectl-replace": "kubectl replace",
    "kubectl-label": "kubectl label",
    "kubectl-annotate": "kubectl annotate",
    "kubectl-taint": "kubectl taint",
    "kubectl-scale": "kubectl scale",
    "kubectl-set": "kubectl set",
    "kubectl-rollout": "kubectl rollout",
    "kubectl-autoscale": "kubectl autoscale",
    "kubectl-cordon": "kubectl cordon",
    "argocd-server": "somebody in Argo CD's web interface",
    "Mozilla": "somebody in a browser",
    "k9s": "somebody in k9s",
    "Lens": "somebody in Lens",
    "OpenLens": "somebody in Lens",
    "headlamp-server": "somebody in Headlamp",
    "dashboard": "somebody in the dashboard",
    "Helm": "helm",
    "helm": "helm",
    "OpenAPI-Generator": "a Python program",
    "curl": "curl",
}
"""Field managers behind which is a person, in words. kubectl names itself by what it does
(kubectl v1.35, `pkg/cmd/*`, `fieldManager`); others are named by what their user agent begins with.
"""


class Writer(Struct, frozen=True, kw_only=True):
    """A field manager, and when it last wrote (RFC 3339)."""

    manager: str
    time: str

    @property
    def hand(self) -> bool:
        """Whether a person is behind it, and not a controller."""
        return self.manager in HANDS or self.manager.startswith("kubectl")

    @property
    def words(self) -> str:
        """Who it is, in words, and when."""
        if self.manager == ARGO_CD:
            return f"Argo CD, {self.time}"
        name = HANDS.get(self.manager, self.manager if self.hand else f"the program {self.manager}")
        return f"{name}, {self.time}"


def _entries(one: Manifest) -> Iterator[tuple[Writer, Mapping[str, Any]]]:
    """Yield who wrote what of an object, but for its status and other subresources; the newest first."""
    found = [
        (Writer(manager=str(dig(each, "manager")), time=str(dig(each, "time") or "")), each)
        for each in sequence(dig(one, "metadata", "managedFields"))
        if not dig(each, "subresource")
    ]
    for writer, each in sorted(found, key=lambda pair: pair[0].time, reverse=True):
        yield writer, mapping(dig(each, "fieldsV1"))


def writer_of(one: Manifest, steps: Steps) -> Writer | None:
    """Return who last wrote a field; of what is not there any more, the last person who wrote anything of the object.
    None where nobody can tell.
    """
    owners = [writer for writer, fields in _entries(one) if _owns(fields, steps, one)]
    hands = [writer for writer, _ in _entries(one) if writer.hand]
    return next(iter(owners or hands), None)


def _owns(fields: Mapping[str, Any], steps: Steps, part: Any) -> bool:
    """Tell whether a field set holds a field, or something within it; `part` is what stands there."""
    if not steps or not fields:
        return True
    step, rest = steps[0], steps[1:]
    if f"f:{step}" in fields:
        return _owns(mapping(fields[f"f:{step}"]), rest, mapping(part).get(str(step)))
    item = _item(part, step)
    return any(_owns(mapping(each), rest, item) for key, each in fields.items() if _keyed(key, item, step))


def _item(part: Any, step: str | int) -> Any:
    """Return the item of a list that a step means: its number, or what names it."""
    items = sequence(part)
    if isinstance(step, int):
        return dig(items, step)
    names = set(str(step).strip("[]").split("/"))
    return next((one for one in items if names <= {*map(str, one.values() if isinstance(one, dict) else [one])}), None)


def _keyed(key: str, item: Any, step: str | int) -> bool:
    """Tell whether a key of a field set is that of an item; of one that is not there any more, by what names it."""
    if key[:2] not in {"k:", "v:"}:
        return False
    found = json.loads(key[2:])
    if not isinstance(found, dict):
        return bool(found == item) or item is None
    if item is None:
        return not {*map(str, found.values())}.isdisjoint(str(step).strip("[]").split("/"))
    return all(mapping(item).get(name) == value for name, value in found.items())


class Added(Struct, frozen=True, kw_only=True):
    """A field that another one than Argo CD wrote, and Git does not name: its place, as people write it and as managed
    fields do (`leaf`), its value, and who wrote it.
    """

    steps: Steps
    leaf: tuple[str, ...]
    value: Any
    writer: Writer


def added(one: Manifest, applied: Manifest) -> Iterator[Added]:
    """Yield the fields of an object that others wrote, and that would not be Argo CD's once the object is `applied`
    again: it sees no difference there.
    """
    ours = {leaf for writer, fields in _entries(applied) if writer.manager == ARGO_CD for leaf in _leaves(fields, ())}
    for writer, fields in _entries(one):
        if writer.manager == ARGO_CD:
            continue
        for leaf in _leaves(fields, ()):
            if leaf not in ours and not any(leaf[: len(each)] == each for each in ours):
                yield Added(steps=tuple(map(_step, leaf)), leaf=leaf, value=value_of(one, leaf), writer=writer)


def _leaves(fields: Mapping[str, Any], at: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, each in fields.items():
        if key == ".":
            continue
        if each and set(each) != {"."}:
            yield from _leaves(mapping(each), (*at, key))
        else:
            yield (*at, key)


def _step(key: str) -> str:
    if key.startswith("f:"):
        return key[2:]
    found = json.loads(key[2:])
    values = found.values() if isinstance(found, dict) else [found]
    return f"[{'/'.join(map(str, values))}]"


def value_of(part: Any, leaf: Sequence[str]) -> Any:
    """Return what stands at a place of a field set."""
    for key in leaf:
        if key.startswith("f:"):
            part = mapping(part).get(key[2:])
        elif key.startswith("v:"):
            part = json.loads(key[2:])
        else:
            wanted = json.loads(key[2:]).items()
            part = next((one for one in sequence(part) if all(mapping(one).get(k) == v for k, v in wanted)), None)
    return part
