"""A change as a terminal shows it: what it does, then what differs, then what must be approved."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from generator.model.change import FILE, Effect, FieldChange
from generator.model.plural import plural
from generator.repository.sides import WORKING_TREE
from generator.review.approvals import KEY, WHY
from generator.review.judging import JudgedChange, Meaning
from generator.review.opens import HEADING, QUIET, Opened, brief_lines, counted, opened
from generator.review.opens import lines as open_lines
from generator.review.report import ClusterReport, Report, shown
from generator.review.rows import Felt, Row, by_place, counts, felt, in_words, listed, objects_in, rows, titles
from generator.review.values import both, one_line, way

ROOM = 32
"""Lines of one cluster above which less is shown of each object: with what must be approved a screen."""

LONG = 40
"""Characters of a value that are shown."""

SHORT = 24
"""The same where it stands on the line of its object."""

COLUMN = 12
"""Characters that the word for an effect takes, with what follows it."""

LOUD = 6
"""Rows that `gen render` shows."""

ALL = 10**6
Found: TypeAlias = tuple[JudgedChange, FieldChange]
UNWRITTEN = "nobody has written down what this does: read it as if it mattered; `gen explain unknown` says how"
UNFELT = "nothing that runs feels it"


class _Detail(NamedTuple):
    """How much is shown: fields of a row, 0 for one on the line of the row; rows of an Application."""

    fields: int
    rows: int


LEVELS = (_Detail(4, ALL), _Detail(2, ALL), _Detail(0, ALL), _Detail(0, 3))


Paint: TypeAlias = Callable[[Effect, str], str]
"""Gives a word that says an effect its colour."""


def lines(found: Report, paint: Paint = lambda _, word: word) -> Iterator[str]:
    """Yield the lines of a report."""
    if not found.clusters:
        yield f"{found.old} to {found.new}: nothing differs in what is applied"
        yield from _end(found, [], paint)
        return
    yield f"{found.old} to {found.new}"
    told = [rows(one) for one in found.clusters]
    for one, its in zip(found.clusters, told, strict=True):
        yield from _cluster(one, its, paint)
    yield from _end(found, [row for its in told for row in its], paint)


def brief(found: Sequence[ClusterReport]) -> Iterator[str]:
    """Yield the loudest of what a change does, in few lines, for those who have not asked."""
    told = [(one.found.cluster, row) for one in found for row in rows(one)]
    felt = [(cluster, row) for cluster, row in told if row.effect not in {Effect.NONE, Effect.UNKNOWN}]
    if not told:
        return
    yield f"what it does: {in_words(row for _, row in told)}; `gen diff` tells more"
    loudest = sorted(felt, key=lambda each: -each[1].effect.loudness)
    for cluster, row in loudest[:LOUD]:
        yield f"  {row.felt.word:<{COLUMN}} {cluster}: {row.title} {row.done}"
    if len(felt) > LOUD:
        yield f"  ... and {plural(objects_in(row for _, row in loudest[LOUD:]), 'more object')}"
    opening = list(brief_lines(found))
    yield from (f"  {line}" for line in opening[:LOUD])
    if len(opening) > LOUD:
        yield f"  ... and {len(opening) - LOUD} more that open something"


def _cluster(one: ClusterReport, its: list[Row], paint: Paint) -> Iterator[str]:
    yield ""
    yield f"{one.found.cluster}: {objects(one)}"
    if differing := [row.text for row in one.capacity if row.old != row.new]:
        yield f"  capacity: {'; '.join(differing)}"
    opens = opened(one.judged)
    yield from _opens([each for each in opens if each.rule.stops], paint)
    # What needs no approval stands behind what is felt: a rule of a network would hide that a node is lost.
    head = [*_meant(its, paint), *_opens([each for each in opens if not each.rule.stops], paint)]
    yield from head
    if one.found.unseen:
        yield f"  not seen: {', '.join(one.found.unseen)}: not vendored, only values of charts are compared"
    for finding in one.found.findings:
        yield f"  not built: {finding.file}: {finding.message}"
    for detail in LEVELS:
        places = list(_places(its, detail, paint))
        if len(head) + len(places) <= ROOM or detail is LEVELS[-1]:
            yield from places
            return


def _opens(found: list[Opened], paint: Paint) -> Iterator[str]:
    if found:
        yield f"  opens: {HEADING}"
    for each in found:
        first, *rest = open_lines(each)
        yield f"    {paint(each.shade, f'{each.word:<{COLUMN}}')} {first}"
        yield from (f"    {'':<{COLUMN}} {line}" for line in rest)


def objects(one: ClusterReport) -> str:
    """Return how many objects came, went and changed: `2 added, 1 changed`."""
    found = [each.change.happened for each in one.judged]
    words = ", ".join(f"{found.count(on)} {on}" for on in dict.fromkeys(found))
    return words or ("what differs cannot be built" if one.found.findings else "nothing that is applied differs")


def meant(its: list[Row]) -> dict[str, tuple[Meaning, list[Row]]]:
    """Return the rows by what they mean, the loudest first; each row with all that is meant by it, but for what is
    quieter than the loudest of it and needs no words.
    """
    found: dict[str, tuple[Meaning, list[Row]]] = {}
    for row in its:
        for meaning in row.first.meanings:
            if meaning is row.first.meanings[0] or (meaning.rule and meaning.effect is not Effect.NONE):
                key = meaning.rule.code if meaning.rule and meaning.effect is not Effect.NONE else meaning.effect.value
                found.setdefault(key, (meaning, []))[1].append(row)
    return dict(sorted(found.items(), key=lambda item: -item[1][0].effect.loudness))


def why(meaning: Meaning) -> str:
    """Return what a meaning says, with the code of its rule."""
    if meaning.effect is Effect.NONE:
        return UNFELT
    if meaning.rule is None:
        return UNWRITTEN
    later = "with the next restart, drain or deletion: " if meaning.rule.armed else ""
    return f"{later}{meaning.rule.reason} ({meaning.rule.code})"


def _meant(its: list[Row], paint: Paint) -> Iterator[str]:
    for meaning, mine in meant(its).values():
        number = objects_in(mine)
        many = f"{plural(number, 'object')}: " if number > 3 else ""
        yield f"  {_word(felt(meaning), paint)} {many}{titles(mine)}"
        yield f"  {'':<{COLUMN}} {why(meaning)}"
        if meaning.rule and meaning.rule.instead:
            yield f"  {'':<{COLUMN}} instead: {meaning.rule.instead}"


def _places(its: list[Row], detail: _Detail, paint: Paint) -> Iterator[str]:
    for where, mine in by_place(its).items():
        if where:
            yield f"  {where}"
        for row in mine[: detail.rows]:
            found = [each for meaning in row.first.meanings for each in row.fields(meaning)]
            short = _inline(row, found) if found and not detail.fields else ""
            yield f"    {_word(row.felt, paint)} {row.title} {row.done}{short}"
            yield from _fields(row, found, detail.fields)
        if len(mine) > detail.rows:
            yield f"    and {plural(objects_in(mine[detail.rows :]), 'more object')}: --output html shows all"


def _inline(row: Row, found: list[Found]) -> str:
    more = f", and {plural(len(found) - 1, 'more field')}" if found[1:] else ""
    return f": {_field(row, *found[0], short=True)}{more}"


def _fields(row: Row, found: list[Found], most: int) -> Iterator[str]:
    for each in found[:most]:
        yield f"    {'':<{COLUMN}}   {_field(row, *each)}"
    if most and len(found) > most:
        yield f"    {'':<{COLUMN}}   and {plural(len(found) - most, 'more field')}"


def _field(row: Row, whose: JudgedChange, field: FieldChange, *, short: bool = False) -> str:
    old, new = both(whose.change, field, SHORT if short else LONG)
    name = f"{one_line(shown(whose))}: " if whose is not row.first else ""
    at = "" if whose.change.kind == FILE else f"{way(field.path)}: "
    if short and len(at) > LONG:
        at = f"...{at[-LONG:]}"
    return f"{name}{at}{old} -> {new}"


def _word(found: Felt, paint: Paint) -> str:
    return paint(found.effect, f"{found.word:<{COLUMN}}")


def _end(found: Report, told: list[Row], paint: Paint) -> Iterator[str]:
    if told:
        yield ""
    for one, number in counts(told).items():
        loud = one.effect.loudness > Effect.UNKNOWN.loudness
        names = f": {titles([row for row in told if row.felt == one])}" if loud else ""
        yield f"{paint(one.effect, f'{number} {one.word}')}{names}"
    yield from _opens_at_all(found, paint)
    for approved in found.approved:
        reason = f": {one_line(approved.reason)}" if approved.reason else ""
        yield f"approved: {approved.text} ({one_line(approved.where)}){reason}"
    for outdated in found.outdated:
        yield f"approved before it changed again: {outdated.text} ({outdated.where})"
    for unused in found.unused:
        yield f"approved and not there: {unused.text} ({unused.where})"
    for text in found.unconfirmed:
        yield f"goes only with a person's word, which gen sync gives for `{KEY}: {one_line(text)} {WHY}` in a commit"
    for text in found.unapproved:
        yield f"needs approval: {text}"
    if found.unapproved:
        yield "approve it, with your reason for WHY:"
        yield f"  {approving(found)}"


def _opens_at_all(found: Report, paint: Paint) -> Iterator[str]:
    """Yield what gives the most away, with its objects, then how many open what else."""
    all_of_it = [each for one in found.clusters for each in opened(one.judged)]
    others: Counter[str] = Counter()
    for each in all_of_it:
        if each.rule.stops:
            names = listed([one_line(shown(judged)) for judged, _ in each.by])
            yield f"{paint(each.shade, f'{len(each.by)} opens {each.word}')}: {names}"
        else:
            others[each.word] += len(each.by)
    if others:
        yield paint(QUIET, counted(others))


def approving(found: Report) -> str:
    """Return the command that approves all that waits for it, in a message that says why: a commit of its own, or, of
    what is not committed yet, the one that commits it. An approval from before would not count.
    """
    if found.new == WORKING_TREE:
        return " ".join(
            ("gen commit", *(f"--allow {shlex.quote(f'{one_line(text)} {WHY}')}" for text in found.unapproved))
        )
    trailers = " ".join(f"--trailer {shlex.quote(f'{KEY}: {one_line(text)} {WHY}')}" for text in found.unapproved)
    return f"git commit --allow-empty -m 'Approve what gen diff shows' {trailers}"
