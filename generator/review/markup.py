"""HTML and SVG as text: what is handed in is text, and escaped, unless it was made here."""

import html
from collections.abc import Iterable
from typing import TypeAlias, Union

from generator.review.values import one_line


class Html(str):
    """Text that is markup."""

    __slots__ = ()


Part: TypeAlias = Union[str, Iterable["Part"]]  # noqa: UP007 - it names itself
EMPTY = Html()
_VOID = {"br", "meta", "rect", "line", "path", "circle"}


def tag(name: str, /, *parts: Part, **attributes: str | float | None) -> Html:
    """Return an element. A `_` at the end of an attribute's name is left out, one within it becomes a hyphen; those
    that are None are left out. `True` and `False` are no values: write the word.
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    opened = "".join(f' {key}="{html.escape(_number(value))}"' for key, value in pairs)
    if name in _VOID:
        return Html(f"<{name}{opened}/>")
    return Html(f"<{name}{opened}>{joined(parts)}</{name}>")


def joined(part: Part) -> Html:
    """Return parts one behind the other."""
    if isinstance(part, Html):
        return part
    if isinstance(part, str):
        return Html(html.escape(_seen(part), quote=False))
    return Html("".join(map(joined, part)))


def _seen(text: str) -> str:
    return "\n".join(map(one_line, text.split("\n")))


def _number(value: str | float) -> str:
    return one_line(value) if isinstance(value, str) else f"{value:g}"
