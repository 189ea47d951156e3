"""YAML as Kubernetes reads it, and which of what is read is a Kubernetes object."""

from collections.abc import Iterator
from typing import Any, TypeGuard

import yaml

from generator.components.component import Manifest

__all__ = ["documents", "generated", "is_manifest", "unpacked"]

_DEEPEST = 500
_FOREIGN = (":timestamp", ":value")


class _Loader(yaml.CSafeLoader):
    """A date is text in JSON, and so is `=` (one CRD has it)."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(_FOREIGN)]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def documents(text: str | bytes) -> list[Any]:
    """Return the documents of a YAML or JSON file that hold anything. Raises `yaml.YAMLError`, and what Python makes
    of text that no reader could hold (ValueError, RecursionError).
    """
    depth = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} levels deep")
    return generated(text)


def generated(text: str | bytes) -> list[Any]:
    """Return what `documents` does, without its look at the depth: for large text that Kustomize or gen wrote, as
    libyaml falls over text that is nested a hundred thousand times.
    """
    return [one for one in yaml.load_all(text, _Loader) if one is not None]


def is_manifest(value: Any) -> TypeGuard[Manifest]:
    """Tell whether this is an object of Kubernetes: it says its version and kind, and has a name."""
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        return False
    named = value["metadata"].get("name") or value["metadata"].get("generateName")
    texts = (value.get("apiVersion"), value.get("kind"), named)
    return all(isinstance(text, str) and text for text in texts)


def unpacked(value: Any) -> Iterator[Any]:
    """Yield a document, or what it holds where it is a List."""
    if isinstance(value, dict) and value.get("kind") == "List" and isinstance(value.get("items"), list):
        yield from value["items"]
    else:
        yield value
