"""Manifests of any folder or file, or of standard input."""

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from generator.build.any_kustomization import build_kustomization
from generator.build.broken import EMPTY, UNREADABLE, unreadable
from generator.build.cache import remembered
from generator.build.go_yaml import UnreadableError
from generator.build.manifests import documents_with_items, is_manifest, is_meant_as_manifest
from generator.build.objects import Built, Object
from generator.build.variants import Variants
from generator.errors import UsageError
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.model.finding import Finding, Position
from generator.model.plural import plural
from generator.repository.given_files import capped, read_given, says_so

_SUFFIXES = {".yaml", ".yml", ".json"}
_FLUX = "kustomize.toolkit.fluxcd.io"
# Prometheus and Alertmanager have templates as well, but not of these.
_TEMPLATE = re.compile(
    rb"\{\{[^}]{0,200}(\.(Values|Release|Chart|Capabilities|Files)\b|\b(include|define|toYaml|tpl)\b)"
)


class _File(Struct, frozen=True):
    """What was read of one file: objects, why it or a part of it could not be, and what there is to say beside."""

    objects: tuple[Object, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def read_manifests(path: Path) -> Built:
    """Return the objects of a file, of everything below a folder, of a kustomization, or of standard input (`-`).

    What cannot be read or built, and a path without any object, are among `findings`. Other YAML, such as values, and
    templates of a chart beside objects are named in `notes`; so is what kustomizations below a folder apply as patches,
    and what one would fetch. Raises UsageError for a path that is not there.
    """
    return substituted(_read_manifests(path))


def substituted(built: Built) -> Built:
    """Mark all objects where one of them says that Flux replaces variables in what it applies."""
    if not any(_substitutes(one) for one in built.objects):
        return built
    return structs.replace(built, objects=tuple(structs.replace(one, substituted=True) for one in built.objects))


def _substitutes(one: Object) -> bool:
    """Tell whether this is a Kustomization of Flux that replaces variables, by its `spec.postBuild`."""
    return (one.group, one.kind) == (_FLUX, "Kustomization") and "postBuild" in one.spec


def _read_manifests(path: Path) -> Built:
    if str(path) == "-":
        content = capped(sys.stdin.buffer, "standard input")
        return _gathered("standard input", [_read("-", _manifests(content, "standard input"))], 1)
    if not _exists(path):
        raise UsageError(f"{path}: there is no such file or folder")
    if any(os.path.isfile(path / name) for name in KUSTOMIZATION_NAMES):  # noqa: PTH113 - never raises
        built = build_kustomization(path)
        why = "; ".join(built.notes[:3]) or "Kustomize builds nothing from it"
        return built if built.objects or built.findings else _without(built, why)
    return _all_below(path) if path.is_dir() else _of_one(path)


def _of_one(path: Path) -> Built:
    """Read one file. What Kustomize builds from is no object, but the folder's that holds it."""
    built = _gathered(str(path), [_named(path)], 1)
    if built.objects or path.name not in KUSTOMIZATION_NAMES:
        return built
    message = "there is no Kubernetes object to judge: Kustomize builds from the folder of this file"
    finding = Finding(
        file=str(path), message=message, fix=f"name the folder: gen check {shlex.quote(str(path.parent))}"
    )
    return structs.replace(built, findings=(EMPTY.complete(finding),), notes=())


def _exists(path: Path) -> bool:
    """Tell whether there is a file or folder. Raises UsageError where nobody may look."""
    try:
        return path.exists()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


def _all_below(path: Path) -> Built:
    """Read a folder that is no kustomization; those below it say what is a patch, and what belongs together."""
    refused: list[OSError] = []
    files = list(_walk(path, refused))
    variants = Variants.of(path, files)
    listed = [file for file in files if file.suffix.lower() in _SUFFIXES and not variants.is_other(file)]
    found = [_grouped(_of_file(file), variants, file) for file in listed]
    notes = tuple(variants.notes(one for each in found for one in each.objects))
    unread = _File(findings=tuple(_unopened(error) for error in refused), notes=notes)
    return _gathered(str(path), [*found, unread], len(listed))


def _grouped(one: _File, variants: Variants, file: Path) -> _File:
    if file.name in KUSTOMIZATION_NAMES:
        return structs.replace(one, objects=(), notes=())
    return structs.replace(one, objects=tuple(variants.grouped(each) for each in one.objects))


def _walk(path: Path, refused: list[OSError]) -> Iterator[Path]:
    """Yield the files in a folder and below it, in order; folders that cannot be read become `refused`."""
    found = [Path(folder, name) for folder, _, names in os.walk(path, onerror=refused.append) for name in names]
    yield from (file for file in sorted(found) if file.is_file())


def files_below(path: Path) -> list[Path]:
    """Return a file itself, or those of manifests in a folder and below it. Raises UsageError for a folder that cannot
    be read.
    """
    refused: list[OSError] = []
    found = [file for file in _walk(path, refused) if file.suffix.lower() in _SUFFIXES] if path.is_dir() else [path]
    if refused:
        raise UsageError(f"{refused[0].filename}: cannot be read: {refused[0].strerror}")
    return found


def _named(path: Path) -> _File:
    """Read a file or a pipe. Raises UsageError for a cluster file, as a pipe may bring one."""
    try:
        return _read(str(path), _manifests(read_given(path), str(path)))
    except OSError as error:
        return _File(findings=(_unopened(error),))


def _manifests(content: bytes, name: str) -> bytes:
    if says_so(content):
        raise UsageError(f"{name}: this is a cluster file, and no file that gen can name; name one: gen check FILE")
    return content


def _of_file(file: Path) -> _File:
    """Read a file below a folder. JSON there may be anything, one value on each line as well."""
    try:
        content = file.read_bytes()
    except OSError as error:
        return _File(findings=(_unopened(error),))
    read = _read(str(file), content)
    if read.findings and file.suffix.lower() == ".json" and b'"apiVersion"' not in content:
        return _File(notes=(f"{file}: cannot be read, and names no apiVersion",))
    return read


def _unopened(error: OSError) -> Finding:
    message = f"cannot be read: {error.strerror}; nothing in it was judged"
    return UNREADABLE.complete(
        Finding(file=str(error.filename), message=message, fix="let gen read it, or name other paths")
    )


def _gathered(name: str, found: Iterable[_File], looked: int) -> Built:
    found = [*found]
    built = Built(
        name=name,
        cluster=None,
        objects=tuple(one for each in found for one in each.objects),
        notes=tuple(one for each in found for one in each.notes),
        findings=tuple(one for each in found for one in each.findings),
    )
    what = "; ".join((f"looked for .yaml, .yml and .json, found {plural(looked, 'file')}", *built.notes[:3]))
    return built if built.objects or built.findings else _without(built, what)


def _without(built: Built, what: str) -> Built:
    """Return what was built, which is nothing, with the finding that says so."""
    file = "-" if built.name == "standard input" else built.name
    message = f"there is no Kubernetes object to judge: {what}"
    finding = Finding(file=file, message=message, fix="name a file or folder that holds some")
    return structs.replace(built, findings=(EMPTY.complete(finding),))


def _read(file: str, content: bytes) -> _File:
    try:
        read = partial(documents_with_items, content, strict=True)
        # What is piped in may be in no file: a Secret, say.
        found = read() if file == "-" else remembered((b"strict", content), read, list[Any])
    except UnreadableError as error:
        if _TEMPLATE.search(content):
            return _File(notes=(f"{file}: is a template of a chart, no manifest yet",))
        return _File(findings=(unreadable(file, error, content),))
    manifests = [one for one in found if is_manifest(one)]
    halves = [one for one in found if not is_manifest(one) and is_meant_as_manifest(one)]
    others = len(found) - len(manifests) - len(halves)
    return _File(
        tuple(Object(one, "", file) for one in manifests),
        tuple(_half(file, one, content) for one in halves),
        (f"{file}: {_count(others, found)}",) if others or not found else (),
    )


def _half(file: str, one: dict[str, object], content: bytes) -> Finding:
    """Return the finding on what says its kind and is no object all the same."""
    kind = str(one["kind"])
    found = re.search(rf"^kind: *[\"']?{re.escape(kind)}\b.*$".encode(), content, re.MULTILINE)
    line = content.count(b"\n", 0, found.start()) + 1 if found else 1
    text = found[0].decode(errors="replace").rstrip("\r") if found else ""
    return UNREADABLE.complete(
        Finding(
            file=file,
            message=f"a {kind} without a usable name",
            fix="give it `metadata.name`, a text",
            at=Position(line, 1, len(text) + 1),
            line=text,
        )
    )


def _count(others: int, found: list[object]) -> str:
    if not found:
        return "is empty"
    return (
        "holds no Kubernetes object" if others == len(found) else f"{others} of its documents are no Kubernetes objects"
    )
