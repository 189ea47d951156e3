"""Kustomizations that only list files: what they build is what stands there, and no program need be started."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generator.build.broken import BrokenError
from generator.build.go_yaml import UnreadableError
from generator.build.kustomization import Kustomization, kustomization
from generator.build.kustomize import ORIGIN
from generator.build.manifests import documents, is_manifest
from generator.build.offline import CUSTOM
from generator.components.component import Manifest
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.model.fields import mapping, walk

_LISTING = {"apiVersion", "kind", "resources", "components", "buildMetadata"}
"""The fields of a kustomization that change no object."""

_READ_BY_KUSTOMIZE = ("config.kubernetes.io/", "internal.config.kubernetes.io/", "kustomize.config.k8s.io/")
"""Annotations that Kustomize acts on, or takes away."""

_ODD = re.compile(r"true|false|null|~|<<|[-+.]?[0-9].*", re.IGNORECASE)
"""Keys that may have been written as something else than a text: Kustomize reads `on: 1` as a text, Kubernetes not."""

_VERSIONS = {"Kustomization": "kustomize.config.k8s.io/v1beta1", "Component": "kustomize.config.k8s.io/v1alpha1"}

_OTHER_WORDS = re.compile(
    rb"(?im)(?:[:\[{,]|^ *-)[ \t]+(?:y|n|yes|no|on|off|\d{4}-\d\d?-\d\d?\S*)[ \t]*(?:[,#}\]\r]|$)"
)
"""Values that Kustomize writes as texts, or dates, and the reader takes for something else."""


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
    matching = bool(found) or not all(mapping(patch).get("target") and "path" not in patch for patch in patches)
    return None if (patches and matching) or len(names) < len(found) else found


def _files(
    folder: Path, patches: list[Any], kind: str = "Kustomization", outer: tuple[Path, ...] = ()
) -> Iterator[Path]:
    """Yield the files that a kustomization lists, and all that it is made of; patches are put to the others."""
    one, place = kustomization(folder), folder.resolve()
    if one is None or place in outer or not _only_lists(one, kind):
        raise _NotPlainError
    if not one.file.resolve().is_relative_to(place):  # a link out of the folder, which Kustomize refuses
        raise _NotPlainError
    patches += one.content.get("patches", [])
    for field, below in (("resources", "Kustomization"), ("components", "Component")):
        for entry in one.content.get(field, []):
            path = folder / entry
            if path.is_dir():
                yield from _files(path, patches, below, (*outer, place))
            elif field == "resources" and path.resolve().is_relative_to(place):
                yield path
            else:
                raise _NotPlainError


def _only_lists(one: Kustomization, kind: str) -> bool:
    """Tell whether a kustomization is of this kind, lists what it is made of, and says nothing else. What a user put
    into `custom` is Kustomize's to judge.
    """
    said = one.content
    texts = [said.get(field, []) for field in ("resources", "components", "buildMetadata")]
    if one.folder.name == CUSTOM and any(texts):
        return False
    return (
        {"resources", "components"} & said.keys() != set()
        and said.keys() <= {*_LISTING, "patches"}
        and all(isinstance(each, list) and all(isinstance(text, str) and text for text in each) for each in texts)
        and isinstance(said.get("patches", []), list)
        and said.get("kind", "Kustomization") == kind
        and said.get("apiVersion", _VERSIONS[kind]) == _VERSIONS[kind]
        and set(texts[2]) <= {ORIGIN}
        and sum((one.folder / name).is_file() for name in KUSTOMIZATION_NAMES) == 1
    )


def _objects(file: Path) -> Iterator[Manifest]:
    content = file.read_bytes()
    if _OTHER_WORDS.search(content):
        raise _NotPlainError
    for one in documents(content, strict=True):
        if not is_manifest(one) or not _stays(one):
            raise _NotPlainError
        yield one


def _stays(manifest: Manifest) -> bool:
    """Tell whether Kustomize leaves an object as it is: Lists it takes apart, and what is nothing may go."""
    annotations = manifest["metadata"].get("annotations", {})
    if not isinstance(annotations, dict) or not all(isinstance(each, str) for each in annotations.values()):
        return False
    if isinstance(manifest["metadata"].get("namespace"), dict | list):
        return False
    acted_on = any(str(key).startswith(_READ_BY_KUSTOMIZE) for key in annotations)
    nothing = any(value is None or value in ({}, []) for _, value in walk(manifest["metadata"]))
    odd = any(_ODD.fullmatch(str(at[-1])) for at, _ in walk(manifest) if at and isinstance(at[-1], str))
    return not (acted_on or nothing or odd or manifest["kind"].endswith("List") or "name" not in manifest["metadata"])


def _identity(manifest: Manifest) -> tuple[Any, ...]:
    metadata = manifest["metadata"]
    space = metadata.get("namespace", "default")
    return manifest["apiVersion"].rpartition("/")[0], manifest["kind"], space, metadata["name"]
