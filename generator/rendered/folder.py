"""Manifests of any folder or file, or of standard input."""

import json
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from generator.errors import UsageError
from generator.model.finding import Position
from generator.rendered.built import Built, Object
from generator.rendered.faults import EMPTY, UNREADABLE, BrokenError, Fault, unreadable
from generator.rendered.kustomize import NAMES, ORIGIN, built, program
from generator.rendered.manifests import is_manifest, is_meant, opened
from generator.rendered.reading import UnreadableError

__all__ = ["files_below", "read_manifests"]

_SUFFIXES = {".yaml", ".yml", ".json"}
# Prometheus and Alertmanager have templates as well, but not of these.
_TEMPLATE = re.compile(
    rb"\{\{[^}]{0,200}(\.(Values|Release|Chart|Capabilities|Files)\b|\b(include|define|toYaml|tpl)\b)"
)


class _File(Struct, frozen=True):
    """What was read of one file: objects, why it or a part of it could not be, and what there is to say beside."""

    objects: tuple[Object, ...] = ()
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()


def read_manifests(path: Path) -> Built:
    """Return the objects of a file, of everything below a folder, of a kustomization, or of standard input (`-`).

    What cannot be read or built, and a path without any object, are among `faults`. Other YAML, such as values, and
    templates of a chart beside objects are named in `notes`. Raises UsageError for a path that is not there.
    """
    if str(path) == "-":
        return _gathered("standard input", {"-": sys.stdin.buffer.read()})
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    if any((path / name).is_file() for name in NAMES):
        return _kustomized(path)
    return _gathered(str(path), {str(file): _content(file) for file in files_below(path)})


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None


def files_below(path: Path) -> list[Path]:
    """Return a file itself, or those of manifests in a folder and below it."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file())


def _kustomized(path: Path) -> Built:
    """Build it from a kustomization around it that asks for the origin of objects."""
    with TemporaryDirectory(prefix="gen-") as name:
        folder = Path(name).resolve()
        around = {"resources": [os.path.relpath(path.resolve(), folder)], "buildMetadata": [ORIGIN]}
        (folder / "kustomization.yaml").write_text(json.dumps(around))  # JSON is YAML
        try:
            made = built(program(), folder, str(path))
        except BrokenError as error:
            return Built(name=str(path), cluster=None, objects=(), faults=(error.fault,))
    objects = tuple(Object(one, "", os.path.relpath(folder / file) if file else str(path)) for one, file in made)
    faults = () if objects else (_empty(str(path), "Kustomize builds nothing from it"),)
    return Built(name=str(path), cluster=None, objects=objects, faults=faults)


def _gathered(name: str, contents: dict[str, bytes]) -> Built:
    found = [_read(file, content) for file, content in contents.items()]
    objects = tuple(one for each in found for one in each.objects)
    faults = tuple(one for each in found for one in each.faults)
    notes = tuple(one for each in found for one in each.notes)
    if not objects and not faults:
        looked = f"{len(contents)} files" if len(contents) != 1 else "1 file"
        looked = f"looked for .yaml, .yml and .json, found {looked}"
        faults = (_empty(name if name in contents or Path(name).exists() else "-", "; ".join((looked, *notes[:3]))),)
    return Built(name=name, cluster=None, objects=objects, notes=notes, faults=faults)


def _empty(file: str, what: str) -> Fault:
    message = f"there is no Kubernetes object to judge: {what}"
    return Fault(code=EMPTY, file=file, message=message, fix="name a file or folder that holds some")


def _read(file: str, content: bytes) -> _File:
    try:
        found = opened(content)
    except UnreadableError as error:
        if _TEMPLATE.search(content):
            return _File(notes=(f"{file}: is a template of a chart, no manifest yet",))
        return _File(faults=(unreadable(file, error, content),))
    manifests = [one for one in found if is_manifest(one)]
    halves = [one for one in found if not is_manifest(one) and is_meant(one)]
    others = len(found) - len(manifests) - len(halves)
    return _File(
        tuple(Object(one, "", file) for one in manifests),
        tuple(_half(file, one, content) for one in halves),
        (f"{file}: {_count(others, found)}",) if others or not found else (),
    )


def _half(file: str, one: Any, content: bytes) -> Fault:
    """Return the fault of what says its kind and is no object all the same."""
    kind = str(one["kind"])
    found = re.search(rf"^kind: *[\"']?{re.escape(kind)}\b.*$".encode(), content, re.MULTILINE)
    line = content.count(b"\n", 0, found.start()) + 1 if found else 1
    text = found[0].decode(errors="replace").rstrip("\r") if found else ""
    return Fault(
        code=UNREADABLE,
        file=file,
        message=f"a {kind} without a usable name",
        fix="give it `metadata.name`, a text",
        position=Position(line, 1, len(text) + 1),
        line=text,
    )


def _count(others: int, found: list[Any]) -> str:
    if not found:
        return "is empty"
    return (
        "holds no Kubernetes object" if others == len(found) else f"{others} of its documents are no Kubernetes objects"
    )
