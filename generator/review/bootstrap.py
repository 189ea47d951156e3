"""What differs in the files that people bring to nodes: no Application holds them, and nothing syncs them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from msgspec import Struct, structs

from generator.build.difference import field_changes
from generator.components.common import POOL
from generator.model.change import ABSENT, FILE, NODE, NODE_LABELS, SECRETS, FieldChange, ObjectChange, On, Steps
from generator.model.fields import dig, mapping, sequence
from generator.model.node_sets import node_set
from generator.review.standing import BOOTSTRAP, LABELS, Standing

DECLARED = "secrets.yaml"
KUBELET = "kubelet.config.k8s.io/KubeletConfiguration"
_OF_NODES = re.compile(
    r"(kubeadm/join-|node/disks/|network/|endpoint/keepalived-|cloud-init/)([^/]+?)(\.yaml|\.list|\.conf|/.+)"
)
_OF_POOLS = re.compile(r"(node/pools/)([^/]+)(/.+)")


class _Place(Struct, frozen=True):
    """Where a file lies, with `*` for the node or pool whose it is, if it is one's."""

    pattern: str
    node: str = ""
    pool: str = ""

    @property
    def steps(self) -> Steps:
        return tuple(self.pattern.split("/"))

    @property
    def owner(self) -> str:
        return self.node or self.pool


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
    """Yield what differs in one file: field by field where it says its kind, or lists what gen knows; otherwise by
    lines. A file that comes or goes is as one that said nothing: the nodes stay.
    """
    before, after = (_documents(one, path, place) for one in (old, new))
    if before is None or after is None or not (before or after):
        kind, fields, sides = _written(old, new, path, place)
        if found := tuple(fields):
            yield _change("changed", kind, path, found, sides)
        return
    for kind, which in dict.fromkeys((*before, *after)):
        one, other = before.get((kind, which), {}), after.get((kind, which), {})
        if found := tuple(field_changes(one, other)):
            yield _change("changed", kind, f"{path}:{which}" if which else path, found, (one, other))


def _written(
    old: Standing, new: Standing, path: str, place: _Place
) -> tuple[str, Iterator[FieldChange], tuple[dict[str, Any], dict[str, Any]]]:
    """Return how a file that says no kind is called, what differs in it, and what it says on both sides."""
    if path == LABELS:
        return NODE_LABELS, _labels(old, new), ({}, {})
    if path == DECLARED:
        before, after = _declared(old), _declared(new)
        return SECRETS, field_changes(before, after), (before, after)
    was, now = (one.text(f"{one.bootstrap}/{path}") for one in (old, new))
    before, after = ({place.owner or path: text} if text is not None else {} for text in (was, now))
    return FILE, _lines(was, now, place.steps), (before, after)


def _change(
    on: On, kind: str, name: str, fields: tuple[FieldChange, ...], sides: tuple[Any, Any] = ({}, {})
) -> ObjectChange:
    return ObjectChange(
        on=on, kind=kind, namespace="", name=name, application=BOOTSTRAP, fields=fields, old=sides[0], new=sides[1]
    )


def _documents(standing: Standing, path: str, place: _Place) -> dict[tuple[str, str], Any] | None:
    """Return the documents of a file by their kind, and of several of one kind by what tells them apart; None where
    there is anything else in it. What patches the kubelet's configuration on a pool's nodes is there on both sides:
    without the file it says nothing.
    """
    whole = f"{standing.bootstrap}/{path}"
    if place.pattern.endswith("+merge.yaml") and "/kubeletconfiguration" in place.pattern:
        return {(KUBELET, ""): mapping(next(iter(standing.yaml(whole)), {}))}
    listed = [mapping(one) for one in standing.yaml(whole)] if path.endswith(".yaml") else []
    if standing.side.has(whole) and not all(one.get("kind") and one.get("apiVersion") for one in listed or [{}]):
        return None
    found: dict[tuple[str, str], Any] = {}
    for one in listed:
        kind = _kind(one)
        same = sum(kind == other for other, _ in found)
        which = str(dig(one, "metadata", "name") or same + 1) if same else ""
        found[kind, which if (kind, which) not in found else str(same + 1)] = _told_apart(one)
    return found


def _kind(document: Mapping[str, Any]) -> str:
    """Return the kind of a document; an object of a server, which nobody but people applies, is one of bootstrap."""
    group = str(document["apiVersion"]).rpartition("/")[0]
    return f"{BOOTSTRAP if 'metadata' in document else group}/{document['kind']}"


def _told_apart(document: dict[str, Any]) -> dict[str, Any]:
    """Return what kubeadm reads of a node, with its labels by key instead of all in one text."""
    listed = dig(document, "nodeRegistration", "kubeletExtraArgs")
    if not isinstance(listed, list):
        return document
    said = [{**one, "value": _by_key(one)} if one.get("name") == "node-labels" else one for one in map(mapping, listed)]
    return {**document, "nodeRegistration": {**document["nodeRegistration"], "kubeletExtraArgs": said}}


def _by_key(argument: Mapping[str, Any]) -> dict[str, str]:
    labels = (label.partition("=") for label in str(argument.get("value")).split(","))
    return {key: value for key, _, value in labels}


def _labels(old: Standing, new: Standing) -> Iterator[FieldChange]:
    """Yield each label and taint that differs, once for all nodes on which it differs alike."""
    nodes, others = old.nodes(), new.nodes()
    found: dict[tuple[Any, ...], list[str]] = {}
    for name in nodes.keys() & others.keys():
        for field in field_changes(nodes[name], others[name]):
            found.setdefault((*field.path, field.old, field.new), []).append(name)
    for (key, before, after), names in sorted(found.items(), key=lambda one: (node_set(one[1]), str(one[0][0]))):
        yield FieldChange((f"[{node_set(names)}]", key), before, after)


def _declared(standing: Standing) -> dict[str, Any]:
    """Return each Secret that must exist, by its namespace and name."""
    found = standing.yaml(f"{standing.bootstrap}/{DECLARED}")
    listed = (mapping(one) for document in found for one in sequence(dig(document, "secrets")))
    return {f"[{one.get('namespace')}/{one.get('name')}]": one for one in listed}


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
    return [line for line in lines if line and not line.startswith(("# ", "<!--"))]


def _together(found: Iterable[tuple[_Place, ObjectChange]]) -> Iterator[ObjectChange]:
    """Yield what differs alike in files of several nodes, or pools, once: `kubeadm/join-*.yaml:gpu-[01-15]`. Those of
    pools that go differ alike, whatever they said.
    """
    groups: dict[str, list[tuple[_Place, ObjectChange]]] = {}
    for place, change in found:
        differing = () if place.pool and change.happened == "removed" else change.fields
        groups.setdefault(repr((place.pattern, change.kind, change.happened, differing)), []).append((place, change))
    for group in groups.values():
        yield _as_one([place for place, _ in group], [change for _, change in group])


def _as_one(places: Sequence[_Place], changes: Sequence[ObjectChange]) -> ObjectChange:
    """Return changes of one file of several nodes, or pools, as one, with all that each of them said."""
    first = changes[0]
    owners = node_set(place.owner for place in places)
    file = f"{BOOTSTRAP}/{first.name}"
    name = f"{places[0].pattern}:{_unbroken(owners)}" if len(changes) > 1 else first.name
    if first.kind != FILE:
        return structs.replace(first, name=name, file=file)
    return structs.replace(
        first,
        name=name,
        file=file,
        fields=tuple(dict.fromkeys(field for change in changes for field in change.fields)),
        old={owner: text for change in changes for owner, text in change.old.items()},
        new={owner: text for change in changes for owner, text in change.new.items()},
    )
