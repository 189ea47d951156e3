"""Kustomizations that only list files: what they build is what stands there, and no program need be started."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generator.build.broken import BrokenError
from generator.build.go_yaml import UnreadableError
from generator.build.kustomization import kustomization
from generator.build.manifests import documents, is_manifest
from generator.components.component import Manifest
from generator.model.fields import mapping, sequence, walk

_LISTING = {"apiVersion", "kind", "resources", "components", "buildMetadata"}
"""The fields of a kustomization that change no object."""

_READ_BY_KUSTOMIZE = ("config.kubernetes.io/", "internal.config.kubernetes.io/", "kustomize.config.k8s.io/")
"""Annotations that Kustomize acts on, or takes away."""

_ODD = re.compile(r"true|false|null|~|<<|[-+.]?[0-9].*", re.IGNORECASE)
"""Keys that may have been written as something else than a text: Kustomize reads `on: 1` as a text, Kubernetes not."""


class _NotPlainError(Exception):
    """Kustomize would do something with it, or refuse it."""


def plain_objects(folder: Path) -> list[tuple[Manifest, str]] | None:
    """Return the objects that a folder's kustomization lists, each with its file relative to the folder; None where
    Kustomize would change or refuse anything, or where that cannot be told: then it must be asked.
    """
    patches: list[Any] = []
    try:
        found = [(one, os.path.relpath(file, folder)) for file in _files(folder, patches) for one in _objects(file)]
    except (_NotPlainError, BrokenError, UnreadableError, OSError):
        return None
    names = {_identity(one) for one, _ in found}
    # A patch with a target does nothing where nothing is: what a chart brings, say, which is not vendored.
    matching = bool(found) or not all(mapping(patch).get("target") for patch in patches)
    return None if (patches and matching) or len(names) < len(found) else found


def _files(folder: Path, patches: list[Any]) -> Iterator[Path]:
    """Yield the files that a kustomization lists, and all that it is made of; patches are put to the others."""
    one = kustomization(folder)
    if one is None or not one.content.keys() <= {*_LISTING, "patches"}:
        raise _NotPlainError
    patches += sequence(one.content.get("patches"))
    for entry in (*sequence(one.content.get("resources")), *sequence(one.content.get("components"))):
        path = folder / entry if isinstance(entry, str) else folder / "\0"
        if path.is_dir():
            yield from _files(path, patches)
        else:
            yield path


def _objects(file: Path) -> Iterator[Manifest]:
    for one in documents(file.read_bytes(), strict=True):
        if not is_manifest(one) or not _stays(one):
            raise _NotPlainError
        yield one


def _stays(manifest: Manifest) -> bool:
    """Tell whether Kustomize leaves an object as it is: Lists it takes apart, and what is nothing may go."""
    annotations = mapping(manifest["metadata"].get("annotations"))
    acted_on = any(str(key).startswith(_READ_BY_KUSTOMIZE) for key in annotations)
    nothing = any(value is None or value in ({}, []) for _, value in walk(manifest["metadata"]))
    odd = any(_ODD.fullmatch(str(at[-1])) for at, _ in walk(manifest) if at and isinstance(at[-1], str))
    return not (acted_on or nothing or odd or manifest["kind"].endswith("List") or "name" not in manifest["metadata"])


def _identity(manifest: Manifest) -> tuple[Any, ...]:
    metadata = manifest["metadata"]
    return manifest["apiVersion"].rpartition("/")[0], manifest["kind"], metadata.get("namespace"), metadata["name"]
