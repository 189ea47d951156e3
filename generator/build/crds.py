"""CRDs from folders that the user names: those of the kinds that are in question."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import structs

from generator.build.folder import files_below
from generator.build.go_yaml import UnreadableError
from generator.build.kinds import CRD, Kinds, defined_kind, served_by
from generator.build.manifests import documents_with_items, is_manifest
from generator.build.objects import Built
from generator.components.component import Manifest
from generator.errors import UsageError
from generator.repository.given_files import read_given


def with_definitions(built: Built, folders: Iterable[Path]) -> Built:
    """Return `built` with the CRDs at hand of kinds that it has and brings no CRD for. Folders are searched with all
    that is below them, in order; the first CRD of a kind that serves a version in use wins. Raises UsageError for a
    folder that is not there.
    """
    try:
        return _with_definitions(built, list(folders))
    except OSError as error:
        raise UsageError(f"--schemas {error.filename}: cannot be read: {error.strerror}") from None


def _with_definitions(built: Built, folders: list[Path]) -> Built:
    if absent := [folder for folder in folders if not folder.exists()]:
        raise UsageError(f"--schemas {absent[0]}: there is no such file or folder")
    known = Kinds.of(built)
    wanted: dict[tuple[str, str], set[str]] = {}
    for one in built.objects:
        if known.foreign(one):
            wanted.setdefault((one.group, one.kind), set()).add(one.version.rpartition("/")[2])
    found = [crd for folder in folders for path in files_below(folder) for crd in _wanted(path, wanted)]
    # The last of a kind is the one that counts (`Kinds`): of those that serve a version in use, the first.
    found.reverse()
    found.sort(key=lambda crd: not wanted[defined_kind(crd)].isdisjoint(served_by(crd)))
    return structs.replace(built, definitions=(*found, *built.definitions))


def _wanted(path: Path, wanted: dict[tuple[str, str], set[str]]) -> Iterator[Manifest]:
    """Yield the CRDs of a file that are wanted. Text is searched first: to read one as YAML may take half a second."""
    text = read_given(path)
    if CRD.encode() not in text or not any(_mentions(text, kind) and group.encode() in text for group, kind in wanted):
        return
    try:
        found = documents_with_items(text)
    except UnreadableError:
        # A template of a chart, most likely: it is no CRD yet.
        return
    for one in found:
        if is_manifest(one) and one["kind"] == CRD and defined_kind(one) in wanted:
            yield one


def _mentions(text: bytes, kind: str) -> bool:
    return re.search(rb"\b" + re.escape(kind.encode()) + rb"\b", text) is not None
