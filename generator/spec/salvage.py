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
    """Blank a line out, and those below that are indented more: all other characters keep their places."""
    lines = text.split("\n")
    indent = _indent(lines[number - 1])
    end = number
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    blanked = (re.sub(r"[^\r]", " ", line) for line in lines[number - 1 : end])
    return "\n".join((*lines[: number - 1], *blanked, *lines[end:]))


def _indent(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip(" "))
