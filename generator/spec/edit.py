"""Exact edits of a cluster file: whole lines are spliced, and the result is proven by reading it again.

Paths are relative to the file. Every function returns the new text, in which no other line has changed,
or raises UsageError that names the line to edit by hand.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, NoReturn

import msgspec

from generator.errors import UsageError
from generator.model.finding import Path
from generator.spec.document import Document, YamlNode, line_start
from generator.spec.reader import read
from generator.spec.scalars import Scalar, inline

_MARK = "\ufeff"


def insert_items(text: str, path: Path, items: Sequence[Mapping[str, Any]], *, after: int | None = None) -> str:
    """Add items to the list behind the item `after`, or at its end, written as that neighbour is."""
    document = _document(text)
    found = _items(document, path)
    index = len(found) - 1 if after is None else after
    if not 0 <= index < len(found):
        _refuse(document, path, f"there is no item {index}")
    added = msgspec.to_builtins(items)
    like = _node(document, path), found[index]
    lines = [line for item in added for line in _lines_like(document.text, *like, item)]
    value = deepcopy(document.value)
    _at(value, path)[index + 1 : index + 1] = added
    at = _line_after(document.text, found[index])
    return _proven(document, path, _with_lines(document.text, at, lines), value, text)


def remove_items(text: str, path: Path, indexes: Iterable[int]) -> str:
    """Take items out of the list, each with its lines and the comments between them."""
    document, gone = _document(text), sorted(set(indexes))
    items = _items(document, path)
    for index in gone:
        if not 0 <= index < len(items):
            _refuse(document, path, f"there is no item {index}")
    if len(items) == len(gone):
        _refuse(document, path, f"it is the {'only item' if len(gone) == 1 else 'whole'} of the list")
    value, edited = deepcopy(document.value), document.text
    for index in reversed(gone):
        del _at(value, path)[index]
    for start, end in reversed(_spans(document, _node(document, path), [items[index] for index in gone])):
        edited = _without(edited, start, end)
    return _proven(document, path, edited, value, text)


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


def put_value(text: str, path: Path, new: Any) -> str:
    """Write plain data in the place of what stands there on one line, or as a new key at the end of its section; on one
    line, and with the sections that are missing on the way.
    """
    document = _document(text)
    there = next(number for number in range(len(path), -1, -1) if _found(document, path[:number]))
    value, plain = deepcopy(document.value), msgspec.to_builtins(new)
    if there == len(path):
        _at(value, path[:-1])[path[-1]] = plain
        return _proven(document, path, _replaced(document, path, plain), value, text)
    for key in reversed(path[there + 1 :]):
        plain = {key: plain}
    parent, key = _node(document, path[:there]), path[there]
    if not isinstance(parent.children, dict) or not isinstance(key, str):
        _refuse(document, path, "what holds it is no section")
    _at(value, path[:there])[key] = plain
    return _proven(document, path, _with_key(document.text, parent, key, plain), value, text)


def remove_key(text: str, path: Path) -> str:
    """Take a key out of its section, with its value and the comments in it."""
    document = _document(text)
    node, parent = _node(document, path), _node(document, path[:-1])
    if not isinstance(parent.children, dict):
        _refuse(document, path, "what holds it is no section")
    value = deepcopy(document.value)
    del _at(value, path[:-1])[path[-1]]
    keys = [*parent.children]
    number, first = keys.index(str(path[-1])), parent.keys[str(path[-1])][0]
    if parent.block:
        start, end = line_start(document.text, first), _line_after(document.text, node)
    elif number + 1 < len(keys):
        start, end = first, parent.keys[keys[number + 1]][0]
    else:
        start, end = parent.children[keys[number - 1]].end if number else first, node.end
    if parent.flow and "\n" in document.text[start:end]:
        _refuse(document, path, "it stands on more than one line")
    return _proven(document, path, _without(document.text, start, end), value, text)


def copy_key(text: str, path: Path, name: str) -> str:
    """Write a key's lines once more behind them, with the comments in them, under another name."""
    document = _document(text)
    node, parent = _node(document, path), _node(document, path[:-1])
    if not isinstance(parent.children, dict) or parent.flow:
        _refuse(document, path, "the section is written in braces, not with a line for each key")
    start, end = parent.keys[str(path[-1])]
    line, after = line_start(document.text, start), _line_after(document.text, node)
    copied = document.text[line:start] + inline(name) + document.text[end:after].rstrip("\r\n")
    value = deepcopy(document.value)
    held = _at(value, path[:-1])
    pairs = [(key, held[old]) for old in held for key in ((old, name) if old == path[-1] else (old,))]
    held.clear()
    held.update(pairs)
    lines = [each.rstrip("\r") for each in copied.split("\n")]
    return _proven(document, path, _with_lines(document.text, after, lines), value, text)


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


def _found(document: Document, path: Path) -> bool:
    node: YamlNode | None = document.root
    for step in path:
        node = node.child(step) if node else None
    return node is not None


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _replaced(document: Document, path: Path, plain: Any) -> str:
    node = _node(document, path)
    old = document.text[node.start : node.end]
    if not path or node.block or "\n" in old:
        _refuse(document, path, "the value is more than one line")
    scalar = node.children is None and not isinstance(plain, (dict, list))
    written = _like(old, plain) if scalar and old else inline(plain, padding=_padding(document.text, node))
    written = written if old else f" {written}"
    return document.text[: node.start] + written + document.text[node.end :]


def _padding(text: str, node: YamlNode) -> str:
    return " " if text[node.start : node.start + 2] == "{ " else ""


def _with_key(text: str, parent: YamlNode, key: str, plain: Any) -> str:
    """Write a key behind the last one of its section, as that section is written."""
    children = parent.children
    written = f"{inline(key)}: {inline(plain, padding=_padding(text, parent))}"
    if parent.block and isinstance(children, dict):
        first = min(start for start, _ in parent.keys.values())
        return _with_lines(text, _line_after(text, parent), [" " * (first - line_start(text, first)) + written])
    if isinstance(children, dict) and children:
        end = [*children.values()][-1].end
        return f"{text[:end]}, {written}{text[end:]}"
    return f"{text[: parent.start]}{{{written}}}{text[parent.end :]}"


def _spans(document: Document, items: YamlNode, gone: Iterable[YamlNode]) -> list[tuple[int, int]]:
    """Return where the lines of items begin and end, those that follow on each other as one."""
    spans: list[tuple[int, int]] = []
    for item in gone:
        start = line_start(document.text, _dash(document.text, items, item))
        end = _line_after(document.text, item)
        first = spans.pop()[0] if spans and spans[-1][1] == start else start
        spans.append((first, end))
    return spans


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
        return [f"{indent}-{gap}{inline(item, padding=_padding(text, neighbour))}"]
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
