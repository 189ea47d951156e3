"""Sides of a comparison that are made in memory."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from generator.repository.sides import Side, identity


def side(files: Mapping[str, Any]) -> Side:
    """Return a side of these files, whose content is a text, a document, or a list of documents."""
    contents = {path: (one if isinstance(one, str) else dumped(one)).encode() for path, one in files.items()}

    def listed(places: Iterable[str]) -> dict[str, str]:
        wanted = tuple(places)
        below = tuple(f"{place}/" for place in wanted)
        return {path: identity(one) for path, one in contents.items() if path in wanted or path.startswith(below)}

    return Side("a side", listed, lambda path: contents.get(path, b""))


def dumped(content: Any) -> str:
    """Write documents as YAML."""
    return yaml.safe_dump_all(content if isinstance(content, list) else [content])
