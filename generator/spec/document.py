"""A cluster file as read: its values, and where each of them stands in the text."""

from bisect import bisect_right
from functools import cached_property
from typing import Any, TypeAlias

from msgspec import Struct

from generator.model.finding import Finding, Path, Position
from generator.model.rule import Explained

BESIDE_SPEC = frozenset({"metadata", "kind", "apiVersion"})
"""What a cluster file holds beside `spec`."""

MERGE = "<<"
"""The key of YAML 1.1 whose value gives others."""

Span: TypeAlias = tuple[int, int]
"""Offsets of the first character and of the one behind the last."""


class YamlNode(Struct, gc=False):
    """Where one value stands: `start` and `end` are offsets into the text.

    `children` is None for a scalar; `keys` holds the offsets of a mapping's keys. `flow` is true inside
    brackets or braces. The `end` of a block collection may lie behind later comments.
    """

    start: int
    end: int
    flow: bool = False
    children: "dict[str, YamlNode] | list[YamlNode] | None" = None
    keys: dict[str, Span] = {}

    @property
    def block(self) -> bool:
        """A collection written without brackets or braces."""
        return self.children is not None and not self.flow

    def child(self, step: str | int) -> "YamlNode | None":
        """Return the value under a key or at an index, None where there is none."""
        if isinstance(self.children, dict):
            return self.children.get(step) if isinstance(step, str) else None
        if isinstance(self.children, list) and isinstance(step, int) and 0 <= step < len(self.children):
            return self.children[step]
        return None


class Lines:
    """Turns offsets into lines and columns. Only a line feed ends a line."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        """Offset of the first character of each line."""
        starts, found = [0], self.text.find("\n")
        while found >= 0:
            starts.append(found + 1)
            found = self.text.find("\n", found + 1)
        return starts

    def span(self, number: int) -> Span:
        """Return where line `number` (from 1) begins and ends, its line end left out; empty when there is none."""
        if not 1 <= number <= len(self.starts):
            return len(self.text), len(self.text)
        start = self.starts[number - 1]
        stop = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return start, stop - (stop > start and self.text[stop - 1] == "\r")

    def position(self, start: int, end: int) -> Position:
        """Return the place of the characters from `start` to `end`, cut off where the first line ends."""
        number = bisect_right(self.starts, start)
        begin, stop = self.span(number)
        return Position(number, start - begin + 1, max(start, min(end, stop)) - begin + 1)

    def finding(self, code: Explained, message: str, fix: str, span: Span, also: Span | None = None) -> Finding:
        """Return what is wrong as YAML with the characters of a span, and with others."""
        at, other = self.position(*span), also and self.position(*also)
        return code.complete(Finding(message=printable(message), fix=printable(fix), at=at, also=other))


def from_the_top(at: Path) -> Path:
    """Return a finding's path as one from the beginning of the file."""
    return at if not at or at[0] in BESIDE_SPEC else ("spec", *at)


def line_start(text: str, offset: int) -> int:
    """Return where the line of a character begins."""
    return text.rfind("\n", 0, offset) + 1


def printable(text: str) -> str:
    """Return words of a message with escapes for what a terminal would not show, cut off where they are very long."""
    text = text if len(text) <= 300 else f"{text[:300]}..."
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


class Document:
    """One cluster file.

    `file` is the name as printed, `text` what was read without a byte order mark, `value` plain dicts,
    lists and scalars by YAML 1.2 (an empty dict where the file is no mapping or no YAML), and `findings`
    what is wrong with it as YAML, in the order of the text. `rest` is what could be read behind a syntax error, if
    any. Paths here are relative to the file.
    """

    def __init__(  # noqa: PLR0913 - what reading gives
        self,
        file: str,
        text: str,
        *,
        value: Any = None,
        root: YamlNode | None = None,
        findings: tuple[Finding, ...] = (),
        rest: "Document | None" = None,
    ) -> None:
        self.file = file
        self.text = text
        self.value: Any = {} if value is None else value
        self.root = YamlNode(0, 0, children={}) if root is None else root
        self.findings = findings
        self.rest = rest
        self._lines = Lines(text)

    def position(self, path: Path, *, key: bool = False) -> Position:
        """Return where the value stands, or its key.

        A block collection and an empty value are shown by their key. Where the path leads nowhere the
        nearest ancestor is shown, by its key where it has one.
        """
        node, span = self.root, None
        for step in path:
            child = node.child(step)
            if child is None:
                key = True
                break
            node, span = child, node.keys.get(step) if isinstance(step, str) else None
        if span and (key or node.block or node.start == node.end):
            return self._lines.position(*span)
        start, stop = _extent(node)
        # An item with nothing in it is shown by its dash.
        return self._lines.position(start - (start == stop and self.text[start - 1 : start] == "-"), stop)

    def has(self, path: Path) -> bool:
        """Tell whether something stands at the end of the path."""
        return self._node(path) is not None

    def _node(self, path: Path) -> YamlNode | None:
        node: YamlNode | None = self.root
        for step in path:
            node = node.child(step) if node is not None else None
        return node

    def raw(self, path: Path) -> str | None:
        """Return a scalar's own text as written, quotes included; None when the path leads to no scalar."""
        node = self._node(path)
        return self.text[node.start : node.end] if node is not None and node.children is None else None

    def line(self, number: int) -> str:
        """Return the text of a line (from 1) without its end; empty when there is no such line."""
        start, stop = self._lines.span(number)
        return self.text[start:stop]

    def locate(self, finding: Finding) -> tuple[Position, Position | None]:
        """Return the places that a finding names in its `at` and `also`."""
        also = None if finding.also is None else self._place(finding.also)
        return self._place(finding.at, key=finding.key), also

    def _place(self, at: Path | Position, *, key: bool = False) -> Position:
        if isinstance(at, Position):
            return at
        return self.position(from_the_top(at), key=key)


def _extent(node: YamlNode) -> Span:
    """Return the offsets that show a value; of a block collection its first entry."""
    start = node.start
    while node.block and isinstance(node.children, list):
        node = node.children[0]
    if not (node.block and isinstance(node.children, dict) and node.children):
        return start, node.end
    key, value = next(iter(node.children.items()))
    end = node.keys[key][1]
    return start, end if value.block else max(end, value.end)
