"""An amount before and after."""

from generator.review.capacity import CapacityRow
from generator.review.markup import Html, tag
from generator.review.pictures.svg import WIDTH, At, box, picture, words

_LABEL, _HIGH = 52, 16


def before_after(row: CapacityRow) -> Html:
    """Return an amount in words, and as two bars one below the other."""
    told = f"{row.told(row.old)} to {row.told(row.new)}"
    most = max(row.old or 0, row.new or 0, 1)
    shapes = [
        *_bar(0, "before", (row.old or 0) / most, "fill-quiet"),
        *_bar(_HIGH + 4, "after", (row.new or 0) / most, "fill-mild"),
    ]
    drawn = picture(WIDTH, 2 * _HIGH + 4, f"{row.name}: {told}", shapes)
    return tag("figure", tag("figcaption", tag("strong", row.name), f" {told}"), drawn)


def _bar(top: float, label: str, share: float, kind: str) -> tuple[Html, ...]:
    at = At(_LABEL, top, WIDTH - _LABEL, _HIGH)
    filled = box(At(_LABEL, top, at.width * share, _HIGH), kind)
    return words(At(0, top + 12, _LABEL), label, "soft"), box(at, "frame"), filled
