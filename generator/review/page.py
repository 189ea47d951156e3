"""One page that stands alone: no script, nothing from elsewhere, light and dark, on screens and on paper."""

from pathlib import Path

from generator.model.change import Effect
from generator.review.markup import EMPTY, Html, Part, joined, tag
from generator.review.rows import Felt

_LOUD = {Effect.DATA_LOSS: "loss", Effect.IMPOSSIBLE: "loss", Effect.OUTAGE: "loud", Effect.REBOOT: "loud"}
_LOUD |= {Effect.DRAIN: "loud", Effect.BY_HAND: "felt", Effect.PREEMPTS: "felt", Effect.UNKNOWN: "unknown"}
_LOUD |= {Effect.NONE: "quiet"}


def page(title: str, *parts: Part) -> str:
    """Return a page. It may load nothing: a policy in it says so to the browser as well."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", _style("colours", "pictures", "page")),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', tag('main', *parts)), lang='en')}\n"


def _style(*names: str) -> Html:
    folder = Path(__file__).parent
    return Html("".join((folder / f"{name}.css").read_text(encoding="utf-8") for name in names))


def alone(drawn: Html) -> str:
    """Return a picture as a file of its own."""
    opened, found, rest = drawn.partition(">")
    style = tag("style", _style("colours", "pictures"))
    return f'{opened} xmlns="http://www.w3.org/2000/svg"{found}{style}{rest}\n'


def badge(found: Felt) -> Html:
    """Return the word for an effect, in its colour."""
    return tag("span", found.word, class_=f"badge {shade(found.effect)}")


def shade(effect: Effect) -> str:
    """Return the class that colours an effect."""
    return _LOUD.get(effect, "mild")


def section(title: str, *parts: Part, note: str = "") -> Html:
    """Return a part of the page with its heading; nothing where there is nothing in it."""
    inside = joined(parts)
    said = tag("p", note, class_="note") if note else EMPTY
    return tag("section", tag("h2", title), said, inside) if inside else EMPTY


def table(heads: tuple[str, ...], rows: list[tuple[Part, ...]]) -> Html:
    """Return a table that becomes a list of cards where the page is narrow; nothing without rows."""
    if not rows:
        return EMPTY
    head = tag("thead", tag("tr", [tag("th", one) for one in heads]))
    body = tag("tbody", [_line(heads, row) for row in rows])
    return tag("table", head, body)


def _line(heads: tuple[str, ...], row: tuple[Part, ...]) -> Html:
    return tag("tr", [tag("td", part, data_head=head) for head, part in zip(heads, row, strict=True)])
