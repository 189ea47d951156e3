"""The documents of a file, and which of them are Kubernetes objects."""

from typing import Any, TypeGuard

from generator.build.go_yaml import numbered
from generator.components.component import Manifest
from generator.model.fields import items_of
from generator.model.served import LAST, kinds


def documents(content: str | bytes, *, strict: bool = False) -> list[Any]:
    """Return the documents of a YAML or JSON file that hold anything. Raises UnreadableError; with `strict`, which is
    for what people write, also for a key that comes twice.
    """
    return [value for _, value in numbered(content, strict=strict) if value is not None]


def documents_with_items(content: bytes, *, strict: bool = False) -> list[Any]:
    """Return the documents of a file, and what Lists hold in place of those. Raises as `documents`."""
    found: list[Any] = []
    for one in documents(content, strict=strict):
        items = items_of(one)
        found += [one] if items is None else items
    return found


def is_manifest(value: Any) -> TypeGuard[Manifest]:
    """Tell whether this is an object of Kubernetes: it says its version and kind, and has a name."""
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        return False
    named = value["metadata"].get("name") or value["metadata"].get("generateName")
    texts = (value.get("apiVersion"), value.get("kind"), named)
    return all(isinstance(text, str) and text for text in texts)


def is_meant_as_manifest(value: Any) -> bool:
    """Tell whether somebody meant this as an object, though it has no usable name: Kubernetes serves its kind, it says
    a name that is none, or it has other metadata and a `spec`. Reviews and the like need none.
    """
    if not isinstance(value, dict) or not (isinstance(value.get("kind"), str) and "apiVersion" in value):
        return False
    metadata, kind = value.get("metadata"), value["kind"]
    if kind.endswith(("Review", "List")) or "kustomize" in str(value["apiVersion"]):
        return False
    described = isinstance(metadata, dict) and ("name" in metadata or bool(metadata and "spec" in value))
    unnamed = "metadata" in value and (not isinstance(metadata, dict) or described)
    return unnamed or kind in kinds(LAST).get(str(value["apiVersion"]), {})
