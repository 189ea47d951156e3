"""A rehearsal as a section of a page, beside what `gen diff` foretold."""

from collections.abc import Iterable

from generator.model.plural import plural
from generator.rehearsal.outcome import Wave
from generator.rehearsal.rehearsal import QUIET, Event, Rehearsal
from generator.rehearsal.text import HELD, NOTHING, stood
from generator.review.markup import EMPTY, Html, Part, prose, tag
from generator.review.page import section, table

_LOUD = {Event.REFUSED: "loss", Event.STOPPED: "felt", Event.REPLACED: "mild"}
_SHADES = {True: "quiet", False: "loss", None: "unknown"}


def rehearsed(found: Rehearsal) -> Html:
    """Return the section of one cluster."""
    return section(
        f"{found.cluster}: what a rehearsal showed",
        tag("p", f"What stands: {stood(found)}. The change: {plural(found.objects[1], 'object')} applied."),
        _happened(found),
        _listed("gen diff says otherwise", found.disagreements),
        _promises(found),
        _waves(found),
        _folded("Played, and not proven", found.not_proven),
        tag("p", "Seconds: ", ", ".join(f"{phase} {each:g}" for phase, each in found.seconds.items()), class_="note"),
        note=f"{found.old} to {found.new}, on a twin of {plural(found.nodes, 'node')}.",
    )


def _badge(word: str, shade: str) -> Html:
    return tag("span", word, class_=f"badge {shade}")


def _happened(found: Rehearsal) -> Html:
    heads = ("what happened", "to what", "why", "what gen diff foretold")
    rows: list[tuple[Part, ...]] = [
        (_badge(one.event, _shade(one.event)), one.what, one.why, prose(one.foretold)) for one in found.happened
    ]
    return table(heads, rows) or tag("p", f"{NOTHING[0].upper()}{NOTHING[1:]}.")


def _shade(event: Event) -> str:
    return _LOUD.get(event, "quiet" if event in QUIET else "loud")


def _promises(found: Rehearsal) -> Part:
    heads = ("promise", "held", "what was seen", "seconds")
    rows: list[tuple[Part, ...]] = [
        (one.name, _badge(HELD[one.held], _SHADES[one.held]), one.seen, f"{one.seconds:g}") for one in found.promises
    ]
    return (tag("h3", "Promises of the queues"), table(heads, rows)) if rows else EMPTY


def _waves(found: Rehearsal) -> Part:
    heads = ("wave", "Applications", "began after", "seconds", "never ready")
    rows: list[tuple[Part, ...]] = [
        (str(one.number), ", ".join(one.applications), _began(one), f"{one.seconds:.1f}", "; ".join(one.hung))
        for one in found.waves
    ]
    return (tag("h3", "Waves of the change"), table(heads, rows)) if rows else EMPTY


def _began(one: Wave) -> str:
    return "" if one.began is None else f"{one.began:.1f}"


def _items(texts: Iterable[str]) -> list[Html]:
    return [tag("li", one) for one in texts]


def _listed(title: str, texts: tuple[str, ...]) -> Part:
    return (tag("h3", title), tag("ul", _items(texts))) if texts else EMPTY


def _folded(title: str, texts: tuple[str, ...]) -> Html:
    return tag("details", tag("summary", title), tag("ul", _items(texts))) if texts else EMPTY
