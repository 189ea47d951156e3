"""Reading parts of objects that may be anything: whoever wrote them, nothing here raises."""

from collections.abc import Iterator
from typing import Any

import msgspec

from generator.model.finding import Path
from generator.model.quantity import Quantity


def mapping(part: object) -> dict[str, Any]:
    """Return a mapping as it is, and anything else as an empty one."""
    return part if isinstance(part, dict) else {}


def sequence(part: object) -> list[Any]:
    """Return a list as it is, and anything else as an empty one."""
    return part if isinstance(part, list) else []


def dig(part: object, *keys: str | int) -> Any:
    """Return the value that keys and indexes lead to; None where there is none."""
    for key in keys:
        if isinstance(key, int):
            items = sequence(part)
            part = items[key] if 0 <= key < len(items) else None
        else:
            part = mapping(part).get(key)
    return part


def condition(manifest: object, kind: str) -> dict[str, Any]:
    """Return a condition of an object's status by its type, which stands there once; empty where there is none."""
    found = map(mapping, sequence(dig(manifest, "status", "conditions")))
    return next((one for one in found if one.get("type") == kind), {})


def holds(manifest: object, kind: str) -> bool:
    """Tell whether a condition of an object's status is true."""
    return bool(condition(manifest, kind).get("status") == "True")


def spots(part: object, way: str) -> Iterator[tuple[Path, Any]]:
    """Yield the values at a way, with the path of each: keys with dots between, `*` for every item of a list. Without
    a list on the way it is one value, None where there is none.
    """
    return _spots(part, tuple(way.split(".")), ())


def _spots(part: Any, way: Path, at: Path) -> Iterator[tuple[Path, Any]]:
    for number, key in enumerate(way):
        if key == "*":
            for index, item in enumerate(sequence(part)):
                yield from _spots(item, way[number + 1 :], (*at, index))
            return
        part, at = dig(part, key), (*at, key)
    yield at, part


def existing(part: object, at: Path) -> Path:
    """Return as much of a path as there is: where somebody would add what is missing."""
    for length, key in enumerate(at):
        there = key in part if isinstance(part, dict) else isinstance(part, list) and key in range(len(part))
        if not there:
            return at[:length]
        part = dig(part, key)
    return at


def walk(part: object, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value within something, itself first, each with the way to it."""
    waiting: list[tuple[Path, object]] = [(at, part)]
    while waiting:
        at, part = waiting.pop()
        yield at, part
        if isinstance(part, dict):
            waiting += [((*at, key), value) for key, value in reversed(part.items())]
        elif isinstance(part, list):
            waiting += [((*at, index), value) for index, value in reversed(list(enumerate(part)))]


def in_one_text(part: object) -> str | None:
    """Return something as one text, in which to look for a word before each value is looked at; None where JSON holds
    no such thing.
    """
    try:
        return msgspec.json.encode(part).decode()
    except (TypeError, ValueError, OverflowError):
        return None


def items_of(value: Any) -> list[Any] | None:
    """Return what a List holds, None for what is none. kubectl takes those of one kind as well, in which the items need
    not say theirs: a PodList holds Pods.
    """
    kind = value.get("kind") if isinstance(value, dict) else None
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list)):
        return None
    own = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
    return [{**own, **each} if isinstance(each, dict) else each for each in value["items"]]


def amount(value: object) -> int | None:
    """Return a quantity in thousandths; None for what is none (a parameter, a mistake that the schema tells)."""
    if not isinstance(value, str | int | float):
        return None
    try:
        return Quantity.parse(str(value) if isinstance(value, float) else value).milli
    except ValueError:
        return None
