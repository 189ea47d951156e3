"""The place at which the YAML parser stopped, and what it knew there."""

import re

from msgspec import Struct

__all__ = ["INVISIBLE", "Slip", "printable"]

INVISIBLE = re.compile("[\xa0\xad\u2000-\u200f\u202a-\u202f\u205f-\u2064\u3000]")
"""Characters that look like a blank or like nothing, and are neither to YAML."""

_COMMENT = re.compile(r"(?<!\s)\s+#.*$")  # from where a run of blanks begins: else quadratic


class Slip(Struct, frozen=True, kw_only=True):
    """Where and why the parser stopped; all places are offsets into `text`.

    `since` is where the parser began what it could not finish, `opened` the innermost bracket or brace
    still open, and `quoted` the last text in quotes, all as far as known.
    """

    text: str
    problem: str
    context: str = ""
    at: int
    since: int | None = None
    opened: int | None = None
    quoted: tuple[int, int] | None = None

    @property
    def char(self) -> str:
        """The character at which the parser stopped; empty at the end of the file."""
        return self.text[self.at : self.at + 1]

    @property
    def before(self) -> str:
        """The part of the line before the place."""
        return self.text[self.text.rfind("\n", 0, self.at) + 1 : self.at]

    @property
    def line_above(self) -> tuple[int, int]:
        """The nearest line above that is neither blank nor a comment, from its first character; may be empty."""
        stop = self.at - len(self.before) - 1
        while stop > 0:
            start = self.text.rfind("\n", 0, stop) + 1
            line = self.text[start:stop]
            if line.strip() and not line.lstrip().startswith("#"):
                return start + len(line) - len(line.lstrip()), start + len(line.rstrip())
            stop = start - 1
        return 0, 0

    def rest(self, start: int) -> str:
        """Return the line from `start` on, without a comment and trailing blanks."""
        return _COMMENT.sub("", self.text[start:].partition("\n")[0].rstrip("\r")).rstrip()


def printable(text: str) -> str:
    """Return words of a message with escapes for what a terminal would not show, cut off where they are very long."""
    text = text if len(text) <= 300 else f"{text[:300]}..."
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
