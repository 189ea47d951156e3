"""A stream of YAML documents, each with the template it came from."""

import re
from bisect import bisect_right
from typing import Any

from msgspec import Struct

from generator.build.go_yaml import numbered

_SOURCE = re.compile(r"^# Source: (\S.*?)\s*$", re.MULTILINE)


class SourcedDocument(Struct, frozen=True):
    """One document: `source` is the template's path as Helm tells it ("" where nobody does)."""

    source: str
    value: Any


def documents(text: str) -> list[SourcedDocument]:
    """Return every document of a stream, null ones too. Raises UnreadableError."""
    marks = list(_SOURCE.finditer(text))
    lines = [text.count("\n", 0, mark.start()) for mark in marks]
    return [
        SourcedDocument(marks[before - 1][1] if (before := bisect_right(lines, line)) else "", value)
        for line, value in numbered(text)
    ]
