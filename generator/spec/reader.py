"""Read a cluster file: values by YAML 1.2 with their places, and every finding about the text itself."""

import codecs
import re
from collections.abc import Iterator
from itertools import islice

from generator.model.finding import Finding, Position
from generator.spec.build import Builder
from generator.spec.document import Document, Lines
from generator.spec.limit import MOST, capped
from generator.spec.text_codes import CHARACTER, CONFLICT, ENCODING, TOO_LARGE

SIZE = 8 * 2**20
"""Bytes (or characters) that a file may have."""

_CONFLICT = re.compile(r"^(?:[<>|]{7}(?: .*)?|={7})\r?$", re.MULTILINE)
# What YAML's printable characters leave over: as `[^...]` this would take 4 ms to compile, a fortieth of a render.
_FORBIDDEN = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
_STRAY_LINE_ENDS = tuple(map(re.compile, ("\r(?!\n)", "\x85", "\u2028", "\u2029")))


def read(text: bytes | str, file: str) -> Document:
    """Return the document, with findings and an empty value where the text cannot be read; never raises."""
    if len(text) > SIZE:
        return Document(file, "", findings=(_too_large(),))
    decoded, finding = _decode(text)
    lines = Lines(decoded)
    fatal = [finding] if finding else capped(_conflicts(lines)) or [*_forbidden(lines)]
    if fatal:
        return Document(file, decoded, findings=tuple(fatal))
    builder = Builder(lines)
    builder.findings.extend(_stray_line_ends(lines))
    builder.build()
    more, rest = _read_on(file, lines, builder) if builder.stopped else ([], None)
    findings = capped(sorted((*builder.findings, *more), key=lambda each: each.at[:2]))
    return Document(file, decoded, value=builder.value, root=builder.root, findings=tuple(findings), rest=rest)


def _read_on(file: str, lines: Lines, builder: Builder) -> tuple[list[Finding], Document | None]:
    from generator.spec.salvage import read_on  # noqa: PLC0415 - only for files that are wrong

    return read_on(file, lines, builder)


def _too_large() -> Finding:
    message = f"the file has more than {SIZE} bytes, which are the most that is read"
    return TOO_LARGE.complete(Finding(message=message, fix="look whether this is the right file", at=Position(1, 1, 1)))


def _decode(text: bytes | str) -> tuple[str, Finding | None]:
    if isinstance(text, str):
        return text.removeprefix("\ufeff"), None
    try:
        return text.removeprefix(codecs.BOM_UTF8).decode(), None
    except UnicodeDecodeError as error:
        decoded = error.object.decode(errors="replace")
        wide = error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        what = "the file is UTF-16, not UTF-8" if wide else f"byte 0x{error.object[error.start]:02X} is not UTF-8"
        start = len(error.object[: error.start].decode())
        return decoded, Lines(decoded).finding(ENCODING, what, "save the file as UTF-8", (start, start + 1))


def _conflicts(lines: Lines) -> Iterator[Finding]:
    """Yield a finding for each conflict, or for the first marker where only parts were left behind."""
    first = _CONFLICT.search(lines.text)
    begun = (mark for mark in _CONFLICT.finditer(lines.text) if mark[0].startswith("<"))
    for mark in [*islice(begun, MOST + 1)] or ([first] if first else []):
        fix = "settle the merge first: keep one side and remove the marker lines"
        yield lines.finding(CONFLICT, "merge conflict marker", fix, mark.span())


def _forbidden(lines: Lines) -> Iterator[Finding]:
    # Compiled only where Python, too, says that something cannot be printed.
    if all(map(str.isprintable, lines.text.split("\n"))):
        return
    if found := re.search(_FORBIDDEN, lines.text):
        what = f"the character U+{ord(found[0]):04X} is not allowed in YAML"
        yield lines.finding(CHARACTER, what, "remove it", found.span())


def _stray_line_ends(lines: Lines) -> Iterator[Finding]:
    """Yield a finding for the first of each kind: a file saved with old line ends is full of them."""
    for found in filter(None, (each.search(lines.text) for each in _STRAY_LINE_ENDS)):
        number = f"{ord(found[0]):04X}"
        what = f"the character U+{number} ends a line for some YAML readers and not for others"
        fix = "save the file with LF line ends" if found[0] == "\r" else f'remove it, or write "\\u{number}"'
        yield lines.finding(CHARACTER, what, fix, found.span())
