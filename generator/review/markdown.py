"""A change as a comment on a pull request: Markdown within what forges take, folded.

Names and values come from whoever wrote the change: all of them stand in code, where no forge sees markup, mentions,
references or commands.
"""

import html
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from generator.model.change import FILE
from generator.model.plural import plural
from generator.review.approvals import KEY, WHY
from generator.review.judging import Meaning
from generator.review.opens import HEADING, Opened, gained, opened
from generator.review.report import ClusterReport, Report, shown
from generator.review.rows import Row, by_place, felt, in_words, objects_in, rows
from generator.review.text import approving, meant, why
from generator.review.values import both, one_line, way

MARK = "<!-- gen diff -->"
"""The first line: by it CI finds the comment that it made before, and replaces it."""

ROOM = 65_000
"""Characters of a whole comment. GitHub takes 65 536, and the others more."""

FIELDS = 12
"""Fields of one object that are shown."""

NAMES = 5
"""Names in one cell of the table."""

OPENED = 20
"""Objects of one rule that are shown with what they open; of what must be approved all are."""


class _Block(NamedTuple):
    """Text that is shown whole or not at all, below a heading."""

    loudness: int
    heading: str
    text: str


def markdown(found: Report, room: int = ROOM) -> str:
    """Return a comment of so many characters at most. What does not fit is counted: the quietest first."""
    told = [(one, rows(one)) for one in found.clusters]
    text = f"{MARK}\n### What this change does to the running clusters\n\n{_verdict(found, told)}\n"
    text += _approvals(found, room // 4)
    text += _approved(found, (room - len(text)) // 4)
    opens = [(one.found.cluster, each) for one in found.clusters for each in opened(one.judged)]
    text += _opens([each for each in opens if each[1].rule.stops], (room - len(text)) // 3)
    text += _table(told, (room - len(text)) // 3)
    text += _opens([each for each in opens if not each[1].rule.stops], (room - len(text)) // 3)
    text += _capacity(found, (room - len(text)) // 3)
    text += _unseen(found, (room - len(text)) // 3)
    return text + _details(told, room - len(text))


def code(text: str) -> str:
    """Return text that is shown as it is, in one line and as code, wherever it stands."""
    line = one_line(text)
    if line.strip() and not re.search(r"[`|\\]", line):
        return f"`{line}`"
    signs = (each if each.isalnum() or each == " " else f"&#{ord(each)};" for each in line)
    return f"<code>{''.join(signs)}</code>"


def prose(text: str) -> str:
    """Return a sentence of ours: what stands between backticks is code."""
    parts = one_line(text).split("`")
    return "".join(code(part) if number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(text: str) -> str:
    return re.sub(r"([\\&<>*_\[\]|#@~])", lambda found: f"&#{ord(found[1])};", text)


def _verdict(found: Report, told: list[tuple[ClusterReport, list[Row]]]) -> str:
    compared = f"{code(found.old)} to {code(found.new)}"
    if not told:
        return f"{compared}: nothing differs in what is applied."
    words = in_words(row for _, its in told for row in its)
    needed, given = len(found.unapproved), len({one.text for one in found.approved})
    open_ones = f"**{plural(needed, 'change needs', 'changes need')} an approval.**"
    none = "None needs another approval." if given else "None needs an approval."
    approval = open_ones if needed else none
    if given:
        approval = f"**{plural(given, 'change is', 'changes are')} approved.** {approval}"
    broken = any(one.found.findings for one in found.clusters)
    nothing = "what differs cannot be built" if broken else "nothing that is applied differs"
    return f"{compared}: {words or nothing}. {approval}"


def _approved(found: Report, room: int) -> str:
    lines = [
        (0, f"- {code(one.text)} by {code(one.where)}" + (f": {code(one.reason)}" if one.reason else "") + "\n")
        for one in found.approved
    ]
    taken, left = _fitting(lines, room - 60)
    more = f"- {left} more: `gen diff` shows them.\n" if left else ""
    return f"\nApproved:\n\n{''.join(taken)}{more}" if lines else ""


def _approvals(found: Report, room: int) -> str:
    if not found.unapproved:
        return ""
    text = f"\nTo approve, with your reason for WHY:\n\n<pre>{html.escape(approving(found), quote=False)}</pre>\n"
    return text if len(text) <= room else "\n`gen diff` prints the command that approves them.\n"


def _opens(told: list[tuple[str, Opened]], room: int) -> str:
    lines = [(0, _opening(cluster, each)) for cluster, each in told]
    if not lines:
        return ""
    head = f"\n**Opens**: {HEADING}.\n\n| opens | cluster | what | why |\n|---|---|---|---|\n"
    taken, left = _fitting(lines, room - len(head) - 40)
    return head + "".join(taken) + (f"\n{left} more lines: `gen diff` shows them.\n" if left else "")


def _opening(cluster: str, found: Opened) -> str:
    every = found.shown
    most = len(every) if found.rule.stops else OPENED
    more = f"<br>and {len(every) - most} more" if len(every) > most else ""
    names = "<br>".join(f"{code(text)}: {code(gained(gains))}" for text, gains in every[:most])
    instead = f"<br>instead: {prose(found.rule.instead)}" if found.rule.instead else ""
    why = f"{prose(found.rule.reason)} ({found.rule.code}){instead}"
    return f"| **{found.word}** | {code(cluster)} | {names}{more} | {why} |\n"


def _table(told: list[tuple[ClusterReport, list[Row]]], room: int) -> str:
    lines = [
        (meaning.effect.loudness, _line(one.found.cluster, meaning, mine))
        for one, its in told
        for meaning, mine in meant(its).values()
    ]
    if not lines:
        return ""
    head = "\n| effect | cluster | what | why |\n|---|---|---|---|\n"
    shown_lines, left = _fitting(sorted(lines, key=lambda line: -line[0]), room - len(head) - 40)
    return head + "".join(shown_lines) + (f"\n{left} more lines: `gen diff` shows them.\n" if left else "")


def _line(cluster: str, meaning: Meaning, mine: list[Row]) -> str:
    more = f" and {objects_in(mine[NAMES:])} more" if len(mine) > NAMES else ""
    names = "<br>".join(code(row.title) for row in mine[:NAMES])
    instead = f"<br>instead: {prose(meaning.rule.instead)}" if meaning.rule and meaning.rule.instead else ""
    return f"| {felt(meaning).word} | {code(cluster)} | {names}{more} | {prose(why(meaning))}{instead} |\n"


def _capacity(found: Report, room: int) -> str:
    lines = [
        (0, f"| {code(row.name)} | {code(one.found.cluster)} | {row.told(row.old)} | {row.told(row.new)} |\n")
        for one in found.clusters
        for row in one.capacity
        if row.old != row.new
    ]
    head = "\n| room for | cluster | before | after |\n|---|---|---|---|\n"
    taken, left = _fitting(lines, room - len(head) - 40)
    more = f"\n{left} more lines: `gen diff` shows them.\n" if left else ""
    return f"{head}{''.join(taken)}{more}" if lines else ""


def _fitting(lines: Iterable[tuple[int, str]], room: int) -> tuple[list[str], int]:
    """Return the first texts that fit together, and the number of the others."""
    taken: list[str] = []
    left = 0
    for _, text in lines:
        if left or len(text) > room:
            left += 1
        else:
            taken.append(text)
            room -= len(text)
    return taken, left


def _unseen(found: Report, room: int) -> str:
    lines = [(0, f"\n{line}\n") for one in found.clusters for line in _not_told(one)]
    lines += [
        (0, f"\nApproved before it changed again: {code(one.text)} ({code(one.where)}).\n") for one in found.outdated
    ]
    lines += [(0, f"\nApproved and not there: {code(one.text)} ({code(one.where)}).\n") for one in found.unused]
    lines += [
        (0, f"\n`gen sync` lets it go where a commit approves it: {code(f'{KEY}: {text} {WHY}')}.\n")
        for text in found.unconfirmed
    ]
    taken, left = _fitting(lines, room - 60)
    return "".join(taken) + (f"\n{left} more remarks: `gen diff` shows them.\n" if left else "")


def _not_told(one: ClusterReport) -> Iterator[str]:
    if one.found.unseen:
        names = ", ".join(map(code, one.found.unseen))
        yield f"{code(one.found.cluster)}: not seen: {names}: not vendored, only values of charts are compared."
    for finding in one.found.findings:
        yield f"{code(one.found.cluster)}: not built: {code(finding.file)}: {code(finding.message)}."


def _details(told: list[tuple[ClusterReport, list[Row]]], room: int) -> str:
    """Return every row below its cluster, wave and Application, the loudest of all first to be given room."""
    blocks = [block for one, its in told for block in _blocks(one, its)]
    room -= 60
    headings: set[str] = set()
    chosen: set[int] = set()
    for number in sorted(range(len(blocks)), key=lambda number: -blocks[number].loudness):
        block = blocks[number]
        cost = len(block.text) + (len(_folded(block.heading, "")) if block.heading not in headings else 0)
        if cost > room:
            break
        room -= cost
        headings.add(block.heading)
        chosen.add(number)
    parts: dict[str, str] = {}
    for number in sorted(chosen):
        parts[blocks[number].heading] = parts.get(blocks[number].heading, "") + blocks[number].text
    left = len(blocks) - len(chosen)
    more = f"\n{plural(left, 'more change')}: `gen diff` shows all.\n" if left else ""
    return "".join(_folded(heading, text) for heading, text in parts.items()) + more


def _folded(heading: str, text: str) -> str:
    return f"\n<details><summary>{heading}</summary>\n\n{text}\n</details>\n"


def _blocks(one: ClusterReport, its: list[Row]) -> Iterator[_Block]:
    for where, mine in by_place(its).items():
        cluster = html.escape(one_line(one.found.cluster))
        place = html.escape(where or "the whole cluster")
        heading = f"<code>{cluster}</code> <code>{place}</code>: {in_words(mine)}"
        for row in mine:
            yield _Block(row.effect.loudness, heading, _row(row))


def _row(row: Row) -> str:
    more = f", {code(row.more)}" if row.more else ""
    lines = [f"- **{row.felt.word}** {code(row.title)} {row.first.change.happened}{more}"]
    found = [(meaning, *each) for meaning in row.first.meanings for each in row.fields(meaning)]
    for _, whose, field in found[:FIELDS]:
        old, new = both(whose.change, field)
        name = f"{code(shown(whose))} " if whose is not row.first else ""
        at = "" if whose.change.kind == FILE else f"{code(way(field.path))}: "
        lines.append(f"  - {name}{at}{code(old)} → {code(new)}")
    if len(found) > FIELDS:
        lines.append(f"  - and {plural(len(found) - FIELDS, 'more field')}")
    return "\n".join(lines) + "\n"
