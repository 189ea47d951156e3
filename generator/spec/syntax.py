"""The YAML parser's dozen error texts in plain words, each with the smallest fix."""

import re
from collections.abc import Callable

from msgspec import Struct

from generator.model.finding import Finding
from generator.spec.document import Lines
from generator.spec.slip import INVISIBLE, Slip, printable

__all__ = ["explain_slip"]

_KEY_END = re.compile(r":(?:\s|$)")
_TIGHT_KEY = re.compile(r"\s*(?:- +)*([\w./-]+):(\S.*)")


class _Words(Struct, frozen=True, kw_only=True):
    """A finding whose places are still offsets."""

    code: str
    message: str
    fix: str
    at: int
    end: int = 0
    also: int | None = None


def explain_slip(slip: Slip, lines: Lines) -> Finding:
    """Return the one finding that a syntax error makes."""
    words = _hidden(slip) or _words(slip)
    also = None if words.also is None or words.also == words.at else lines.position(words.also, words.also + 1)
    return Finding(
        code=words.code,
        message=printable(words.message),
        fix=printable(words.fix),
        at=lines.position(words.at, max(words.end, words.at + 1)),
        also=also,
    )


def _hidden(slip: Slip) -> _Words | None:
    for start in (slip.at if slip.since is None else slip.since, slip.line_above[0], slip.at):
        begin = slip.text.rfind("\n", 0, start) + 1
        found = INVISIBLE.search(slip.text, begin, begin + len(slip.rest(begin)))
        if found:
            return _Words(
                code="GEN-YAML-003",
                message=f"the character U+{ord(found[0]):04X} looks like a blank or like nothing and is neither",
                fix="type this place again, with plain spaces",
                at=found.start(),
            )
    return None


def _words(slip: Slip) -> _Words:
    for part, tell in _TELLERS:
        if part in f"{slip.context}: {slip.problem}":
            return tell(slip)
    return _other(slip)


def _other(slip: Slip) -> _Words:
    return _Words(
        code="GEN-YAML-025",
        message=f"this is not YAML: {' '.join(filter(None, (slip.context, slip.problem)))}",
        fix="look at this line and the one above",
        at=slip.at,
        also=slip.since,
    )


def _tab(slip: Slip) -> _Words:
    return _Words(
        code="GEN-YAML-014",
        message="a tab where YAML allows only spaces",
        fix="indent with spaces",
        at=slip.at,
    )


def _start(slip: Slip) -> _Words:
    return _tab(slip) if slip.char == "\t" else _unquoted(slip)


def _unquoted(slip: Slip) -> _Words:
    start = slip.at if slip.since is None else slip.since
    text = slip.rest(start)
    return _Words(
        code="GEN-YAML-017",
        message=f"plain text cannot begin with {text[:1]}, which means something else in YAML",
        fix=_quoting(slip, text),
        at=start,
        end=start + len(text) if slip.opened is None else start + 1,
    )


def _quoting(slip: Slip, text: str) -> str:
    """Tell what to write; inside brackets it is not known how far the text was meant to go."""
    if slip.opened is not None or len(text) > 200 or re.search(r"[\"\\]", text):
        return "put quotes around the text"
    return f'quote it: "{text}"'


def _colon(slip: Slip) -> _Words:
    key = _KEY_END.search(slip.before)
    if key:
        return _Words(
            code="GEN-YAML-019",
            message="a colon and a blank inside a plain value",
            fix=_quoting(slip, slip.rest(slip.at - len(slip.before) + key.end()).lstrip()),
            at=slip.at,
        )
    above = slip.text[slice(*slip.line_above)]
    if above and not _KEY_END.search(above) and above != "---":
        return _no_colon(slip, *slip.line_above)
    return _Words(
        code="GEN-YAML-018",
        message=f"{slip.before.strip() or 'this'} is indented as if it belonged to the value above",
        fix="begin it in the column of the key above",
        at=slip.at - len(slip.before.lstrip()),
        end=slip.at,
        also=slip.line_above[0],
    )


def _no_colon(slip: Slip, start: int, end: int) -> _Words:
    tight = _TIGHT_KEY.fullmatch(slip.text[start:end])
    return _Words(
        code="GEN-YAML-020",
        message="no blank behind the colon" if tight else "a key and its colon are expected here",
        fix=f"write `{tight[1]}: {tight[2]}`" if tight else "write `key: value`",
        at=start,
        end=end,
    )


def _key_missing(slip: Slip) -> _Words:
    start = slip.at if slip.since is None else slip.since
    return _no_colon(slip, start, start + len(slip.rest(start)))


def _dash(slip: Slip) -> _Words:
    return _Words(
        code="GEN-YAML-018",
        message="a list cannot begin on the line of its key",
        fix="put the `-` on a line of its own below the key, or quote the value if it is text",
        at=slip.at,
    )


def _entry(slip: Slip) -> _Words:
    """Something stands where the next key or item should: wrong indentation, or text behind a closing quote."""
    if slip.char in {"]", "}"}:
        return _bracket(slip)
    if slip.before.strip():
        return _trailing(slip)
    wanted = "an item that begins with `-`" if "'-'" in slip.problem else "a key"
    return _Words(
        code="GEN-YAML-018",
        message=f"{wanted} is expected here; if this is one, it is indented like none of the lines above",
        fix="begin it in the same column as the entries it belongs to",
        at=slip.at,
        end=slip.at + len(slip.rest(slip.at)),
        also=slip.line_above[0],
    )


def _trailing(slip: Slip) -> _Words:
    if slip.quoted and "\n" in slip.text[slice(*slip.quoted)] and not slip.text[slip.quoted[1] : slip.at].strip():
        return _unclosed(slip, slip.quoted[0], also=slip.quoted[1] - 1)
    return _Words(
        code="GEN-YAML-017",
        message=f"nothing may follow {slip.before.rstrip()[-1]} on this line",
        fix="put quotes around the whole value, or a comma or a line end between two values",
        at=slip.at,
        end=slip.at + len(slip.rest(slip.at)),
    )


def _quote(slip: Slip) -> _Words:
    return _unclosed(slip, slip.at if slip.since is None else slip.since)


def _unclosed(slip: Slip, start: int, also: int | None = None) -> _Words:
    return _Words(
        code="GEN-YAML-016",
        message="the quote that opens here is not closed on its line",
        fix=f"close it with {slip.text[start : start + 1]}",
        at=start,
        end=start + len(slip.rest(start)),
        also=also,
    )


def _bracket(slip: Slip) -> _Words:
    opened = slip.opened
    if opened is None:
        return _Words(
            code="GEN-YAML-015",
            message=f"{slip.char} has no bracket or brace that it belongs to" if slip.char else "a value is missing",
            fix="remove it, or quote it if it is text",
            at=slip.at,
        )
    sign = slip.text[opened]
    close = "]" if sign == "[" else "}"
    misfit = slip.char in {"]", "}", ","} or (slip.char.strip() and "content" in slip.problem)
    earlier = not misfit and (not slip.char.strip() or "\n" in slip.text[opened : slip.at])
    return _Words(
        code="GEN-YAML-015",
        message=f"{slip.char} does not fit here: {sign} is still open" if misfit else f"{sign} is not closed",
        fix=f"close it with {close}, or put a comma between two values",
        at=opened if earlier else slip.at,
        also=slip.at if earlier else opened,
    )


def _escape(slip: Slip) -> _Words:
    start = slip.text.rfind("\\", 0, slip.at + 1)
    return _Words(
        code="GEN-YAML-021",
        message=f"{slip.text[start : start + 2]} is not an escape that YAML knows",
        fix="use single quotes, or write the backslash twice",
        at=start,
        end=start + 2,
    )


def _block_text(slip: Slip) -> _Words:
    return _Words(
        code="GEN-YAML-022",
        message="text stands on the line of | or >" if slip.char not in "0123456789" else "this is no indentation",
        fix="begin the text on the next line, indented, or quote the value",
        at=slip.at,
        end=slip.at + len(slip.rest(slip.at)),
    )


def _directive(slip: Slip) -> _Words:
    start = slip.at if slip.since is None else slip.since
    begin = slip.text.rfind("\n", 0, start) + 1
    return _Words(
        code="GEN-YAML-023",
        message="a line that begins with % is a directive to the YAML reader",
        fix="remove the line",
        at=begin,
        end=begin + len(slip.rest(begin)),
    )


def _tag(slip: Slip) -> _Words:
    start = slip.at if slip.since is None else slip.since
    return _Words(
        code="GEN-YAML-011",
        message="a value that begins with ! is a tag to YAML",
        fix="remove the tag, or quote the value if it is text",
        at=start,
        end=start + len(slip.rest(start).split(" ")[0]),
    )


def _document_start(slip: Slip) -> _Words:
    if slip.text.startswith("%"):
        return _directive(Slip(text=slip.text, problem=slip.problem, at=0))
    return _Words(
        code="GEN-YAML-025",
        message="the document has ended above this line",
        fix="write the file as `key: value` lines, without braces around it and without `...`",
        at=slip.at,
        end=slip.at + len(slip.rest(slip.at)),
    )


_TELLERS: tuple[tuple[str, Callable[[Slip], _Words]], ...] = (
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
