"""Exact edits of sections: values on one line, keys, items of lists in brackets. As in `edit.py` no other line changes,
the result is proven by reading it again, and UsageError names the line to edit by hand.
"""

import re
from copy import deepcopy
from typing import Any

import msgspec

from generator.model.finding import Path
from generator.spec.document import Document, YamlNode, line_start
from generator.spec.edit import (
    alike,
    insert_items,
    line_after,
    node_at,
    opened,
    padding_of,
    proven,
    refuse,
    value_at,
    with_lines,
)
from generator.spec.scalars import inline


def put_value(text: str, path: Path, new: Any) -> str:
    """Write plain data in the place of what stands there on one line, or as a new key at the end of its section; on one
    line, and with the sections that are missing on the way.
    """
    document = opened(text)
    there = next(number for number in range(len(path), -1, -1) if _found(document, path[:number]))
    value, plain = deepcopy(document.value), msgspec.to_builtins(new)
    if there == len(path):
        edited = _replaced(document, path, plain)
        value_at(value, path[:-1])[path[-1]] = plain
        return proven(document, path, edited, value, text)
    for key in reversed(path[there + 1 :]):
        plain = {key: plain}
    parent, key = node_at(document, path[:there]), path[there]
    if not isinstance(parent.children, dict) or not isinstance(key, str):
        refuse(document, path, "what holds it is no section")
    value_at(value, path[:there])[key] = plain
    return proven(document, path, _with_key(document.text, parent, key, plain), value, text)


def copy_key(text: str, path: Path, name: str) -> str:
    """Write a key's lines once more behind them, with the comments in them, under another name."""
    document = opened(text)
    node, parent = node_at(document, path), node_at(document, path[:-1])
    if not isinstance(parent.children, dict) or parent.flow:
        refuse(document, path, "the section is written in braces, not with a line for each key")
    start, end = parent.keys[str(path[-1])]
    line, after = line_start(document.text, start), line_after(document.text, node)
    copied = document.text[line:start] + inline(name) + document.text[end:after].rstrip("\r\n")
    value = deepcopy(document.value)
    held = value_at(value, path[:-1])
    pairs = [(key, held[old]) for old in held for key in ((old, name) if old == path[-1] else (old,))]
    held.clear()
    held.update(pairs)
    lines = [each.rstrip("\r") for each in copied.split("\n")]
    return proven(document, path, with_lines(document.text, after, lines), value, text)


def append_item(text: str, path: Path, item: Any) -> str:
    """Add an item at the end of a list, in brackets on its line or as a line like the last one."""
    document = opened(text)
    node = node_at(document, path)
    if not (isinstance(node.children, list) and node.children and node.flow):
        return insert_items(text, path, [item])
    end, plain = node.children[-1].end, msgspec.to_builtins(item)
    value = deepcopy(document.value)
    value_at(value, path).append(plain)
    written = f", {inline(plain, padding=padding_of(document.text, node.children[-1]))}"
    return proven(document, path, document.text[:end] + written + document.text[end:], value, text)


def _found(document: Document, path: Path) -> bool:
    node: YamlNode | None = document.root
    for step in path:
        node = node.child(step) if node else None
    return node is not None


def _replaced(document: Document, path: Path, plain: Any) -> str:
    node = node_at(document, path)
    old = document.text[node.start : node.end]
    if not path or node.block or "\n" in old:
        refuse(document, path, "the value is more than one line")
    scalar = node.children is None and not isinstance(plain, (dict, list))
    written = alike(old, plain) if scalar and old else inline(plain, padding=padding_of(document.text, node))
    written = written if old else f" {written}"
    return document.text[: node.start] + written + document.text[node.end :]


def _with_key(text: str, parent: YamlNode, key: str, plain: Any) -> str:
    """Write a key behind the last one of its section, as that section is written."""
    children = parent.children
    written = f"{inline(key)}: {inline(plain, padding=padding_of(text, parent))}"
    if parent.block and isinstance(children, dict):
        first = min(start for start, _ in parent.keys.values())
        return with_lines(text, line_after(text, parent), [" " * (first - line_start(text, first)) + written])
    if isinstance(children, dict) and children:
        end = [*children.values()][-1].end
        return f"{text[:end]}, {written}{text[end:]}"
    return f"{text[: parent.start]}{{{written}}}{text[parent.end :]}"


def remove_key(text: str, path: Path) -> str:
    """Take a key with its value out of its section: its line, of which a comment stays, or its place between braces."""
    document = opened(text)
    parent, node = node_at(document, path[:-1]), node_at(document, path)
    if not isinstance(parent.children, dict) or (parent.block and len(parent.children) == 1):
        refuse(document, path, "it is all that its section holds" if parent.block else "what holds it is no section")
    cut = _of_braces if parent.flow else _of_lines
    edited = cut(document, path, parent, node)
    value = deepcopy(document.value)
    del value_at(value, path[:-1])[path[-1]]
    return proven(document, path, edited, value, text)


def _of_lines(document: Document, path: Path, parent: YamlNode, node: YamlNode) -> str:
    text, start = document.text, parent.keys[str(path[-1])][0]
    begin, after = line_start(text, start), line_after(text, node)
    if text[begin:start].strip(" "):
        refuse(document, path, "something else stands on its line")
    behind = text[node.end : after]
    comment = behind.lstrip(" \t")
    kept = text[begin:start] + comment if not node.block and comment.startswith("#") else ""
    return text[:begin] + kept + text[after:]


def _of_braces(document: Document, path: Path, parent: YamlNode, node: YamlNode) -> str:
    """Cut out the key with the comma behind it, or of the last one with the comma before it."""
    text, start = document.text, parent.keys[str(path[-1])][0]
    comma = re.compile(r"[ \t]*,[ \t]*").match(text, node.end)
    if comma:
        begin, rest = line_start(text, start), re.compile(r"\r?\n").match(text, comma.end())
        alone = rest is not None and not text[begin:start].strip(" \t")
        return text[:begin] + text[rest.end() :] if rest and alone else text[:start] + text[comma.end() :]
    before = re.search(r",[ \t]*\Z|(?<=\{)[ \t]*\Z", text[parent.start : start])
    if before is None:
        refuse(document, path, "the section in braces is written on several lines")
    return text[: parent.start + before.start()] + text[node.end :]
