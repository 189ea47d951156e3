"""Reading on behind a syntax error: the lines that it is about are blanked out, and the rest is read again."""

import re

from generator.model.finding import Finding, Position
from generator.spec.build import Builder
from generator.spec.document import Document, Lines
from generator.spec.text_codes import EMPTY, NO_MAPPING

MOST_ERRORS = 20
MOST_TEXT = 2**18
"""Errors behind which reading goes on, and characters of a text that is read again and again."""


def read_on(file: str, lines: Lines, first: Builder) -> tuple[list[Finding], Document | None]:
    """Return what else is wrong with the text as YAML behind the error at which `first` stopped, and what can be read
    of it: None where that is nothing. In the text of this document each character has its place in the whole one.
    """
    found: list[Finding] = []
    builder, text = first, lines.text
    for _ in range(MOST_ERRORS if len(text) <= MOST_TEXT else 0):
        if not builder.stopped:
            break
        last = _line(builder.stopped)
        text = _without(text, last)
        builder = Builder(Lines(text))
        builder.build()
        # What is told above was hidden by nothing: it is a consequence of what is missing.
        found += [each for each in builder.findings if _line(each) > last and each.code not in _OF_THE_WHOLE]
    return found, Document(file, text, value=builder.value, root=builder.root) if builder.value else None


_OF_THE_WHOLE = frozenset({EMPTY.code, NO_MAPPING.code})


def _line(finding: Finding) -> int:
    return finding.at.line if isinstance(finding.at, Position) else 0


def _without(text: str, number: int) -> str:
    """Blank a line out, and those below that belong to it: all other characters keep their places."""
    lines = text.split("\n")
    end = number + _below(lines[number - 1], lines[number:])
    blanked = (re.sub(r"[^\r]", " ", line) for line in lines[number - 1 : end])
    return "\n".join((*lines[: number - 1], *blanked, *lines[end:]))


def _below(line: str, others: list[str]) -> int:
    """Return how many of the lines below belong to one: those that are indented more. How deep a line with a tab was
    meant nobody knows: where it begins something, the next line is part of that, with all that is as deep.
    """
    first = next((other for other in others if other.strip()), "")
    begins, item = "\t" in _margin(line) and _BEGINS.search(line), _is_item(first)
    depth = _indent(first) - (not item) if begins else _indent(line)
    items = begins and item and not _is_item(line)

    def belongs(other: str) -> bool:
        here = _indent(other)
        return not other.strip() or here > depth or bool(items and here == depth and _is_item(other))

    return next((count for count, other in enumerate(others) if not belongs(other)), len(others))


def _is_item(line: str) -> bool:
    return line.lstrip().startswith("- ")


# A key or a text of several lines without anything behind it, or an item.
_BEGINS = re.compile(r"^\s*-\s|(?::|[|>][+-]?)\s*(?:#.*)?$")


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _indent(line: str) -> int:
    return len(_margin(line).expandtabs())
