"""Sides of a comparison that are made of texts."""

from collections.abc import Iterable, Mapping

from generator.repository.sides import Side, identity


def side(texts: Mapping[str, str]) -> Side:
    """Return a side of these files, by path."""
    contents = {path: text.encode() for path, text in texts.items()}

    def listed(places: Iterable[str]) -> dict[str, str]:
        below = tuple(f"{place}/" for place in places)
        return {path: identity(content) for path, content in contents.items() if f"{path}/".startswith(below)}

    return Side("a side", listed, contents.__getitem__, contents.keys)
