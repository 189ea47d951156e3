"""Exact edits of a cluster file: whole lines are spliced, and the result is proven by reading it again.

Paths are relative to the file. Every function returns the new text, in which no other line has changed,
or raises UsageError that names the line to edit by hand.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NoReturn

import msgspec

from generator.errors import UsageError
from generator.model.finding import Path
from generator.spec.document import Document, YamlNode, line_start
from generator.spec.reader import read
from generator.spec.scalars import Scalar, inline

_MARK = "\ufeff"


def insert_item(text: str, path: Path, item: Mapping[str, Any], *, after: int | None = None) -> str:
    """Add an item to the list behind the item `after`, or at its end, written as that neighbour is."""
    document = _document(text)
    items = _items(document, path)
    index = len(items) - 1 if after is None else after
    if not 0 <= index < len(items):
        _refuse(document, path, f"there is no item {index}")
    added = msgspec.to_builtins(item)
    lines = _lines_like(document.text, _node(document, path), items[index], added)
    value = deepcopy(document.value)
    _at(value, path).insert(index + 1, added)
    return _proven(
        document, path, _with_lines(document.text, _line_after(document.text, items[index]), lines), value, text
    )


def remove_item(text: str, path: Path, index: int) -> str:
    """Take an item out of the list, with its lines and the comments between them."""
    document = _document(text)
    items = _items(document, path)
    if not 0 <= index < len(items):
        _refuse(document, path, f"there is no item {index}")
    if len(items) == 1:
        _refuse(document, path, "it is the only item of the list")
    value = deepcopy(document.value)
    del _at(value, path)[index]
    start = line_start(document.text, _dash(document.text, _node(document, path), items[index]))
    end = _line_after(document.text, items[index])
    return _proven(document, path, _without(document.text, start, end), value, text)


def set_value(text: str, path: Path, new: Scalar) -> str:
    """Put another scalar in the place of one that stands on one line."""
    document = _document(text)
    node = _node(document, path)
    old = document.text[node.start : node.end]
    if not path or node.children is not None or "\n" in old:
        _refuse(document, path, "the value is more than one line or one scalar")
    value = deepcopy(document.value)
    _at(value, path[:-1])[path[-1]] = msgspec.to_builtins(new)
    written = _like(old, new) if old else f" {inline(new)}"
    return _proven(document, path, document.text[: node.start] + written + document.text[node.end :], value, text)


def _document(text: str) -> Document:
    document = read(text, "the cluster file")
    if document.findings:
        first = document.findings[0]
        at, _ = document.locate(first)
        raise UsageError(f"line {at.line}, column {at.column}: {first.message}; mend this first: {first.fix}")
    return document


def _refuse(document: Document, path: Path, why: str) -> NoReturn:
    line = document.position(path).line
    name = ".".join(map(str, path)) or "the file"
    raise UsageError(f"line {line}: {name} cannot be edited exactly: {why}; edit it there by hand")


def _proven(document: Document, path: Path, edited: str, value: Any, text: str) -> str:
    """Return the edited text if it reads as `value`, type by type and in the same order."""
    again = read(edited, document.file)
    if again.findings or repr(again.value) != repr(value):
        _refuse(document, path, "its layout is too unusual for a change of single lines")
    return _MARK + edited if text.startswith(_MARK) else edited


def _node(document: Document, path: Path) -> YamlNode:
    node = document.root
    for step in path:
        child = node.child(step)
        if child is None:
            _refuse(document, path, "there is no such value")
        node = child
    return node


def _items(document: Document, path: Path) -> list[YamlNode]:
    node = _node(document, path)
    if not isinstance(node.children, list):
        _refuse(document, path, "it is not a list")
    if node.flow:
        _refuse(document, path, "the list is written in brackets, not with a `-` for each item")
    return node.children


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _line_after(text: str, node: YamlNode) -> int:
    """Return where the line behind a value begins. The `end` of a block collection would be too late."""
    while node.block and node.children:
        node = [*node.children.values()][-1] if isinstance(node.children, dict) else node.children[-1]
    if text[node.start : node.end].endswith("\n"):
        return node.end
    found = text.find("\n", node.end)
    return found + 1 if found >= 0 else len(text)


def _dash(text: str, items: YamlNode, item: YamlNode) -> int:
    """Return the offset of an item's dash, which stands in the column of the first one, maybe lines above."""
    column = items.start - line_start(text, items.start)
    line = line_start(text, item.start)
    while line + column > items.start and text[line : line + column + 1] != " " * column + "-":
        line = line_start(text, line - 1)
    return line + column


def _lines_like(text: str, items: YamlNode, neighbour: YamlNode, item: dict[str, Any]) -> list[str]:
    dash = _dash(text, items, neighbour)
    gap = text[dash + 1 : neighbour.start]
    gap = gap if gap and not gap.strip(" ") else " "
    indent = " " * (dash - line_start(text, dash))
    if neighbour.flow or not neighbour.block or not item:
        padding = " " if text[neighbour.start : neighbour.start + 2] == "{ " else ""
        return [f"{indent}-{gap}{inline(item, padding=padding)}"]
    pairs = [f"{inline(key)}: {inline(each)}" for key, each in item.items()]
    return [f"{indent}-{gap}{pairs[0]}", *(f"{indent} {' ' * len(gap)}{pair}" for pair in pairs[1:])]


def _with_lines(text: str, at: int, lines: list[str]) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    if text.endswith("\n") or at < len(text):
        return text[:at] + "".join(line + end for line in lines) + text[at:]
    return text + "".join(end + line for line in lines)


def _without(text: str, start: int, end: int) -> str:
    """Cut the lines out; a text without a final line end stays one."""
    if text[start:end].endswith("\n"):
        return text[:start] + text[end:]
    return text[:start].removesuffix("\n").removesuffix("\r")


def _like(old: str, new: Scalar) -> str:
    """Write a text in the quotes of the old one where it needs no escapes."""
    if isinstance(new, str) and old[0] in "'\"" and new.isprintable() and not set(new) & {"'", '"', "\\"}:
        return f"{old[0]}{new}{old[0]}"
    return inline(new)
