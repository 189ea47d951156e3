"""Labels, taints and annotations that nodes must bear: kubelets read those of their join files once."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from generator.components.component import Manifest
from generator.components.kubeadm.labels import Marks, marks
from generator.components.parts import taint_entry
from generator.errors import UsageError
from generator.live.bootstrap.step import Item, State, Step
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping, sequence
from generator.model.node_sets import node_set

PATH = "/api/v1/nodes"
ATTEMPTS = 10
"""How often a node is changed anew that its kubelet changed meanwhile."""


class Lacking(Struct, frozen=True):
    """What a node must bear and does not: a merge patch, and the same in words."""

    node: str
    patch: dict[str, Any]
    words: tuple[str, ...]


def node_marks(running: RunningCluster, cluster: Cluster, nodes: Sequence[Manifest]) -> Step:
    """Look which nodes lack labels, taints or annotations. Nodes that have not joined get theirs when they join."""
    there = {str(dig(node, "metadata", "name")): node for node in nodes}
    wanted = marks(cluster)
    lacking = [found for one in wanted if one.node in there and (found := _lacking(one, there[one.node]))]
    items = [Item(State.TO_DO, f"{one.node}: {', '.join(one.words)}") for one in lacking]
    if absent := [one.node for one in wanted if one.node not in there]:
        where = f"clusters/{cluster.name}/bootstrap/README.md"
        items.append(Item(State.LATER, f"{node_set(absent)}: not joined yet ({where}); gets its labels when it joins"))
    fine = len(wanted) - len(lacking) - len(absent)
    if fine:
        items.append(Item(State.DONE, f"{fine} of {len(wanted)} nodes have their labels, taints and annotations"))
    return Step(name="nodes", items=tuple(items), act=lambda: _act(running, [one.node for one in lacking], wanted))


def _lacking(wanted: Marks, node: Manifest) -> Lacking | None:
    labels = _differing(wanted.labels, mapping(dig(node, "metadata", "labels")), wanted.removed)
    annotations = _differing(wanted.annotations, mapping(dig(node, "metadata", "annotations")))
    had = [mapping(one) for one in sequence(dig(node, "spec", "taints"))]
    taints = [taint for taint in wanted.taints if taint_entry(taint) not in map(_plain, had)]
    if not (labels or annotations or taints):
        return None
    metadata = {
        "resourceVersion": dig(node, "metadata", "resourceVersion"),
        **({"labels": labels} if labels else {}),
        **({"annotations": annotations} if annotations else {}),
    }
    patch: dict[str, Any] = {"metadata": metadata}
    if taints:
        replaced = {(taint.key, taint.effect) for taint in taints}
        kept = [one for one in had if (one.get("key"), one.get("effect")) not in replaced]
        patch["spec"] = {"taints": [*kept, *map(taint_entry, taints)]}
    words = (*_words("label", labels), *(f"taint {one}" for one in taints), *_words("annotation", annotations))
    return Lacking(wanted.node, patch, words)


def _plain(taint: Mapping[str, Any]) -> dict[str, Any]:
    """Return a taint as the file writes it: of what controllers add to it nothing."""
    return {key: taint[key] for key in ("key", "value", "effect") if taint.get(key)}


def _differing(wanted: Mapping[str, str], had: Mapping[str, Any], gone: Sequence[str] = ()) -> dict[str, str | None]:
    changed: dict[str, str | None] = {key: value for key, value in wanted.items() if had.get(key) != value}
    return changed | dict.fromkeys(key for key in gone if key in had)


def _words(what: str, changes: Mapping[str, str | None]) -> Iterator[str]:
    for key, value in changes.items():
        yield f"{what} {key}={value}" if value is not None else f"without {what} {key}"


def _act(running: RunningCluster, names: Sequence[str], wanted: Sequence[Marks]) -> Iterator[str]:
    by_name = {one.node: one for one in wanted}
    for name in names:
        yield from _set(running, by_name[name])


def _set(running: RunningCluster, wanted: Marks) -> Iterator[str]:
    path = f"{PATH}/{wanted.node}"
    for _ in range(ATTEMPTS):
        node = running.get(path)
        found = _lacking(wanted, node) if node else None
        if found is None:
            return
        if running.merge_unless_changed(path, found.patch):
            yield f"{wanted.node}: {', '.join(found.words)}"
            return
    raise UsageError(f"node {wanted.node} changes all the time: {ATTEMPTS} attempts to label it failed; run again")
