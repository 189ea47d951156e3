"""A change as one page."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from generator import __version__
from generator.model.change import ABSENT, FILE, ChangeRule, Effect, FieldChange
from generator.model.plural import plural
from generator.review.approvals import KEY, WHY, Approval
from generator.review.judging import JudgedChange, Meaning
from generator.review.markup import EMPTY, Html, Part, prose, tag
from generator.review.opens import HEADING, Opened, opened
from generator.review.page import badge, page, section, shade
from generator.review.pictures.before_after import before_after
from generator.review.pictures.waves import Step, waves
from generator.review.report import ClusterReport, Report, shown
from generator.review.rows import Felt, Row, by_place, counts, felt, listed, objects_in, rows, titles
from generator.review.text import approving, meant, objects, why
from generator.review.values import both, masked, one_line, way

LONG = 2000
"""Characters of a value that are shown."""

NAMES = 20
"""Names of objects in one place that are shown."""

FIELDS = 60
"""Fields of one object that are shown."""


def diff_page(found: Report, when: datetime, rehearsed: Sequence[Html] = ()) -> str:
    """Return the page of a report that was made at a moment, with sections about what was `rehearsed`."""
    told = [(one, rows(one)) for one in found.clusters]
    every = [row for _, its in told for row in its]
    return page(
        f"gen diff: {one_line(found.old)} to {one_line(found.new)}",
        tag("h1", "What this change does to the running clusters"),
        _compared(found, when),
        _counted(every) if told else tag("p", "Nothing differs in what is applied."),
        _legend() if told else EMPTY,
        section("To approve", _approvals(found), note="Nothing else stops the merge."),
        section("Approved", tag("ul", [_approved(one) for one in found.approved])) if found.approved else EMPTY,
        _without_effect("Approved before it changed again", found.outdated),
        _without_effect("Approvals that match nothing", found.unused),
        _to_confirm(found),
        rehearsed,
        [_cluster(one, its) for one, its in told],
    )


def _approved(one: Approval) -> Html:
    reason = f": {one_line(one.reason)}" if one.reason else ""
    return tag("li", tag("code", one.text), f" ({one_line(one.where)}){reason}")


def _without_effect(title: str, approvals: Sequence[Approval]) -> Part:
    listed = [tag("li", tag("code", one.text), f" ({one.where})") for one in approvals]
    return section(title, tag("ul", listed)) if listed else EMPTY


def _to_confirm(found: Report) -> Part:
    listed = [tag("li", tag("code", f"{KEY}: {text} {WHY}")) for text in found.unconfirmed]
    return section("What gen sync lets go where a commit approves it", tag("ul", listed)) if listed else EMPTY


def _compared(found: Report, when: datetime) -> Html:
    moment = f"{when:%Y-%m-%d at %H:%M %Z}"
    sides = tag("code", found.old), ", compared with ", tag("code", found.new)
    return tag("p", "What Argo CD applies from ", *sides, f" on {moment} by gen {__version__}.")


def _legend() -> Html:
    """Return what every effect means, the quietest first."""
    rows = [(tag("dt", badge(Felt(one))), tag("dd", prose(_meant_by(one)))) for one in Effect]
    later = tag("dd", "Not now, but with the next restart, drain or deletion.")
    return tag(
        "details",
        tag("summary", "What the words mean, the quietest first"),
        tag("dl", rows, tag("dt", "... later"), later, class_="effects"),
    )


def _meant_by(effect: Effect) -> str:
    parts = (effect.felt, "it needs an approval" if effect.needs_approval else "", effect.advice)
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts if part)


def _counted(every: list[Row]) -> Html:
    items = [tag("li", badge(one), f" {number}") for one, number in counts(every).items()]
    return tag("ul", items, class_="counts")


def _approvals(found: Report) -> Part:
    if not found.unapproved:
        return EMPTY
    listed = tag("ul", [tag("li", tag("code", text)) for text in found.unapproved])
    return listed, tag("p", "With your reason for WHY:"), tag("pre", approving(found))


def _cluster(one: ClusterReport, its: list[Row]) -> Html:
    cards = [_meaning(meaning, mine) for meaning, mine in meant(its).values()]
    opens = opened(one.judged)
    first, others = ([each for each in opens if each.rule.stops is stops] for stops in (True, False))
    parts: list[Part] = [_opens(first), tag("div", cards, class_="cards"), _opens(others)]
    room = [before_after(row) for row in one.capacity if row.old != row.new]
    if room:
        parts += [tag("h3", "What there is room for"), tag("div", room, class_="pictures")]
    if one.found.unseen:
        names = ", ".join(one.found.unseen)
        parts.append(tag("p", f"Not seen: {names}: not vendored, only values of charts are compared."))
    parts += [tag("p", "Not built: ", tag("code", each.file), ": ", prose(each.message)) for each in one.found.findings]
    steps = _steps(its)
    if steps:
        picture = waves(steps, {}, f"{one.found.cluster}: what is applied, wave by wave")
        caption = tag("figcaption", "In the order in which Argo CD applies it, each with its loudest effect.")
        parts += [tag("h3", "Waves"), tag("figure", picture, caption, class_="tall")]
    parts += [tag("h3", "In full")] if its else []
    parts += [_place(where, mine) for where, mine in by_place(its).items()]
    return section(f"{one.found.cluster}: {objects(one)}", parts)


def _opens(found: list[Opened]) -> Part:
    if not found:
        return EMPTY
    return tag("h3", f"Opens: {HEADING}"), tag("div", [_opening(each) for each in found], class_="cards")


def _opening(found: Opened) -> Html:
    word = tag("span", found.word, class_=f"badge {shade(found.shade)}")
    needed = " needs an approval" if found.rule.stops else ""
    items = [tag("li", tag("strong", text), _gains(gains)) for text, gains in found.shown]
    why = tag("p", prose(f"{found.rule.reason} ({found.rule.code})."), class_="note")
    return tag("div", tag("p", word, needed), tag("ul", items), why, _more(found.rule), class_="card")


def _gains(gains: tuple[str, ...]) -> Html:
    return tag("ul", [tag("li", one_line(one)) for one in gains])


def _more(rule: ChangeRule | None) -> list[Part]:
    """Return the gentler way, and where it is written, where a rule says so."""
    parts: list[Part] = []
    if rule and rule.instead:
        parts.append(tag("p", prose(f"Instead: {rule.instead}.")))
    if rule and rule.link.startswith("https://"):
        parts.append(tag("p", tag("a", "where upstream says so", href=rule.link)))
    return parts


def _steps(its: list[Row]) -> list[Step]:
    loudest: dict[str, Row] = {}
    for row in its:
        if row.wave is not None and row.effect.loudness >= loudest.get(row.application, row).effect.loudness:
            loudest[row.application] = row
    return [
        Step(name=name, wave=row.wave or 0, kind=f"fill-{shade(row.effect)}", note=row.felt.word)
        for name, row in loudest.items()
    ]


def _meaning(meaning: Meaning, mine: list[Row]) -> Html:
    parts: list[Part] = [
        tag("p", badge(felt(meaning)), f" {plural(objects_in(mine), 'object')}"),
        tag("p", titles(mine, NAMES)),
        tag("p", prose(f"{why(meaning)}."), class_="note"),
        _more(meaning.rule),
    ]
    return tag("div", parts, class_="card")


def _place(where: str, mine: list[Row]) -> Html:
    loud = any(row.effect.loudness > Effect.UNKNOWN.loudness for row in mine)
    words = [(" ", badge(one), f" {number}") for one, number in counts(mine).items()]
    lines = tag("ul", [_row(row) for row in mine], class_="rows")
    return tag("details", tag("summary", where or "The whole cluster", words), lines, open="open" if loud else None)


def _row(row: Row) -> Html:
    found = [each for meaning in row.first.meanings for each in row.fields(meaning)]
    fields: list[Part] = [_field(row, *each) for each in found[:FIELDS]]
    if len(found) > FIELDS:
        fields.append(tag("p", f"and {plural(len(found) - FIELDS, 'more field')}"))
    return tag("li", badge(row.felt), " ", tag("strong", row.title), f" {row.done}", _members(row), fields)


def _members(row: Row) -> Html:
    """Return the names that a title has no room for."""
    found = [*(row.changes if len(row.changes) > 1 else ()), *row.inside]
    return tag("p", listed([shown(one) for one in found], NAMES), class_="note") if found else EMPTY


def _field(row: Row, whose: JudgedChange, field: FieldChange) -> Html:
    name = f"{shown(whose)}: " if whose is not row.first else ""
    at = () if whose.change.kind == FILE else _steps_of(field)
    return tag("div", tag("code", name, list(at)), list(_values(whose, field)), class_="field")


def _steps_of(field: FieldChange) -> Iterator[Part]:
    """Yield the way to a field: a long one is broken between its steps."""
    for number in range(len(field.path)):
        before, whole = way(field.path[:number]), way(field.path[: number + 1])
        yield tag("wbr") if number else EMPTY, whole.removeprefix(before)


def _values(whose: JudgedChange, field: FieldChange) -> Iterator[Html]:
    found = masked(whose.change, field)
    for kind, value, text in zip(("old", "new"), (found.old, found.new), both(whose.change, field, LONG), strict=True):
        if value is not ABSENT:
            yield tag("span", text.replace("\\n", "\n"), class_=f"value {kind}")
