"""The order in which Argo CD applies a cluster: waves from above, with what waits for what."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from generator.review.markup import Html, tag
from generator.review.pictures.svg import WIDTH, At, box, picture, words

_ACROSS = 2
_HIGH, _GAP, _LABEL = 24, 10, 46
_WIDE = (WIDTH - _LABEL - _GAP) / _ACROSS
_BETWEEN = 16


class Step(Struct, frozen=True, kw_only=True):
    """One Application: `kind` colours it, `note` is said of it where a pointer rests."""

    name: str
    wave: int
    kind: str = "fill-mild"
    note: str = ""


def waves(steps: Sequence[Step], needs: Mapping[str, Iterable[str]], title: str) -> Html:
    """Draw Applications by wave, with a line to each from what it needs."""
    rows: dict[int, list[Step]] = {}
    for step in sorted(steps, key=lambda one: (one.wave, one.name)):
        rows.setdefault(step.wave, []).append(step)
    places: dict[str, tuple[float, float]] = {}
    shapes: list[Html] = []
    top = 4.0
    for wave, members in rows.items():
        shapes.append(words(At(0, top + 16, _LABEL), f"wave {wave}", "soft"))
        for number, step in enumerate(members):
            x = _LABEL + (number % _ACROSS) * (_WIDE + _GAP)
            y = top + number // _ACROSS * (_HIGH + _GAP)
            places[step.name] = (x, y)
            shapes.append(_step(step, x, y))
        top += ((len(members) + _ACROSS - 1) // _ACROSS) * (_HIGH + _GAP) - _GAP + _BETWEEN
    lines = [_line(places[one], places[name]) for name in places for one in needs.get(name, ()) if one in places]
    return picture(WIDTH, top, title, lines, shapes)


def _step(step: Step, x: float, y: float) -> Html:
    shapes = (
        box(At(x, y, _WIDE, _HIGH), "frame"),
        box(At(x, y, 5, _HIGH), step.kind),
        words(At(x + 10, y + 16, _WIDE - 12), step.name),
    )
    return tag("g", tag("title", f"{step.name}: {step.note}"), *shapes) if step.note else tag("g", *shapes)


def _line(start: tuple[float, float], end: tuple[float, float]) -> Html:
    x, y, below, lower = start[0] + _WIDE / 2, start[1] + _HIGH, end[0] + _WIDE / 2, end[1]
    middle = (y + lower) / 2
    return tag("path", d=f"M{x:g} {y:g} C{x:g} {middle:g} {below:g} {middle:g} {below:g} {lower:g}", class_="edge")
