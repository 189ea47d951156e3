"""The YAML parser's dozen error texts in plain words, each with the smallest fix."""

import re
from collections.abc import Callable

from msgspec import Struct, structs

from generator.model.finding import Finding
from generator.model.rule import Explained
from generator.spec.document import Lines, Span, line_start
from generator.spec.syntax_codes import (
    BLOCK_TEXT,
    BRACKET,
    COLON_IN_VALUE,
    DIRECTIVE,
    ESCAPE,
    INDENTATION,
    NO_COLON,
    NO_YAML,
    QUOTE,
    TAB,
    UNQUOTED,
)
from generator.spec.text_codes import CHARACTER, TAG

INVISIBLE = re.compile("[\xa0\xad\u2000-\u200f\u202a-\u202f\u205f-\u2064\u3000]")
"""Characters that look like a blank or like nothing, and are neither to YAML."""

_COMMENT = re.compile(r"(?<!\s)\s+#.*$")  # from where a run of blanks begins: else quadratic
# Text in quotes, or what was meant as text and became a comment: nobody begins one of their own without a blank.
_QUOTED_OR_HASH = re.compile(r"""\"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|(?<=\s)(#[^\s#,\]}][^\s,\]}]*)([^\n]*)""")
_KEY_END = re.compile(r":(?:\s|$)")
_TIGHT_KEY = re.compile(r"\s*(?:- +)*([\w./-]+):(\S.*)")


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
    quoted: Span | None = None

    @property
    def begun(self) -> int:
        """Where the parser began what it could not finish, or stopped."""
        return self.at if self.since is None else self.since

    @property
    def char(self) -> str:
        """The character at which the parser stopped; empty at the end of the file."""
        return self.text[self.at : self.at + 1]

    @property
    def before(self) -> str:
        """The part of the line before the place."""
        return self.text[line_start(self.text, self.at) : self.at]

    @property
    def line_above(self) -> Span:
        """The nearest line above that is neither blank nor a comment, from its first character; may be empty."""
        stop = self.at - len(self.before) - 1
        while stop > 0:
            start = line_start(self.text, stop)
            line = self.text[start:stop]
            if line.strip() and not line.lstrip().startswith("#"):
                return start + len(line) - len(line.lstrip()), start + len(line.rstrip())
            stop = start - 1
        return 0, 0

    def rest(self, start: int) -> str:
        """Return the line from `start` on, without a comment and trailing blanks."""
        return _COMMENT.sub("", self.text[start:].partition("\n")[0].rstrip("\r")).rstrip()

    def span(self, start: int) -> Span:
        """Return where `rest` begins and ends."""
        return start, start + len(self.rest(start))

    def finding(
        self, code: Explained, message: str, fix: str, span: Span | None = None, also: int | None = None
    ) -> Finding:
        """Return a finding at a span, or where the parser stopped; one character at least. `also` is another place."""
        at, end = span or (self.at, self.at)
        other = None if also is None or also == at else (also, also + 1)
        return Lines(self.text).finding(code, message, fix, (at, max(end, at + 1)), other)


def explain_slip(slip: Slip) -> Finding:
    """Return the one finding that a syntax error makes."""
    words = f"{slip.context}: {slip.problem}"
    tell = next((tell for part, tell in _TELLERS if part in words), _other)
    return _hidden(slip) or tell(slip)


def _hidden(slip: Slip) -> Finding | None:
    for start in (slip.begun, slip.line_above[0], slip.at):
        begin = line_start(slip.text, start)
        found = INVISIBLE.search(slip.text, *slip.span(begin))
        if found:
            what = f"the character U+{ord(found[0]):04X} looks like a blank or like nothing and is neither"
            return slip.finding(CHARACTER, what, "type this place again, with plain spaces", found.span())
    return None


def _other(slip: Slip) -> Finding:
    what = f"this is not YAML: {' '.join(filter(None, (slip.context, slip.problem)))}"
    return slip.finding(NO_YAML, what, "look at this line and the one above", also=slip.since)


def _tab(slip: Slip) -> Finding:
    return slip.finding(TAB, "a tab where YAML allows only spaces", "indent with spaces")


def _start(slip: Slip) -> Finding:
    return _tab(slip) if slip.char == "\t" else _unquoted(slip)


def _unquoted(slip: Slip) -> Finding:
    start, text = slip.begun, slip.rest(slip.begun)
    what = f"plain text cannot begin with {text[:1]}, which means something else in YAML"
    end = start + len(text) if slip.opened is None else start + 1
    return slip.finding(UNQUOTED, what, _quoting(slip, text), (start, end))


def _quoting(slip: Slip, text: str) -> str:
    """Tell what to write; inside brackets it is not known how far the text was meant to go."""
    if slip.opened is not None or len(text) > 200 or re.search(r"[\"\\]", text):
        return "put quotes around the text"
    return f'quote it: "{text}"'


def _colon(slip: Slip) -> Finding:
    key = _KEY_END.search(slip.before)
    if key:
        value = slip.rest(slip.at - len(slip.before) + key.end()).lstrip()
        return slip.finding(COLON_IN_VALUE, "a colon and a blank inside a plain value", _quoting(slip, value))
    above = slip.text[slice(*slip.line_above)]
    if above and not _KEY_END.search(above) and above != "---":
        return _no_colon(slip, slip.line_above)
    what = f"{slip.before.strip() or 'this'} is indented as if it belonged to the value above"
    span = slip.at - len(slip.before.lstrip()), slip.at
    return slip.finding(INDENTATION, what, "begin it in the column of the key above", span, slip.line_above[0])


def _no_colon(slip: Slip, span: Span) -> Finding:
    tight = _TIGHT_KEY.fullmatch(slip.text[slice(*span)])
    if tight:
        return slip.finding(NO_COLON, "no blank behind the colon", f"write `{tight[1]}: {tight[2]}`", span)
    return slip.finding(NO_COLON, "a key and its colon are expected here", "write `key: value`", span)


def _key_missing(slip: Slip) -> Finding:
    return _no_colon(slip, slip.span(slip.begun))


def _dash(slip: Slip) -> Finding:
    fix = "put the `-` on a line of its own below the key, or quote the value if it is text"
    return slip.finding(INDENTATION, "a list cannot begin on the line of its key", fix)


def _entry(slip: Slip) -> Finding:
    """Something stands where the next key or item should: wrong indentation, or text behind a closing quote."""
    if slip.char in {"]", "}"}:
        return _bracket(slip)
    if slip.before.strip():
        return _trailing(slip)
    wanted = "an item that begins with `-`" if "'-'" in slip.problem else "a key"
    what = f"{wanted} is expected here; if this is one, it is indented like none of the lines above"
    fix = "begin it in the same column as the entries it belongs to"
    return slip.finding(INDENTATION, what, fix, slip.span(slip.at), slip.line_above[0])


def _trailing(slip: Slip) -> Finding:
    if slip.quoted and "\n" in slip.text[slice(*slip.quoted)] and not slip.text[slip.quoted[1] : slip.at].strip():
        return _unclosed(slip, slip.quoted[0], also=slip.quoted[1] - 1)
    what = f"nothing may follow {slip.before.rstrip()[-1]} on this line"
    fix = "put quotes around the whole value, or a comma or a line end between two values"
    return slip.finding(UNQUOTED, what, fix, slip.span(slip.at))


def _quote(slip: Slip) -> Finding:
    return _unclosed(slip, slip.begun)


def _unclosed(slip: Slip, start: int, also: int | None = None) -> Finding:
    what = "the quote that opens here is not closed on its line"
    return slip.finding(QUOTE, what, f"close it with {slip.text[start : start + 1]}", slip.span(start), also)


def _bracket(slip: Slip) -> Finding:
    opened = slip.opened
    if opened is None:
        what = f"{slip.char} has no bracket or brace that it belongs to" if slip.char else "a value is missing"
        return slip.finding(BRACKET, what, "remove it, or quote it if it is text")
    sign = slip.text[opened]
    closing = "]" if sign == "[" else "}"
    if hidden := _hidden_by_comment(slip, opened, closing):
        return hidden
    fix = f"close it with {closing}, or put a comma between two values"
    if slip.char in {"]", "}", ","} or (slip.char.strip() and "content" in slip.problem):
        return slip.finding(BRACKET, f"{slip.char} does not fit here: {sign} is still open", fix, also=opened)
    earlier = not slip.char.strip() or "\n" in slip.text[opened : slip.at]
    at, also = (opened, slip.at) if earlier else (slip.at, opened)
    return slip.finding(BRACKET, f"{sign} is not closed", fix, (at, at), also)


def _hidden_by_comment(slip: Slip, opened: int, closing: str) -> Finding | None:
    """Tell that the bracket is there, on its line, but behind what has become a comment."""
    line = opened, opened + len(slip.text[opened:].partition("\n")[0])
    for found in _QUOTED_OR_HASH.finditer(slip.text, *line):
        if found[1] and closing in found[2]:
            what = f"behind a blank, # begins a comment: it hides the {closing} that closes {slip.text[opened]}"
            return slip.finding(BRACKET, what, f'quote it: "{found[1]}"', found.span(1))
    return None


def _escape(slip: Slip) -> Finding:
    start = slip.text.rfind("\\", 0, slip.at + 1)
    what = f"{slip.text[start : start + 2]} is not an escape that YAML knows"
    return slip.finding(ESCAPE, what, "use single quotes, or write the backslash twice", (start, start + 2))


def _block_text(slip: Slip) -> Finding:
    what = "text stands on the line of | or >" if slip.char not in "0123456789" else "this is no indentation"
    fix = "begin the text on the next line, indented, or quote the value"
    return slip.finding(BLOCK_TEXT, what, fix, slip.span(slip.at))


def _directive(slip: Slip) -> Finding:
    begin = line_start(slip.text, slip.begun)
    what = "a line that begins with % is a directive to the YAML reader"
    return slip.finding(DIRECTIVE, what, "remove the line", slip.span(begin))


def _tag(slip: Slip) -> Finding:
    end = slip.begun + len(slip.rest(slip.begun).split(" ")[0])
    fix = "remove the tag, or quote the value if it is text"
    return slip.finding(TAG, "a value that begins with ! is a tag to YAML", fix, (slip.begun, end))


def _document_start(slip: Slip) -> Finding:
    if slip.text.startswith("%"):
        return _directive(structs.replace(slip, at=0, since=None))
    fix = "write the file as `key: value` lines, without braces around it and without `...`"
    return slip.finding(NO_YAML, "the document has ended above this line", fix, slip.span(slip.at))


# The first that is part of the parser's words tells.
_TELLERS: tuple[tuple[str, Callable[[Slip], Finding]], ...] = (
    ("tab character", _tab),
    ("directive", _directive),
    ("incompatible YAML document", _directive),
    ("a tag", _tag),
    ("tag handle", _tag),
    ("scanning a block scalar", _block_text),
    ("cannot start any token", _start),
    ("alphabetic or numeric", _unquoted),
    ("mapping values are not allowed", _colon),
    ("mapping keys are not allowed", _unquoted),
    ("expected ':'", _key_missing),
    ("block sequence entries", _dash),
    ("expected key", _entry),
    ("expected '-'", _entry),
    ("expected ',' or", _bracket),
    ("node content", _bracket),
    ("end of stream", _quote),
    ("document indicator", _quote),
    ("escape", _escape),
    ("hexdecimal", _escape),
    ("<document start>", _document_start),
)
