"""The order in which Argo CD applies a cluster: waves from above, with what waits for what."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from generator.review.markup import Html, tag
from generator.review.pictures.svg import WIDTH, At, box, picture, words

_HIGH, _GAP, _BETWEEN = 24, 5, 14
_LABEL, _WIDE = 46, 190
_LANE = 12
"""Pixels between two lines, as long as there is room for so many."""


class Step(Struct, frozen=True, kw_only=True):
    """One Application: `kind` colours it, `note` is said of it where a pointer rests."""

    name: str
    wave: int
    kind: str = "fill-mild"
    note: str = ""


class _Line(Struct, frozen=True):
    """The line from one Application down to all that wait for it; heights in pixels."""

    start: float
    ends: tuple[float, ...]


def waves(steps: Sequence[Step], needs: Mapping[str, Iterable[str]], title: str) -> Html:
    """Draw Applications by wave, one below the other. From each that others wait for one line leads down beside them,
    with a dot where it goes to one that waits; none from what the whole next wave needs, which its place says already.
    """
    rows: dict[int, list[Step]] = {}
    for step in sorted(steps, key=lambda one: (one.wave, one.name)):
        rows.setdefault(step.wave, []).append(step)
    places: dict[str, float] = {}
    shapes: list[Html] = []
    top = 4.0
    for wave, members in rows.items():
        shapes.append(words(At(0, top + 16, _LABEL), f"wave {wave}", "soft"))
        for step in members:
            places[step.name] = top
            shapes.append(_step(step, top))
            top += _HIGH + _GAP
        top += _BETWEEN - _GAP
    return picture(WIDTH, top, title, list(_drawn(_lines(places, _shown(rows, needs)))), shapes)


def _shown(rows: Mapping[int, list[Step]], needs: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """Return what needs what, as pairs, without what a whole wave needs of the one before."""
    found = [(one, step.name) for steps in rows.values() for step in steps for one in needs.get(step.name, ())]
    there = list(rows.values())
    common: set[str] = set()
    for before, after in pairwise(there):
        users = {step.name for step in after}
        common |= {one.name for one in before if users <= {name for need, name in found if need == one.name}}
    return [(one, name) for one, name in found if one not in common]


def _lines(places: Mapping[str, float], pairs: list[tuple[str, str]]) -> list[_Line]:
    """Return a line for each that is needed, from above: they leave a box in its lower half, and come in at its upper
    one.
    """
    return [
        _Line(top + _HIGH * 0.7, tuple(sorted(places[user] + _HIGH * 0.3 for user in users)))
        for name, top in places.items()
        if (users := [user for one, user in pairs if one == name and user in places])
    ]


def _lanes(lines: list[_Line]) -> list[int]:
    """Return a lane for each line, from the left: one whose lines have ended above is free again."""
    ended: list[float] = []
    found = []
    for line in lines:
        lane = next((number for number, end in enumerate(ended) if end < line.start), len(ended))
        ended[lane : lane + 1] = [line.ends[-1]]
        found.append(lane)
    return found


def _drawn(lines: list[_Line]) -> Iterator[Html]:
    edge, lanes = _LABEL + _WIDE, _lanes(lines)
    apart = min(_LANE, (WIDTH - edge - 12) / max(1, *lanes, 1))
    for line, lane in zip(lines, lanes, strict=True):
        x = edge + 8 + lane * apart
        yield tag("path", d=f"M{edge:g} {line.start:g} H{x:g} V{line.ends[-1]:g}", class_="edge")
        for end in line.ends:
            yield tag("path", d=f"M{x:g} {end:g} H{edge:g}", class_="edge")
            yield tag("circle", cx=x, cy=end, r=2.5, class_="dot")
            yield tag("path", d=f"M{edge:g} {end:g} l5 -3 v6 z", class_="dot")


def _step(step: Step, y: float) -> Html:
    shapes = (
        box(At(_LABEL, y, _WIDE, _HIGH), "frame"),
        box(At(_LABEL, y, 5, _HIGH), step.kind),
        words(At(_LABEL + 10, y + 16, _WIDE - 12), step.name),
    )
    return tag("g", tag("title", f"{step.name}: {step.note}"), *shapes) if step.note else tag("g", *shapes)
