"""The order in which Argo CD applies a cluster: waves from above, with what waits for what."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from generator.review.markup import Html, tag
from generator.review.pictures.svg import WIDTH, At, box, picture, words

_ACROSS = 2
_HIGH, _GAP, _LABEL, _GUTTER = 24, 10, 46, 26
_WIDE = (WIDTH - _LABEL - _GUTTER) / _ACROSS
_BETWEEN = 16


class Step(Struct, frozen=True, kw_only=True):
    """One Application: `kind` colours it, `note` is said of it where a pointer rests."""

    name: str
    wave: int
    kind: str = "fill-mild"
    note: str = ""


def waves(steps: Sequence[Step], needs: Mapping[str, Iterable[str]], title: str) -> Html:
    """Draw Applications by wave. A line leads to each from what it needs, along the middle; none from what the whole
    next wave needs, which its place says already.
    """
    rows: dict[int, list[Step]] = {}
    for step in sorted(steps, key=lambda one: (one.wave, one.name)):
        rows.setdefault(step.wave, []).append(step)
    places: dict[str, tuple[float, float]] = {}
    shapes: list[Html] = []
    top = 4.0
    for wave, members in rows.items():
        shapes.append(words(At(0, top + 16, _LABEL), f"wave {wave}", "soft"))
        for number, step in enumerate(members):
            x = _LABEL + (number % _ACROSS) * (_WIDE + _GUTTER)
            y = top + number // _ACROSS * (_HIGH + _GAP)
            places[step.name] = (x, y)
            shapes.append(_step(step, x, y))
        top += ((len(members) + _ACROSS - 1) // _ACROSS) * (_HIGH + _GAP) - _GAP + _BETWEEN
    return picture(WIDTH, top, title, list(_lines(places, _shown(rows, needs))), shapes)


def _shown(rows: Mapping[int, list[Step]], needs: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """Return what needs what, as pairs, without what a whole wave needs of the one before."""
    found = [(one, step.name) for steps in rows.values() for step in steps for one in needs.get(step.name, ())]
    there = list(rows.values())
    common: set[str] = set()
    for before, after in pairwise(there):
        users = {step.name for step in after}
        common |= {one.name for one in before if users <= {name for need, name in found if need == one.name}}
    return [(one, name) for one, name in found if one not in common]


def _lines(places: Mapping[str, tuple[float, float]], pairs: list[tuple[str, str]]) -> Iterator[Html]:
    """Yield a line for each pair, each in a place of its own between the columns; a dot is where it ends."""
    drawn = [(one, name) for one, name in pairs if one in places and name in places]
    for number, (one, name) in enumerate(drawn):
        middle = _LABEL + _WIDE + _GUTTER * (number + 1) / (len(drawn) + 1)
        (start, y), (end, lower) = (_side(*places[each]) for each in (one, name))
        yield tag("path", d=f"M{start:g} {y:g} H{middle:g} V{lower:g} H{end:g}", class_="edge")
        yield tag("circle", cx=end, cy=lower, r=2.5, class_="dot")


def _side(x: float, y: float) -> tuple[float, float]:
    """Return the middle of the side of a box that looks at the other column."""
    return (x + _WIDE if x == _LABEL else x), y + _HIGH / 2


def _step(step: Step, x: float, y: float) -> Html:
    shapes = (
        box(At(x, y, _WIDE, _HIGH), "frame"),
        box(At(x, y, 5, _HIGH), step.kind),
        words(At(x + 10, y + 16, _WIDE - 12), step.name),
    )
    return tag("g", tag("title", f"{step.name}: {step.note}"), *shapes) if step.note else tag("g", *shapes)
