"""CRDs from folders that the user names: those of the kinds that are in question."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml
from msgspec import structs

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.rendered.access import dig, sequence
from generator.rendered.built import Built
from generator.rendered.kinds import CRD, Kinds
from generator.rendered.manifests import documents, is_manifest, unpacked

__all__ = ["with_definitions"]

_SUFFIXES = {".yaml", ".yml", ".json"}


def with_definitions(built: Built, folders: Iterable[Path]) -> Built:
    """Return `built` with the CRDs at hand of kinds that it has and brings no CRD for. Folders are searched with all
    that is below them, in order; the first CRD of a kind that serves a version in use wins. Raises UsageError for a
    folder that is not there.
    """
    known = Kinds.of(built)
    wanted: dict[tuple[str, str], set[str]] = {}
    for one in built.objects:
        group, _, version = str(one.manifest["apiVersion"]).rpartition("/")
        if not known.ours(group) and (group, one.kind) not in known.custom:
            wanted.setdefault((group, one.kind), set()).add(version)
    found = [crd for folder in folders for path in _files(folder) for crd in _wanted(path, wanted)]
    # The last of a kind is the one that counts (`Kinds`).
    found.reverse()
    found.sort(key=lambda crd: _serves(crd, wanted))
    return structs.replace(built, definitions=(*found, *built.definitions))


def _files(folder: Path) -> list[Path]:
    if not folder.exists():
        raise UsageError(f"--schemas {folder}: there is no such file or folder")
    if folder.is_file():
        return [folder]
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES and path.is_file())


def _wanted(path: Path, wanted: dict[tuple[str, str], set[str]]) -> Iterator[Manifest]:
    """Yield the CRDs of a file that are wanted. Text is searched first: to read one as YAML may take half a second."""
    text = path.read_bytes()
    if CRD.encode() not in text or not any(_mentions(text, kind) and group.encode() in text for group, kind in wanted):
        return
    try:
        found = [one for document in documents(text) for one in unpacked(document)]
    except (yaml.YAMLError, ValueError, RecursionError):
        # A template of a chart, most likely: it is no CRD yet.
        return
    for one in found:
        key = (dig(one, "spec", "group"), dig(one, "spec", "names", "kind"))
        if is_manifest(one) and one["kind"] == CRD and key in wanted:
            yield one


def _serves(crd: Manifest, wanted: dict[tuple[str, str], set[str]]) -> bool:
    """Tell whether a CRD serves a version that objects are in."""
    key = (dig(crd, "spec", "group"), dig(crd, "spec", "names", "kind"))
    return any(
        dig(one, "name") in wanted[key] and dig(one, "served") is True for one in sequence(dig(crd, "spec", "versions"))
    )


def _mentions(text: bytes, kind: str) -> bool:
    return re.search(rb"\b" + re.escape(kind.encode()) + rb"\b", text) is not None
