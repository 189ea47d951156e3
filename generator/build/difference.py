"""What differs between two sets of objects: pure, and blind to order and form."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from generator.build.objects import Object
from generator.components.component import Manifest
from generator.model.change import ABSENT, FieldChange, ObjectChange, Steps
from generator.model.fields import dig

_NAMES: tuple[tuple[str, ...], ...] = (
    ("name",),
    ("metadata", "name"),
    ("key",),
    ("mountPath",),
    ("devicePath",),
    ("containerPort", "protocol"),
    ("port", "protocol"),
    ("topologyKey",),
    ("uid",),
    ("type",),
)
"""What tells the items of a list apart, the first that does it: the merge keys of Kubernetes' own types, and what
custom resources use alike."""

LIKENESS = 0.6
"""The share of equal fields from which on an object that came and one that went are one that was renamed."""

ORDER = "(order)"
"""The step below a list that stands for the order of its named items; no name of an item is written so."""

MANY = 200
"""Of more objects of one kind that came or went, none is taken for a renamed one: each would be compared with each."""


def differences(old: Iterable[Object], new: Iterable[Object]) -> list[ObjectChange]:
    """Return what came, went, moved to another Application, was renamed or changed, in the order of kinds and names."""
    before, after = _by_identity(old), _by_identity(new)
    added = [after[key] for key in after.keys() - before.keys()]
    removed = [before[key] for key in before.keys() - after.keys()]
    renamed = _renamed(removed, added)
    gone, come = {id(one) for one, _ in renamed}, {id(one) for _, one in renamed}
    found = [_change("renamed", one, other) for one, other in renamed]
    found += [_change("removed", one, None) for one in removed if id(one) not in gone]
    found += [_change("added", None, one) for one in added if id(one) not in come]
    found += [each for key in before.keys() & after.keys() for each in _changed(before[key], after[key])]
    return sorted(found, key=lambda one: (one.application, one.kind, one.namespace, one.name, one.on))


def _by_identity(objects: Iterable[Object]) -> dict[tuple[str | int, ...], Object]:
    found: dict[tuple[str | int, ...], Object] = {}
    nameless: Counter[str] = Counter()
    for one in objects:
        nameless[one.file] += not one.identity
        # Of what has the beginning of a name only, each is one of its own, told by its place in the file.
        key = one.identity or (one.group, one.kind, one.namespace, one.name, one.file, nameless[one.file])
        found[key] = one
    return found


def _changed(old: Object, new: Object) -> Iterator[ObjectChange]:
    if old.component != new.component:
        yield _change("moved", old, new)
    if fields := tuple(field_changes(old.manifest, new.manifest)):
        yield _change("changed", old, new, fields)


def _change(on: Any, old: Object | None, new: Object | None, fields: tuple[FieldChange, ...] = ()) -> ObjectChange:
    one = old or new
    assert one is not None  # noqa: S101 - one of both is handed in
    to = ""
    if old and new:
        to = new.component if on == "moved" else new.full_name if on == "renamed" else ""
    return ObjectChange(
        on=on,
        kind=f"{one.group}/{one.kind}",
        namespace=one.namespace,
        name=one.name,
        application=(new if on == "changed" and new else one).component,
        old=old.manifest if old else {},
        new=new.manifest if new else {},
        fields=fields or (FieldChange((), old.manifest if old else ABSENT, new.manifest if new else ABSENT),),
        file=(new or one).file,
        to=to,
    )


def _renamed(removed: Sequence[Object], added: Sequence[Object]) -> list[tuple[Object, Object]]:
    """Pair each object that went with the one that came in its stead, the likest first."""
    pairs: list[tuple[float, Object, Object]] = []
    for kind in sorted({(one.group, one.kind) for one in removed}):
        gone = [one for one in removed if (one.group, one.kind) == kind]
        come = [one for one in added if (one.group, one.kind) == kind]
        if len(gone) * len(come) <= MANY:
            pairs += [(likeness(one.manifest, other.manifest), one, other) for one in gone for other in come]
    taken: set[int] = set()
    found = []
    for alike, one, other in sorted(pairs, key=lambda pair: (-pair[0], pair[1].full_name, pair[2].full_name)):
        if alike >= LIKENESS and not taken & {id(one), id(other)}:
            taken |= {id(one), id(other)}
            found.append((one, other))
    return found


def likeness(old: Manifest, new: Manifest) -> float:
    """Return the share of leaves that two objects of one kind have in common, apart from their names: 0 for objects
    that say too little to tell.
    """
    one, other = set(_leaves(old)), set(_leaves(new))
    together = one | other
    return len(one & other) / len(together) if len(together) > 3 else 0


def _leaves(manifest: Manifest) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, Any]] = [("", {key: part for key, part in manifest.items() if key not in _IDENTITY})]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, dict):
            waiting += [(f"{path}.{key}", value) for key, value in part.items()]
        elif isinstance(part, list):
            waiting += [(f"{path}[]", value) for value in part]
        else:
            yield path, repr(part)


_IDENTITY = {"apiVersion", "kind", "metadata"}


def field_changes(old: Any, new: Any, path: Steps = ()) -> Iterator[FieldChange]:
    """Yield the fields that differ, as deep as both have the same shape. Items of a list are matched by what names
    them; where that changes no item, the order may.
    """
    if old is new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*old, *(key for key in new if key not in old)):
            yield from field_changes(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _items(old, new, path)
    elif not same(old, new):
        yield FieldChange(path, old, new)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are one to a server: unlike Python, 1 is not true, and what is no number is itself."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124 - only .nan is not equal to itself


def _items(old: list[Any], new: list[Any], path: Steps) -> Iterator[FieldChange]:
    if same(old, new):
        return
    if by := _told_apart_by(old, new):
        before, after = ({_name(item, by): item for item in items} for items in (old, new))
        yield from field_changes(before, after, path)
        kept = [[name for name in one if name in other] for one, other in ((before, after), (after, before))]
        if kept[0] != kept[1]:
            yield FieldChange((*path, ORDER), kept[0], kept[1])
    elif len(old) == len(new) and all(isinstance(one, dict) for one in (*old, *new)):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from field_changes(one, other, (*path, index))
    elif not same(old, new):
        yield FieldChange(path, old, new)


def _told_apart_by(*lists: list[Any]) -> tuple[tuple[str, ...], ...] | None:
    """Return the ways to what names each item of both lists, None where nothing does."""
    if not all(isinstance(item, dict) for items in lists for item in items):
        return None
    for names in _NAMES:
        by = (names,) if names[0] == "metadata" else tuple((name,) for name in names)
        if all(_tells_apart(items, by) for items in lists):
            return by
    return None


def _tells_apart(items: list[Any], by: tuple[tuple[str, ...], ...]) -> bool:
    first = [dig(item, *by[0]) for item in items]
    names = [_name(item, by) for item in items]
    plain = all(isinstance(value, str | int) and not isinstance(value, bool) for value in first)
    return plain and len(set(names)) == len(names)


def _name(item: Any, by: tuple[tuple[str, ...], ...]) -> str:
    values = {way: dig(item, *way) for way in by}
    # A port without a protocol is one of TCP.
    told = [str(value) for way, value in values.items() if value is not None and (way, value) != (("protocol",), "TCP")]
    return f"[{'/'.join(told)}]"
