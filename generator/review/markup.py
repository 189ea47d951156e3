"""HTML and SVG as text: what is handed in is text, and escaped, unless it was made here."""

import html
import re
from collections.abc import Iterable
from typing import TypeAlias, Union

from generator.review.values import one_line


class Html(str):
    """Text that is markup."""

    __slots__ = ()


Part: TypeAlias = Union[str, Iterable["Part"]]  # noqa: UP007 - it names itself
EMPTY = Html()
_VOID = {"br", "wbr", "meta", "rect", "line", "path", "circle"}


def tag(name: str, /, *parts: Part, **attributes: str | float | None) -> Html:
    """Return an element. A `_` at the end of an attribute's name is left out, one within it becomes a hyphen; those
    that are None are left out. `True` and `False` are no values: write the word.
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    opened = "".join(f' {key}="{html.escape(_number(value))}"' for key, value in pairs)
    if name in _VOID:
        return Html(f"<{name}{opened}/>")
    return Html(f"<{name}{opened}>{joined(parts)}</{name}>")


def prose(text: str) -> list[Html]:
    """Return a sentence of gen's own: what stands between backticks is code, and so are codes of rules. Code is broken
    between its words, and within one only where it is longer than a line.
    """
    parts = re.split(r"`([^`]+)`|(\(?GEN-[A-Z0-9]+-\d+\)?)", text)
    return [_code(part) if number % 3 else joined(part) for number, part in enumerate(parts) if part]


def _code(text: str) -> Html:
    first, *others = (tag("span", word, class_="word") for word in text.split(" "))
    return tag("code", first, [(" ", other) for other in others])


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
