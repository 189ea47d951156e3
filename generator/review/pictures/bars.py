"""Bars: how much there is of something, and who has it."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from generator.review.markup import Html, tag
from generator.review.pictures.svg import WIDTH, At, box, picture, words

KINDS = ("fill-mild", "fill-gpu", "fill-felt", "fill-unknown", "fill-loud", "fill-quiet")
_HIGH = 22
_LEAST = 34
"""Pixels below which a part has no room for its name."""


class Bar(Struct, frozen=True, kw_only=True):
    """Parts of a whole. What the parts leave is free; where they are more than the whole, they fill the bar together
    and a mark shows where the whole ends. `caption` says it in words, `rest` what the free part is, `told` an amount.
    """

    name: str
    caption: str
    whole: int
    parts: tuple[tuple[str, int], ...] = ()
    rest: str = "free"
    told: Callable[[int], str] = str


def bar(one: Bar) -> Html:
    """Return one bar in words, as a picture, and what its colours mean."""
    caption = tag("figcaption", tag("strong", one.name), f" {one.caption}")
    return tag("figure", caption, parts(one), tag("ul", list(_legend(one)), class_="legend"), class_="bar")


def _legend(one: Bar) -> Iterator[Html]:
    free = one.whole - sum(amount for _, amount in one.parts)
    named = [(_kind(number), name, amount) for number, (name, amount) in enumerate(one.parts)]
    for kind, name, amount in (*named, ("fill-free", one.rest, free)):
        if amount > 0:
            yield tag("li", tag("span", "", class_=f"spot {kind}"), f"{name}: {one.told(amount)}")


def _kind(number: int) -> str:
    return KINDS[number % len(KINDS)]


def parts(one: Bar) -> Html:
    """Draw one bar."""
    total = max(one.whole, sum(amount for _, amount in one.parts), 1)
    shapes = [box(At(0, 0, WIDTH, _HIGH), "fill-free")]
    left = 0.0
    for number, (name, amount) in enumerate(one.parts):
        width = WIDTH * amount / total
        shapes.append(box(At(left, 0, width, _HIGH), _kind(number), f"{name}: {one.told(amount)}"))
        if width >= _LEAST:
            shapes.append(words(At(left + 4, 15, width - 8), name, "on"))
        left += width
    if total > one.whole:
        shapes.append(box(At(WIDTH * one.whole / total - 1, 0, 2, _HIGH), "fill-loss", "all there is"))
    return picture(WIDTH, _HIGH, f"{one.name}: {one.caption}", shapes)
