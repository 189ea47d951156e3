"""Places in an object, as an API server writes them."""

import json
import re
from collections.abc import Mapping
from typing import Any

from generator.model.finding import Path

_INDEX = re.compile(r"\[([^\]]*)\]")


def path_of(manifest: Mapping[str, Any], text: str) -> Path:
    """Return the path to a place that a server names: `spec.ports[0].name`, `.spec.containers[name="x"].image`,
    `metadata.annotations[example.org/a]`. It ends where the object does: what is missing has no place of its own.
    """
    found: list[str | int] = []
    value: Any = manifest
    while text := text.removeprefix("."):
        key, text = _next(value, text)
        if key is None:
            break
        found.append(key)
        value = value[key]
    return tuple(found)


def _next(value: Any, text: str) -> tuple[str | int | None, str]:
    """Return the key or index that a place begins with, if the value has it, and the rest of the place."""
    if index := _INDEX.match(text):
        return _inside(value, index[1]), text[index.end() :]
    if not isinstance(value, dict):
        return None, ""
    # Keys may hold dots themselves (labels): the longest that fits is meant.
    fitting = [key for key in value if isinstance(key, str) and _begins(text, key)]
    key = max(fitting, key=len, default=None)
    return key, text[len(key or "") :]


def _begins(text: str, key: str) -> bool:
    return text.startswith(key) and text[len(key) : len(key) + 1] in {"", ".", "["}


def _inside(value: Any, words: str) -> str | int | None:
    if isinstance(value, dict):
        key = words.strip("\"'")
        return key if key in value else None
    if not isinstance(value, list):
        return None
    if words.isdigit():
        return int(words) if int(words) < len(value) else None
    wanted = _keys(words)
    return next((i for i, one in enumerate(value) if wanted and _has(one, wanted)), None)


def _keys(words: str) -> dict[str, Any]:
    """Read `containerPort=80,protocol="TCP"`."""
    pairs = (pair.partition("=") for pair in words.split(","))
    return {key: _value(value) for key, equals, value in pairs if equals}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _has(one: Any, wanted: dict[str, Any]) -> bool:
    # A key that is missing has its default, which only the server knows.
    return isinstance(one, dict) and all(one.get(key, value) == value for key, value in wanted.items())
