"""Values of fields as people are shown them: short, on one line, and nothing of a Secret."""

import json
import re
from collections.abc import Sequence
from typing import Any

from generator.model.change import ABSENT, FieldChange, ObjectChange, Steps
from generator.model.secret_texts import PRIVATE_KEY, assigned, in_address, is_named_so, is_secret

LONG = 60
"""Characters of a value that are shown."""

BEFORE = 15
"""Characters that are shown before the place where two long values part."""

HIDDEN = "(hidden)"
HIDDEN_NEW = "(hidden, another one)"

_OPEN = (("type",), ("immutable",), ("metadata", "labels"), ("metadata", "name"), ("metadata", "namespace"))
"""What may be shown of a Secret: its annotations may repeat its data."""


def masked(change: ObjectChange, field: FieldChange) -> FieldChange:
    """Return a field without what must stay secret: all that a Secret holds, and what looks like a password elsewhere.
    That a hidden value differs still shows.
    """
    closed = change.kind == "/Secret" and not any(field.path[: len(way)] == way for way in _OPEN)
    names = [str(step).strip("[]") for step in field.path[-2:]]
    old, new = ((_closed(one) if closed else _hidden(one, names)) for one in (field.old, field.new))
    if old == new:
        new = _replaced(new)
    return FieldChange(field.path, old, new)


def _closed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _closed(each) for key, each in value.items()}
    return ABSENT if value is ABSENT else HIDDEN


def _hidden(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, dict):
        called = [str(value["name"])] if isinstance(value.get("name"), str) else []
        return {key: _hidden(each, [*called, str(key)]) for key, each in value.items()}
    if isinstance(value, list):
        return [_hidden(each, names) for each in value]
    if not isinstance(value, str):
        return value
    named = is_secret(value) and any(is_named_so(name) for name in names)
    return HIDDEN if named or holds_secret(value) else value


def holds_secret(text: str) -> bool:
    """Tell whether something in a text looks like a password or a key."""
    return bool(re.search(PRIVATE_KEY, text)) or in_address(text) or any(is_secret(one) for one in assigned(text))


def _replaced(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(each) for key, each in value.items()}
    return HIDDEN_NEW if value == HIDDEN else value


def way(path: Steps) -> str:
    """Return the way to a field as people write it: `spec.containers[web].image`."""
    return "".join(map(_step, path)).removeprefix(".")


def _step(step: str | int) -> str:
    text = str(step)
    if text.startswith("["):
        return one_line(text)
    return f"[{one_line(text)}]" if isinstance(step, int) or "." in text else f".{one_line(text)}"


def both(change: ObjectChange, field: FieldChange, most: int = LONG) -> tuple[str, str]:
    """Return the value before and after, each on one line and of so many characters at most; of long ones what
    differs.
    """
    found = masked(change, field)
    old, new = found.old, found.new
    if isinstance(old, str) and isinstance(new, str) and "\n" in f"{old}{new}":
        old, new = differing_lines(old, new)
    before, after = _text(old), _text(new)
    if _are_plain(old, new) and max(len(before), len(after)) > most:
        before, after = _others(old, new) or before, _others(new, old) or after
    start = 0
    if old is not ABSENT and new is not ABSENT and max(len(before), len(after)) > most:
        start = max(0, _parting(before, after) - BEFORE)
    return _short(before, start, most), _short(after, start, most)


def _are_plain(*values: Any) -> bool:
    """Tell whether all are lists of numbers and texts, and not only in another order."""
    lists = all(isinstance(one, list) and all(isinstance(each, (str, int)) for each in one) for one in values)
    return lists and set(values[0]) != set(values[1])


def _others(values: list[Any], known: list[Any]) -> str:
    """Return a list without what is in another one, too."""
    left = [json.dumps(one, ensure_ascii=False) for one in values if one not in known]
    return one_line(f"[{', '.join(['...', *left])}]" if len(left) < len(values) else "")


def differing_lines(old: str, new: str) -> tuple[Any, Any]:
    """Return two texts without the lines that both begin with, and those that both end with."""
    before, after = old.split("\n"), new.split("\n")
    pairs = list(zip(before, after, strict=False))
    start = next((number for number, (one, other) in enumerate(pairs) if one != other), len(pairs))
    before, after = before[start:], after[start:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    return "\n".join(before) if before else ABSENT, "\n".join(after) if after else ABSENT


def _parting(old: str, new: str) -> int:
    alike = (number for number, (one, other) in enumerate(zip(old, new, strict=False)) if one != other)
    return next(alike, min(len(old), len(new)))


def _text(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _short(text: str, start: int, most: int) -> str:
    end = start + most if len(text) > start + most + 3 else len(text)
    return f"{'...' * (start > 0)}{text[start:end]}{'...' * (len(text) > end)}"


def one_line(text: str) -> str:
    """Return text with escapes for line ends and all else that cannot be seen."""
    return text if text.isprintable() else "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
