"""What differs in the files that people bring to nodes: no Application holds them, and nothing syncs them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from msgspec import Struct, structs

from generator.build.difference import field_changes
from generator.components.common import POOL
from generator.model.change import ABSENT, FILE, NODE, FieldChange, ObjectChange, On, Steps
from generator.model.fields import dig, mapping, sequence
from generator.model.node_sets import node_set
from generator.review.standing import BOOTSTRAP, LABELS, Standing

SECRETS = "secrets.yaml"
KUBELET = "kubelet.config.k8s.io/KubeletConfiguration"
_OF_NODES = re.compile(r"(kubeadm/join-|node/disks/|network/|endpoint/keepalived-)([^/]+?)(\.yaml|\.list|\.conf|/.+)")
_OF_POOLS = re.compile(r"(node/pools/)([^/]+)(/.+)")


class _Place(Struct, frozen=True):
    """Where a file lies, with `*` for the node or pool whose it is, if it is one's."""

    pattern: str
    node: str = ""
    pool: str = ""

    @property
    def steps(self) -> Steps:
        return tuple(self.pattern.split("/"))


def bootstrap_changes(old: Standing, new: Standing) -> list[ObjectChange]:
    """Return the nodes that come or go, and what differs in files, but for those of such nodes alone. What differs
    alike for several nodes, or pools, is one change.
    """
    before, after = old.below(old.bootstrap), new.below(new.bootstrap)
    paths = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    if not paths:
        return []
    nodes, others = old.nodes(), new.nodes()
    known = {path: place for path in paths if _stays(place := _place(path), nodes, others)}
    found = [(place, change) for path, place in known.items() for change in _changes(old, new, path, place)]
    return [*_come_and_gone(old, new, nodes, others), *_together(found)]


def _place(path: str) -> _Place:
    if found := _OF_NODES.fullmatch(path):
        return _Place(f"{found[1]}*{found[3]}", node=found[2])
    if found := _OF_POOLS.fullmatch(path):
        return _Place(f"{found[1]}*{found[3]}", pool=found[2])
    return _Place(path)


def _stays(place: _Place, nodes: Mapping[str, Any], others: Mapping[str, Mapping[str, str]]) -> bool:
    """Tell whether a file is about nodes that are there before and after, or about all."""
    kept = nodes.keys() & others.keys()
    if place.node and (nodes or others):
        return place.node in kept or place.node not in {*nodes, *others}
    return not place.pool or place.pool in {others[name].get(POOL) for name in kept} or not (nodes or others)


def _come_and_gone(
    old: Standing, new: Standing, nodes: Mapping[str, Mapping[str, str]], others: Mapping[str, Mapping[str, str]]
) -> Iterator[ObjectChange]:
    sides: tuple[tuple[On, Standing, Mapping[str, Mapping[str, str]], Mapping[str, Mapping[str, str]]], ...] = (
        ("removed", old, nodes, others),
        ("added", new, others, nodes),
    )
    for on, standing, mine, theirs in sides:
        groups: dict[tuple[str, bool], list[str]] = {}
        for name in sorted(mine.keys() - theirs.keys()):
            groups.setdefault((mine[name].get(POOL, ""), _serves(standing, name)), []).append(name)
        for names in groups.values() if mine and theirs else ():
            yield _node_change(on, standing, names)


def _serves(standing: Standing, node: str) -> bool:
    return "controlPlane" in _registered(standing, node)


def _registered(standing: Standing, node: str) -> dict[str, Any]:
    """Return what kubeadm reads to make a node; the first one serves the control plane as well."""
    joined = standing.yaml(f"{standing.bootstrap}/kubeadm/join-{node}.yaml")
    if joined:
        return mapping(joined[0])
    init = standing.yaml(f"{standing.bootstrap}/kubeadm/init.yaml")
    return {**mapping(init[0]), "controlPlane": {}} if init else {}


def _node_change(on: On, standing: Standing, names: list[str]) -> ObjectChange:
    document = {**_registered(standing, names[0]), "nodes": names}
    old, new = (document, {}) if on == "removed" else ({}, document)
    return _change(on, NODE, _unbroken(node_set(names)), (FieldChange((), old or ABSENT, new or ABSENT),), (old, new))


def _unbroken(text: str) -> str:
    return text.replace(", ", ",")


def _changes(old: Standing, new: Standing, path: str, place: _Place) -> Iterator[ObjectChange]:
    """Yield what differs in one file: field by field where it says its kind, otherwise by lines."""
    before, after = (_documents(one, path, place) for one in (old, new))
    if not (before or after):
        one, other = (side.text(f"{side.bootstrap}/{path}") for side in (old, new))
        if found := tuple(_written(old, new, path, _lines(one, other, place.steps))):
            yield _change(_on(one, other), FILE, path, found)
        return
    for kind in dict.fromkeys((*before, *after)):
        one, other = before.get(kind), after.get(kind)
        if found := tuple(field_changes(_or_absent(one), _or_absent(other))):
            yield _change(_on(one, other), kind, path, found, (one, other))


def _written(old: Standing, new: Standing, path: str, lines: Iterator[FieldChange]) -> Iterator[FieldChange]:
    """Yield what differs in a file that says no kind: by what it lists, where gen knows, otherwise its lines."""
    return _labels(old, new) if path == LABELS else _secrets(old, new) if path == SECRETS else lines


def _or_absent(value: Any) -> Any:
    return ABSENT if value is None else value


def _on(old: object, new: object) -> On:
    return "added" if old is None else "removed" if new is None else "changed"


def _change(
    on: On, kind: str, name: str, fields: tuple[FieldChange, ...], sides: tuple[Any, Any] = ({}, {})
) -> ObjectChange:
    old, new = ({} if side is None else side for side in sides)
    return ObjectChange(
        on=on, kind=kind, namespace="", name=name, application=BOOTSTRAP, fields=fields, old=old, new=new
    )


def _documents(standing: Standing, path: str, place: _Place) -> dict[str, Any]:
    """Return the documents of a file by their kind. What patches the kubelet's configuration on a pool's nodes is
    there on both sides: without the file it says nothing.
    """
    if place.pattern.endswith("+merge.yaml") and "/kubeletconfiguration" in place.pattern:
        return {KUBELET: mapping(next(iter(standing.yaml(f"{standing.bootstrap}/{path}")), {}))}
    found = [mapping(one) for one in standing.yaml(f"{standing.bootstrap}/{path}")] if path.endswith(".yaml") else []
    return {_kind(one): _told_apart(one) for one in found if one.get("kind") and one.get("apiVersion")}


def _kind(document: Mapping[str, Any]) -> str:
    """Return the kind of a document; an object of a server, which nobody but people applies, is one of bootstrap."""
    group = str(document["apiVersion"]).rpartition("/")[0]
    return f"{BOOTSTRAP if 'metadata' in document else group}/{document['kind']}"


def _told_apart(document: dict[str, Any]) -> dict[str, Any]:
    """Return what kubeadm reads of a node, with its labels by key instead of all in one text."""
    listed = dig(document, "nodeRegistration", "kubeletExtraArgs")
    if not isinstance(listed, list):
        return document
    said = [{**one, "value": _by_key(one["value"])} if one.get("name") == "node-labels" else one for one in listed]
    return {**document, "nodeRegistration": {**document["nodeRegistration"], "kubeletExtraArgs": said}}


def _by_key(labels: str) -> dict[str, str]:
    return {key: value for key, _, value in (label.partition("=") for label in labels.split(","))}


def _labels(old: Standing, new: Standing) -> Iterator[FieldChange]:
    """Yield each label and taint that differs, once for all nodes on which it differs alike."""
    nodes, others = old.nodes(), new.nodes()
    found: dict[tuple[Any, ...], list[str]] = {}
    for name in nodes.keys() & others.keys():
        for field in field_changes(nodes[name], others[name]):
            found.setdefault((*field.path, field.old, field.new), []).append(name)
    for (key, before, after), names in sorted(found.items(), key=lambda one: (node_set(one[1]), str(one[0][0]))):
        yield FieldChange((*LABELS.split("/"), f"[{node_set(names)}]", key), before, after)


def _secrets(old: Standing, new: Standing) -> Iterator[FieldChange]:
    """Yield what differs of each Secret that must exist, by its namespace and name."""
    before, after = ({f"[{one['namespace']}/{one['name']}]": one for one in _declared(side)} for side in (old, new))
    return field_changes(before, after, (SECRETS,))


def _declared(standing: Standing) -> Iterable[dict[str, Any]]:
    found = standing.yaml(f"{standing.bootstrap}/{SECRETS}")
    return [one for one in sequence(dig(found[0], "secrets") if found else None) if isinstance(one, dict)]


def _lines(old: str | None, new: str | None, steps: Steps) -> Iterator[FieldChange]:
    """Yield the lines that differ, but for comments: beside each other where as many came as went."""
    before, after = _meant(old), _meant(new)
    for how, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, come = before[start:end], after[first:last]
        if how == "equal":
            continue
        if len(gone) == len(come):
            yield from (FieldChange(steps, one, other) for one, other in zip(gone, come, strict=True))
        else:
            yield from (FieldChange(steps, line, ABSENT) for line in gone)
            yield from (FieldChange(steps, ABSENT, line) for line in come)


def _meant(text: str | None) -> list[str]:
    lines = (line.rstrip() for line in (text or "").splitlines())
    return [line for line in lines if line and not line.startswith(("# ", "#!", "<!--"))]


def _together(found: Iterable[tuple[_Place, ObjectChange]]) -> Iterator[ObjectChange]:
    """Yield what differs alike in files of several nodes, or pools, once: `kubeadm/join-*.yaml:gpu-[01-15]`."""
    groups: dict[str, list[tuple[_Place, ObjectChange]]] = {}
    for place, change in found:
        groups.setdefault(repr((place.pattern, change.kind, change.on, change.fields)), []).append((place, change))
    for group in groups.values():
        place, change = group[0]
        owners = node_set(one.node or one.pool for one, _ in group)
        name = f"{place.pattern}:{_unbroken(owners)}" if len(group) > 1 else change.name
        yield structs.replace(change, name=name, file=f"{BOOTSTRAP}/{change.name}")
