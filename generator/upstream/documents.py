"""A stream of YAML documents, read as Helm and kubectl read it, each with the template it came from."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import yaml
from msgspec import Struct

from generator.upstream.scalars import key_text, plain, tagged

__all__ = ["Document", "UnreadableError", "documents"]

_SOURCE = re.compile(r"^# Source: (\S.*?)\s*$", re.MULTILINE)
_DEEPEST = 200
_MOST = 3_000_000
_MERGE = object()


class UnreadableError(ValueError):
    """A stream that is not YAML, or more than Kubernetes could hold; the text says where and why."""


class Document(Struct, frozen=True):
    """One document: `source` is the template's path as Helm tells it ("" where nobody does)."""

    source: str
    value: Any


def documents(text: str) -> list[Document]:
    """Return every document of a stream, null ones too. A key that comes twice counts as it came last, as with Helm.

    Raises UnreadableError.
    """
    marks = [(found.start(), found[1]) for found in _SOURCE.finditer(text)]
    lines = [text.count("\n", 0, at) for at, _ in marks]
    try:
        return [
            Document(marks[index - 1][1] if (index := bisect_right(lines, line)) else "", value)
            for line, value in _values(text)
        ]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise UnreadableError(f"{where}{getattr(error, 'problem', None) or error}") from None


def _values(text: str) -> Iterator[tuple[int, Any]]:
    builder, line = _Builder(), -1
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.DocumentStartEvent):
            builder, line = _Builder(), -1
        elif isinstance(event, yaml.DocumentEndEvent):
            yield line, builder.root
        elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            line = _line(event) if line < 0 else line
            builder.take(event)


def _line(event: Any) -> int:
    return int(event.start_mark.line)


class _Builder:
    """Builds one document from events, without recursion."""

    def __init__(self) -> None:
        self.root: Any = None
        self._open: list[_Level] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._size = 0

    def take(self, event: Any) -> None:
        """Take the next event. Raises UnreadableError."""
        try:
            self._take(event)
        except ValueError as error:
            raise UnreadableError(f"line {_line(event) + 1}: {error}") from None

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.CollectionEndEvent):
            level = self._open.pop()
            level.close()
            if level.anchor:
                self._anchors[level.anchor] = (level.value, self._size - level.begun)
        elif isinstance(event, yaml.AliasEvent):
            value, size = self._anchor(str(event.anchor))
            self._put(value, size)
        elif isinstance(event, yaml.ScalarEvent):
            value = _scalar(event, is_key=bool(self._open) and self._open[-1].wants_key)
            self._put(value, 1)
            if event.anchor:
                self._anchors[event.anchor] = (value, 1)
        else:
            self._begin(event)

    def _begin(self, event: Any) -> None:
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        if len(self._open) == _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} levels deep")
        begun = self._size
        self._put(value, 1)
        self._open.append(_Level(value, event.anchor, begun))

    def _anchor(self, name: str) -> tuple[Any, int]:
        if name not in self._anchors:
            raise ValueError(f"there is no finished anchor {name}")
        return self._anchors[name]

    def _put(self, value: Any, size: int) -> None:
        # What an alias repeats counts each time: a few lines could stand for more than any memory holds.
        self._size += size
        if self._size > _MOST:
            raise ValueError(f"more than {_MOST} values in one document")
        if self._open:
            self._open[-1].put(value)
        else:
            self.root = value


class _Level:
    """A map or list that is not closed yet."""

    def __init__(self, value: Any, anchor: str | None, begun: int) -> None:
        self.value = value
        self.anchor = anchor
        self.begun = begun
        self.wants_key = isinstance(value, dict)
        self._key: Any = None
        self._merged: list[Any] = []

    def put(self, value: Any) -> None:
        """Add an item, or a key and then its value. Raises ValueError."""
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.wants_key:
            self._key = value if value is _MERGE else key_text(value)
            self.wants_key = False
        else:
            self.wants_key = True
            self._enter(value)

    def _enter(self, value: Any) -> None:
        if self._key is _MERGE:
            self._merged.append(value)
        else:
            self.value[self._key] = value

    def close(self) -> None:
        """Take over what `<<` names: keys of the map's own win, then the first. Raises ValueError."""
        for value in self._merged:
            for each in value if isinstance(value, list) else [value]:
                if not isinstance(each, dict):
                    raise ValueError("`<<` takes maps")  # noqa: TRY004 - a mistake of the text
                self.value.update({key: item for key, item in each.items() if key not in self.value})


def _scalar(event: Any, *, is_key: bool) -> Any:
    if event.tag and event.tag != "!":
        return tagged(event.value, event.tag)
    if not event.implicit[0]:
        return event.value
    if is_key and event.value == "<<":
        return _MERGE
    return plain(event.value)
