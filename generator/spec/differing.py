"""Where two versions of a file differ, place by place."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from generator.model.finding import Path


class Difference(NamedTuple):
    """One place of the new version that is not as it was, or that held what is gone; and what was or is written there:
    keys, names and values. `gone` is the place in the old version of what is nowhere in the new one.
    """

    at: Path
    texts: frozenset[str]
    gone: Path = ()


def differing(old: Any, new: Any, at: Path = (), was: Path = ()) -> Iterator[Difference]:
    """Yield the differences of plain data, the deepest places; items of a list that have names are held against those
    of the same name. `at` is the place in the new version, `was` that in the old one.
    """
    before, after = _named(old), _named(new)
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _sections(old, new, at, was)
    elif before is not None and after is not None:
        yield from _items(before, after, at, was)
    elif repr(old) != repr(new):
        yield Difference(at, frozenset({*map(str, at[-1:]), *_texts(old), *_texts(new)}))


def _sections(old: dict[str, Any], new: dict[str, Any], at: Path, was: Path) -> Iterator[Difference]:
    for key in dict.fromkeys([*old, *new]):
        if key in old and key in new:
            yield from differing(old[key], new[key], (*at, key), (*was, key))
        elif key in new:
            yield Difference((*at, key), frozenset({key, *_texts(new[key])}))
        else:
            yield Difference(at, frozenset({key, *_texts(old[key])}), (*was, key))


def _items(
    old: dict[str, tuple[int, Any]], new: dict[str, tuple[int, Any]], at: Path, was: Path
) -> Iterator[Difference]:
    for name in dict.fromkeys([*old, *new]):
        if name in old and name in new:
            (former, item), (index, other) = old[name], new[name]
            found = differing(item, other, (*at, index), (*was, former))
            yield from (one._replace(texts=one.texts | {name}) for one in found)
        elif name in new:
            yield Difference((*at, new[name][0]), frozenset({name}))
        else:
            yield Difference(at, frozenset({name}), (*was, old[name][0]))


def _named(value: Any) -> dict[str, tuple[int, Any]] | None:
    """Return the items of a list by their names; None for all else."""
    if not isinstance(value, list):
        return None
    names = [one.get("name") if isinstance(one, dict) else None for one in value]
    named = {
        name: (index, one) for index, (name, one) in enumerate(zip(names, value, strict=True)) if isinstance(name, str)
    }
    return named if len(named) == len(value) else None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    else:
        yield str(value)
