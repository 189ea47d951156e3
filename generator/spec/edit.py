"""Exact edits of a cluster file: whole lines are spliced, and the result is proven by reading it again.

Paths are relative to the file. Every function returns the new text, in which no other line has changed,
or raises UsageError that names the line to edit by hand.
"""

import re
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any, NoReturn

import msgspec

from generator.errors import UsageError
from generator.model.finding import Path
from generator.spec.document import Document, YamlNode, line_start
from generator.spec.reader import read
from generator.spec.scalars import Scalar, inline

_MARK = "\ufeff"


def insert_items(text: str, path: Path, items: Sequence[Any], *, after: int | None = None) -> str:
    """Add items to the list behind the item `after`, or at its end, written as that neighbour is."""
    document = opened(text)
    found = _items(document, path)
    index = len(found) - 1 if after is None else after
    if not 0 <= index < len(found):
        refuse(document, path, f"there is no item {index}")
    added = msgspec.to_builtins(items)
    like = node_at(document, path), found[index]
    lines = [line for item in added for line in _lines_like(document.text, *like, item)]
    value = deepcopy(document.value)
    value_at(value, path)[index + 1 : index + 1] = added
    at = _behind(document.text, found[index], _column(document.text, like[0]))
    return proven(document, path, with_lines(document.text, at, lines), value, text)


def remove_items(text: str, path: Path, indexes: Iterable[int]) -> str:
    """Take items out of the list, each with its lines and its comments: those between them, those that stand deeper
    than its dash below it, and those right above it that name it, or that nothing follows any more.
    """
    document, gone = opened(text), sorted(set(indexes))
    items = _items(document, path)
    for index in gone:
        if not 0 <= index < len(items):
            refuse(document, path, f"there is no item {index}")
    if len(items) == len(gone):
        refuse(document, path, f"it is the {'only item' if len(gone) == 1 else 'whole'} of the list")
    value, edited, column = deepcopy(document.value), document.text, _column(document.text, node_at(document, path))
    for index in reversed(gone):
        item = value_at(value, path).pop(index)
        start = line_start(document.text, _dash(document.text, node_at(document, path), items[index]))
        end = _behind(document.text, items[index], column)
        above = _above(document.text, start, column)
        if _names(document.text[above:start], item) or (index > 0 and not _goes_on(edited[end:], column)):
            start = above
        edited = _without(edited, start, end)
    return proven(document, path, edited, value, text)


def set_value(text: str, path: Path, new: Scalar) -> str:
    """Put another scalar in the place of one that stands on one line."""
    document = opened(text)
    node = node_at(document, path)
    old = document.text[node.start : node.end]
    if not path or node.children is not None or "\n" in old:
        refuse(document, path, "the value is more than one line or one scalar")
    value = deepcopy(document.value)
    value_at(value, path[:-1])[path[-1]] = msgspec.to_builtins(new)
    written = alike(old, new) if old else f" {inline(new)}"
    return proven(document, path, document.text[: node.start] + written + document.text[node.end :], value, text)


def opened(text: str) -> Document:
    """Read a text that is to be edited; raises UsageError where it cannot be read."""
    document = read(text, "the cluster file")
    if document.findings:
        first = document.findings[0]
        at, _ = document.locate(first)
        raise UsageError(f"line {at.line}, column {at.column}: {first.message}; mend this first: {first.fix}")
    return document


def refuse(document: Document, path: Path, why: str) -> NoReturn:
    """Raise UsageError: this cannot be edited exactly, and why."""
    line = document.position(path).line
    name = ".".join(map(str, path)) or "the file"
    raise UsageError(f"line {line}: {name} cannot be edited exactly: {why}; edit it there by hand")


def proven(document: Document, path: Path, edited: str, value: Any, text: str) -> str:
    """Return the edited text if it reads as `value`, type by type and in the same order."""
    again = read(edited, document.file)
    if again.findings or repr(again.value) != repr(value):
        refuse(document, path, "its layout is too unusual for a change of single lines")
    return _MARK + edited if text.startswith(_MARK) else edited


def node_at(document: Document, path: Path) -> YamlNode:
    """Return where a value stands; raises UsageError."""
    node = document.root
    for step in path:
        child = node.child(step)
        if child is None:
            refuse(document, path, "there is no such value")
        node = child
    return node


def _items(document: Document, path: Path) -> list[YamlNode]:
    node = node_at(document, path)
    if not isinstance(node.children, list):
        refuse(document, path, "it is not a list")
    if node.flow:
        refuse(document, path, "the list is written in brackets, not with a `-` for each item")
    return node.children


def value_at(value: Any, path: Path) -> Any:
    """Return what is at the path in plain data."""
    for step in path:
        value = value[step]
    return value


def padding_of(text: str, node: YamlNode) -> str:
    """Return what stands behind the opening brace of a mapping."""
    return " " if text[node.start : node.start + 2] == "{ " else ""


def line_after(text: str, node: YamlNode) -> int:
    """Return where the line behind a value begins. The `end` of a block collection would be too late."""
    while node.block and node.children:
        node = [*node.children.values()][-1] if isinstance(node.children, dict) else node.children[-1]
    if text[node.start : node.end].endswith("\n"):
        return node.end
    found = text.find("\n", node.end)
    return found + 1 if found >= 0 else len(text)


def _column(text: str, items: YamlNode) -> int:
    """Return the column in which the dashes of a list stand."""
    return items.start - line_start(text, items.start)


def _comment(text: str, at: int) -> int:
    """Return the column in which a line's comment begins that has nothing before it, -1 for any other line."""
    line = text[at:].partition("\n")[0]
    bare = line.lstrip(" ")
    return len(line) - len(bare) if bare.startswith("#") else -1


def _behind(text: str, item: YamlNode, column: int) -> int:
    """Return where the lines of an item end: comments that stand deeper than its dash are about it."""
    at = line_after(text, item)
    while at < len(text) and _comment(text, at) > column:
        at = text.find("\n", at) + 1 or len(text)
    return at


def _above(text: str, start: int, column: int) -> int:
    """Return where the comments begin that stand right above an item, in the column of its dash."""
    while start and _comment(text, line := line_start(text, start - 1)) == column:
        start = line
    return start


def _names(comments: str, item: Any) -> bool:
    name = str(item.get("name", "")) if isinstance(item, dict) else ""
    return bool(name and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", comments))


def _goes_on(text: str, column: int) -> bool:
    """Tell whether the next line that is not blank is another item, under the same comment."""
    return re.match(rf"(?: *\r?\n)* {{{column}}}-", text) is not None


def _dash(text: str, items: YamlNode, item: YamlNode) -> int:
    """Return the offset of an item's dash, which stands in the column of the first one, maybe lines above."""
    column = _column(text, items)
    line = line_start(text, item.start)
    while line + column > items.start and text[line : line + column + 1] != " " * column + "-":
        line = line_start(text, line - 1)
    return line + column


def _lines_like(text: str, items: YamlNode, neighbour: YamlNode, item: Any) -> list[str]:
    dash = _dash(text, items, neighbour)
    gap = text[dash + 1 : neighbour.start]
    gap = gap if gap and not gap.strip(" ") else " "
    indent = " " * (dash - line_start(text, dash))
    if neighbour.flow or not neighbour.block or not isinstance(item, dict) or not item:
        return [f"{indent}-{gap}{inline(item, padding=padding_of(text, neighbour))}"]
    pairs = [f"{inline(key)}: {inline(each)}" for key, each in item.items()]
    return [f"{indent}-{gap}{pairs[0]}", *(f"{indent} {' ' * len(gap)}{pair}" for pair in pairs[1:])]


def with_lines(text: str, at: int, lines: list[str]) -> str:
    """Put lines in where a line begins, with the line ends of the text."""
    end = "\r\n" if "\r\n" in text else "\n"
    if text.endswith("\n") or at < len(text):
        return text[:at] + "".join(line + end for line in lines) + text[at:]
    return text + "".join(end + line for line in lines)


def _without(text: str, start: int, end: int) -> str:
    """Cut the lines out; a text without a final line end stays one."""
    if text[start:end].endswith("\n"):
        return text[:start] + text[end:]
    return text[:start].removesuffix("\n").removesuffix("\r")


def alike(old: str, new: Scalar) -> str:
    """Write a text in the quotes of the old one where it needs no escapes."""
    if isinstance(new, str) and old[0] in "'\"" and new.isprintable() and not set(new) & {"'", '"', "\\"}:
        return f"{old[0]}{new}{old[0]}"
    return inline(new)
