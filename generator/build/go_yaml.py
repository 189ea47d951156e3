"""YAML as Helm, kubectl and the API server read it: YAML 1.1 as their Go library (sigs.k8s.io/yaml) does. Any number of
documents, without recursion.

Charts are tried with these programs, so their reading is what upstream meant. Kustomize reads some scalars in another
way (`yes` as text, a date as a point in time); what gen writes all of them read alike.
"""

import base64
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

import yaml

_DEEPEST = 200
_MOST = 3_000_000
# Characters of text that count as one more value.
_TEXT = 64
_MERGE = object()

GoScalar = str | int | float | bool | None

_WORDS: dict[str, GoScalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?", re.ASCII)
_WHOLE = (
    (re.compile(r"([-+]?)0[bB]([01]+)"), 2),
    (re.compile(r"([-+]?)0[oO]?([0-7]+)"), 8),
    (re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)"), 16),
    (re.compile(r"([-+]?)(0|[1-9][0-9]{0,4000})"), 10),
)
_LONG = "tag:yaml.org,2002:"


class UnreadableError(ValueError):
    """A stream that is not YAML, or more than Kubernetes could hold: the line, from 1, and why, in one line."""

    def __init__(self, line: int, why: str) -> None:
        self.line = line
        self.why = why
        super().__init__(f"line {line}: {why}")


def numbered(content: str | bytes, *, strict: bool = False) -> Iterator[tuple[int, Any]]:
    """Yield every document, null ones too, with the line at which its value begins, counted from 0. A key that comes
    twice counts as it came last, and is refused with `strict`. Raises UnreadableError.
    """
    reader, line, begun = _Reader(strict=strict), 0, -1
    events: Iterator[Any] = yaml.parse(content, Loader=yaml.CSafeLoader)
    try:
        for event in events:
            line = event.start_mark.line
            if isinstance(event, yaml.DocumentStartEvent):
                reader.start()
                begun = -1
            elif isinstance(event, yaml.DocumentEndEvent):
                yield begun, reader.document[0]
            else:
                begun = line if begun < 0 else begun
                reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        why = ", ".join(filter(None, (error.context, error.problem)))
        raise UnreadableError(mark.line + 1 if mark else 1, why) from None
    except yaml.reader.ReaderError as error:
        before: Any = content[: error.position]
        breaks = before.count("\n" if isinstance(content, str) else b"\n")
        raise UnreadableError(breaks + 1, str(error.reason)) from None
    except ValueError as error:
        raise UnreadableError(line + 1, str(error)) from None


class _List:
    """A list that is not closed yet, its anchor, and how many values came before it."""

    wants_key = False

    def __init__(self, anchor: str | None = None, before: int = 0) -> None:
        self.value: list[Any] = []
        self.anchor = anchor
        self.before = before
        self.put = self.value.append

    def close(self) -> None:
        """Nothing is left to do."""


class _Map:
    """A map that is not closed yet, as `_List`."""

    def __init__(self, anchor: str | None, before: int, *, strict: bool) -> None:
        self.value: dict[str, Any] = {}
        self.strict = strict
        self.anchor = anchor
        self.before = before
        self.wants_key = True
        self._key: Any = None
        self._merged: list[Any] = []

    def put(self, value: Any) -> None:
        """Take a key, and then its value. Raises ValueError."""
        self.wants_key = not self.wants_key
        if not self.wants_key:
            self._key = value if value is _MERGE else key_text(value)
            if self.strict and self._key in self.value:
                raise ValueError(f"the key `{self._key}` is there twice, and only one of them would count")
        elif self._key is _MERGE:
            self._merged.append(value)
        else:
            self.value[self._key] = value

    def close(self) -> None:
        """Take over what `<<` names: keys of the map's own win, then the first. Raises ValueError."""
        for each in chain.from_iterable(one if isinstance(one, list) else [one] for one in self._merged):
            if not isinstance(each, dict):
                raise ValueError("`<<` takes maps")  # noqa: TRY004 - a mistake of the text
            self.value.update({key: item for key, item in each.items() if key not in self.value})


class _Reader:
    """Builds one document after the other from events. What an alias repeats counts each time: a few lines could stand
    for more than any memory holds.
    """

    def __init__(self, *, strict: bool) -> None:
        self._size = 0
        self._strict = strict
        self.start()

    def start(self) -> None:
        """Begin a document, which is the only item of `document` in the end."""
        root = _List()
        self.document = root.value
        self._open: list[_List | _Map] = [root]
        self._anchors: dict[str, tuple[Any, int]] = {}

    def take(self, event: Any) -> None:
        """Take the next event within a document. Raises ValueError."""
        if isinstance(event, yaml.ScalarEvent):
            # Text counts, too: an alias repeats it.
            value, size = self._scalar(event), 1 + len(event.value) // _TEXT
            self._put(value, size)
            if event.anchor:
                self._anchors[event.anchor] = (value, size)
        elif isinstance(event, yaml.CollectionStartEvent):
            is_map = isinstance(event, yaml.MappingStartEvent)
            level = self._map(event) if is_map else _List(event.anchor, self._size)
            self._put(level.value, 1)
            if len(self._open) > _DEEPEST:
                raise ValueError(f"more than {_DEEPEST} levels deep")
            self._open.append(level)
        elif isinstance(event, yaml.CollectionEndEvent):
            level = self._open.pop()
            level.close()
            if level.anchor:
                self._anchors[level.anchor] = (level.value, self._size - level.before)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise ValueError(f"there is no finished anchor {event.anchor}")
            self._put(*self._anchors[event.anchor])

    def _map(self, event: Any) -> _List | _Map:
        return _Map(event.anchor, self._size, strict=self._strict)

    def _scalar(self, event: Any) -> Any:
        if event.tag and event.tag != "!":
            return tagged(event.value, event.tag)
        if not event.implicit[0]:
            return event.value
        return _MERGE if event.value == "<<" and self._open[-1].wants_key else plain(event.value)

    def _put(self, value: Any, size: int) -> None:
        self._size += size
        if self._size > _MOST:
            raise ValueError(f"more than {_MOST} values")
        self._open[-1].put(value)


@lru_cache(maxsize=4096)
def plain(text: str) -> GoScalar:
    """Return the value of an unquoted scalar. Numbers are as JSON makes them: `1.0` is 1. Raises ValueError for what
    JSON cannot say (`.inf`, `.nan`).
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS or _DATE.fullmatch(text):
        return text
    if text.lstrip("+-").lower() in {".inf", ".nan"} and text[-3:] in {"inf", "Inf", "INF", "nan", "NaN", "NAN"}:
        raise ValueError(f"{text}: JSON, and so Kubernetes, has no such number")
    return _number(text)


def _number(text: str) -> GoScalar:
    bare = text if text.startswith(".") else text.replace("_", "")
    for pattern, base in _WHOLE:
        if found := pattern.fullmatch(bare):
            value = int(found[1] + found[2], base)
            if -(2**63) <= value < 2**64:
                return value
    return _fraction(bare) if _FLOAT.fullmatch(bare) else text


def _fraction(text: str) -> GoScalar:
    value = float(text)
    if math.isinf(value):
        return text
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def tagged(text: str, tag: str) -> GoScalar:
    """Return the value of a scalar with an explicit tag. Raises ValueError where it does not fit."""
    kind = tag.removeprefix(_LONG)
    if kind == "binary":
        return base64.b64decode(text, validate=False).decode()
    if kind not in {"null", "bool", "int", "float"}:
        return text
    value = plain(text)
    fits = {"null": value is None, "bool": isinstance(value, bool), "float": isinstance(value, int | float)}
    if not fits.get(kind, isinstance(value, int)):
        raise ValueError(f"{text!r} is no {kind}")
    return value


def key_text(value: object) -> str:
    """Return a key of a map as JSON writes it. Raises ValueError for what cannot be one."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise ValueError(f"a key is {'null' if value is None else 'no scalar'}")
