"""Where in its file a problem stands."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from generator.build.fields import dig, mapping, sequence
from generator.build.objects import Object, Problem
from generator.model.finding import Path as Steps
from generator.model.finding import Position
from generator.spec.document import Document
from generator.spec.reader import SIZE, read

_BREAK = re.compile(rb"^---(?:[ \t].*)?\r?\n?", re.MULTILINE)


class Place(Struct, frozen=True):
    """A position in a file, and the text of its line (empty where the file cannot be read)."""

    file: str
    position: Position
    line: str


class _Piece(Struct, frozen=True):
    """One document of a file, and the number of lines before it."""

    document: Document
    before: int


class Places:
    """Finds problems in the files below a folder; each file is read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._pieces = cache(self._read)

    def of(self, problem: Problem) -> Place:
        """Return the place of a problem. A value that is not in the file, because a patch put it there, is shown by
        what is nearest to it; an object that is not, by the beginning of the file.
        """
        one = problem.object
        for piece in self._pieces(one.file):
            for within, value in _objects(piece.document.value):
                if _same(value, one):
                    at = piece.document.position((*within, *problem.at))
                    moved = at._replace(line=at.line + piece.before)
                    return Place(one.file, moved, piece.document.line(at.line))
        return Place(one.file, Position(1, 1, 1), "")

    def _read(self, file: str) -> list[_Piece]:
        path = self._root / file
        if not path.is_file() or path.stat().st_size > SIZE:
            return []
        return list(_split(path.read_bytes(), file))


def _split(content: bytes, file: str) -> Iterator[_Piece]:
    starts = [0, *(found.end() for found in _BREAK.finditer(content))]
    ends = [*(found.start() for found in _BREAK.finditer(content)), len(content)]
    for start, end in zip(starts, ends, strict=True):
        if content[start:end].strip():
            yield _Piece(read(content[start:end], file), content.count(b"\n", 0, start))


def _objects(value: object) -> Iterator[tuple[Steps, object]]:
    """Yield a document, or the items of a List."""
    items = sequence(dig(value, "items")) if dig(value, "kind") == "List" else []
    yield from ((("items", index), item) for index, item in enumerate(items))
    if not items:
        yield (), value


def _same(value: object, one: Object) -> bool:
    metadata = mapping(dig(value, "metadata"))
    name = metadata.get("name") or metadata.get("generateName")
    if dig(value, "kind") == "Component" == one.kind:
        return True
    return (
        dig(value, "kind") == one.kind and name == one.name and (metadata.get("namespace") or "") in ("", one.namespace)
    )
