"""Where findings stand: the file, the line and the columns of each, and the text of that line."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct, structs

from generator.model.fields import items_of
from generator.model.finding import Finding, ObjectRef, Position
from generator.model.finding import Path as Steps
from generator.model.opening import written
from generator.model.secret_texts import hidden, passwords
from generator.repository.cluster_files import Loaded
from generator.spec.document import Document
from generator.spec.reader import SIZE, read

_PLAIN = 12
"""Letters that a word of a language mostly has at most."""
_BEGINNING = Position(1, 1, 1)
_TAKE_OUT = "take the password out, and change it where it is used"


class Located(Struct, frozen=True):
    """A finding and its place: `line` is the text of the position's line, empty where there is none to show; `also`
    is the position of what the finding contradicts.
    """

    finding: Finding
    at: Position = _BEGINNING
    line: str = ""
    also: Position | None = None


class _Piece(Struct, frozen=True):
    """One document of a file, and the number of lines before it."""

    document: Document
    before: int


class Locator:
    """Locates findings of cluster files that are loaded, and of objects in the files below a folder; each of these is
    read once.
    """

    def __init__(self, loaded: Iterable[Loaded], root: Path = Path()) -> None:
        self._loaded = {one.document.file: one.document for one in loaded}
        self._root = root
        self._pieces = cache(self._read)

    def locate(self, findings: Iterable[Finding]) -> list[Located]:
        """Return findings with their places."""
        return _without_secrets([self._locate(finding) for finding in findings])

    def _locate(self, finding: Finding) -> Located:
        if finding.object:
            return self._in_manifest(finding, finding.object)
        if document := self._loaded.get(finding.file):
            at, also = document.locate(finding)
            return Located(finding, at, document.line(at.line), also)
        return Located(finding, finding.at if isinstance(finding.at, Position) else _BEGINNING, finding.line)

    def _in_manifest(self, finding: Finding, wanted: ObjectRef) -> Located:
        """Locate a value of an object. One that is not in the file, because a patch put it there, is shown by what is
        nearest to it; an object that is not, by the beginning of the file.
        """
        for piece in self._pieces(finding.file):
            for within, value in _objects(piece.document.value):
                if _is(value, wanted):
                    at = piece.document.position((*within, *finding.at))
                    return Located(finding, at._replace(line=at.line + piece.before), piece.document.line(at.line))
        return Located(finding)

    def _read(self, file: str) -> list[_Piece]:
        path = self._root / file
        if not path.is_file() or path.stat().st_size > SIZE:
            return []
        return list(_split(path.read_bytes(), file))


def _without_secrets(found: list[Located]) -> list[Located]:
    """Return findings in whose words, changes and lines nothing is left of what is a password or looks like one."""
    secrets = [_text(one) for one in found if one.finding.secret]
    return [_hidden(one, [*secrets, *_passwords(one)]) for one in found]


def _passwords(one: Located) -> list[str]:
    finding = one.finding
    words = (finding.message, finding.fix, finding.cause, *(str(edit.value) for edit in finding.edits))
    return [*passwords(one.line, is_line=True), *(each for text in words for each in passwords(text))]


def _text(one: Located) -> str:
    return one.line[one.at.column - 1 : one.at.end - 1].strip("\"'")


def _hidden(one: Located, secrets: list[str]) -> Located:
    if not secrets:
        return one
    line, finding, known = one.line, one.finding, _any_of(secrets)
    if finding.secret and _text(one):
        line = line.replace(_text(one), _stars(_text(one)))
    line = known.sub(lambda found: _stars(found[0]), hidden(line, _stars, is_line=True))
    # What the path says anyway is no secret: a key `password`, though its value may be the same word.
    unsaid = _any_of([text for text in secrets if text not in map(str, _steps(finding))])
    message, fix, cause = (
        unsaid.sub("***", hidden(text, lambda _: "***")) for text in (finding.message, finding.fix, finding.cause)
    )
    values = [str(edit.value) for edit in finding.edits]
    leaks = any(known.search(value) or passwords(value) for value in values)
    fix = _TAKE_OUT if leaks or fix != finding.fix else fix
    edits = () if leaks else finding.edits
    return structs.replace(
        one, finding=structs.replace(finding, message=message, fix=fix, cause=cause, edits=edits), line=line
    )


def _steps(finding: Finding) -> tuple[str | int, ...]:
    return () if isinstance(finding.at, Position) else tuple(finding.at)


def _any_of(secrets: list[str]) -> re.Pattern[str]:
    """Return what finds secrets in words, in small letters and where long words are cut off, too."""
    # Shorter ones would take letters out of other words.
    long = {text for text in secrets if len(text) > 3}
    cut = {rf"{re.escape(text[:end])}\.\.\." for text in long for end in range(1, min(len(text), 300))}
    whole = [_whole(text) for text in sorted(long, key=len, reverse=True)]
    return re.compile("|".join([*whole, *sorted(cut, key=len, reverse=True)]) or r"(?!)", re.IGNORECASE)


def _whole(text: str) -> str:
    """Return what finds a secret; a plain word (`admin`) not within others, as in the name `ADMIN_PASSWORD`."""
    plain = text.isalpha() and len(text) <= _PLAIN
    return rf"(?<![A-Za-z0-9_]){text}(?![A-Za-z0-9_])" if plain else re.escape(text)


def _stars(text: str) -> str:
    return "*" * len(text)


def _split(content: bytes, file: str) -> Iterator[_Piece]:
    breaks = [*re.finditer(rb"^---(?:[ \t].*)?\r?\n?", content, re.MULTILINE)]
    starts = [0, *(found.end() for found in breaks)]
    ends = [*(found.start() for found in breaks), len(content)]
    for start, end in zip(starts, ends, strict=True):
        if content[start:end].strip():
            yield _Piece(read(content[start:end], file), content.count(b"\n", 0, start))


def _objects(value: object) -> Iterator[tuple[Steps, dict[str, object]]]:
    """Yield a document, or the items of a List."""
    items = items_of(value)
    found: list[tuple[Steps, object]] = [((), value)]
    if items:
        found = [(("items", index), item) for index, item in enumerate(items)]
    yield from ((at, one) for at, one in found if isinstance(one, dict))


def _is(value: dict[str, object], wanted: ObjectRef) -> bool:
    if value.get("kind") != wanted.kind:
        return False
    if wanted.kind == "Component":
        # A kustomization has no name.
        return True
    metadata = value.get("metadata")
    found = metadata if isinstance(metadata, dict) else {}
    named = (found.get("name") or found.get("generateName")) == wanted.name
    return named and written(found.get("namespace") or "") in ("", wanted.namespace)
