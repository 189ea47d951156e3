"""Manifests of any folder or file, or of standard input."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from generator.errors import UsageError
from generator.rendered.built import Built, Object
from generator.rendered.kustomize import ORIGIN, built, program
from generator.rendered.manifests import documents, is_manifest, unpacked

__all__ = ["read_manifests"]

_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_SUFFIXES = {".yaml", ".yml", ".json"}
_MOST = 2_000_000
"""Values that a file may hold, so that a few lines of aliases cannot stand for more than any memory holds."""


def read_manifests(path: Path) -> Built:
    """Return the objects of a file, of everything below a folder, of a kustomization, or of standard input (`-`).

    What is no Kubernetes object is named in `notes`, and so is what cannot be read, such as the templates of a chart.
    Raises UsageError for a path that is not there, and for a kustomization that Kustomize cannot build.
    """
    if str(path) == "-":
        return _gathered("standard input", {"-": sys.stdin.buffer.read()})
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    if any((path / name).is_file() for name in _KUSTOMIZATIONS):
        return _kustomized(path)
    return _gathered(str(path), {str(file): file.read_bytes() for file in _files(path)})


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())


def _kustomized(path: Path) -> Built:
    """Build it from a kustomization around it that asks for the origin of objects."""
    with TemporaryDirectory(prefix="gen-") as name:
        folder = Path(name).resolve()
        around = {"resources": [os.path.relpath(path.resolve(), folder)], "buildMetadata": [ORIGIN]}
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(around))
        made = built(program(), folder, str(path))
    objects = tuple(Object(one, "", os.path.relpath(folder / file) if file else str(path)) for one, file in made)
    return Built(name=str(path), cluster=None, objects=objects)


def _gathered(name: str, contents: dict[str, bytes]) -> Built:
    objects: list[Object] = []
    notes: list[str] = []
    for file, content in contents.items():
        try:
            found = _documents(content)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            template = " (a template of a chart?)" if b"{{" in content else ""
            notes.append(f"{file}: not read{template}: {' '.join(str(error).split())[:160]}")
            continue
        manifests = [one for one in found if is_manifest(one)]
        objects += [Object(one, "", file) for one in manifests]
        if len(manifests) < len(found) or not found:
            notes.append(f"{file}: {_count(len(found) - len(manifests), found)}")
    return Built(name=name, cluster=None, objects=tuple(objects), notes=tuple(notes))


def _count(others: int, found: list[Any]) -> str:
    if not found:
        return "is empty"
    return (
        "holds no Kubernetes object" if others == len(found) else f"{others} of its documents are no Kubernetes objects"
    )


def _documents(content: bytes) -> list[Any]:
    found = [one for document in documents(content) for one in unpacked(document)]
    if sum(1 for _ in _values(found)) > _MOST:
        raise ValueError(f"more than {_MOST} values")
    return found


def _values(part: Any) -> Iterator[None]:
    """Yield once for each value, and no more often than one over the limit."""
    waiting, seen = [part], 0
    while waiting and seen <= _MOST:
        one = waiting.pop()
        seen += 1
        yield None
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
