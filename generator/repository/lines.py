"""Contents compared line by line."""

import re
from collections.abc import Sequence
from itertools import zip_longest


def with_line_feeds(content: bytes) -> bytes:
    """Return a content as gen writes it, where Git converted line endings on checkout (core.autocrlf)."""
    # Mostly there is none: one byte is looked for in a fifth of the time.
    return content.replace(b"\r\n", b"\n") if b"\r" in content else content


def same(one: bytes, other: bytes) -> bool:
    """Compare without line endings."""
    return with_line_feeds(one) == with_line_feeds(other)


def has_conflict(content: bytes) -> bool:
    """Whether Git left a conflict in the content."""
    return re.search(_CONFLICT, content) is not None


def changed(here: bytes, others: Sequence[bytes]) -> bool:
    """Whether some place of `here`, outside of conflicts that Git left, differs from all `others`."""
    lines = re.sub(_CONFLICT, _BLOCK, here).splitlines()
    places = set.intersection(*(_places(lines, other.splitlines()) for other in others))
    blocks = (number for number, line in enumerate(lines) if line + b"\n" == _BLOCK)
    return bool(places.difference(*((2 * number, 2 * number + 1, 2 * number + 2) for number in blocks)))


def of_nobody(here: bytes, others: Sequence[bytes]) -> bool:
    """Whether a line within a conflict that Git left is in none of `others`: then a person wrote it there."""
    known = {line for other in others for line in other.splitlines()}
    blocks = b"".join(found["one"] + found["other"] for found in re.finditer(_CONFLICT, here))
    return any(line not in known for line in blocks.splitlines())


# Up to the mark of the next block, should this one have lost its last. What both had before is between `|||||||` and
# `=======`.
_LINES = rb"(?:(?![<|=>]{7}[ \r\n]).*\n)*"
_CONFLICT = (
    rb"(?m)^<{7} .*\n(?P<one>" + _LINES + rb")(?:\|{7}.*\n" + _LINES + rb")?"
    rb"={7}\r?\n(?P<other>" + _LINES + rb")>{7} .*\n?"
)
_BLOCK = b"<<<<<<< conflict >>>>>>>\n"


def _places(lines: list[bytes], others: list[bytes]) -> set[int]:
    """Return where `lines` differ from `others`: 2n + 1 is line n, 2n the gap before it."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - only for files that are not as they were

    places = set[int]()
    for what, start, end, *_ in SequenceMatcher(None, lines, others).get_opcodes():
        if what == "insert":
            places.add(2 * start)
        elif what == "delete":
            places.update(range(2 * start + 1, 2 * end))
        elif what == "replace":
            places.update(range(2 * start, 2 * end + 1))
    return places


def first_difference(here: bytes, other: bytes) -> tuple[int, str | None, str | None]:
    """Return the number of the first line that differs and what it says in each, None where there is no such line."""
    for number, (ours, theirs) in enumerate(zip_longest(here.splitlines(), other.splitlines()), 1):
        if ours != theirs:
            return number, _text(ours), _text(theirs)
    return 1, None, None


def _text(line: bytes | None) -> str | None:
    return None if line is None else line.decode(errors="replace")
