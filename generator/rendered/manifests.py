"""YAML as Kubernetes reads it, and which of what is read is a Kubernetes object."""

from collections.abc import Iterator
from typing import Any, TypeGuard

import yaml

from generator.components.component import Manifest
from generator.model.served import kinds

__all__ = ["documents", "generated", "is_manifest", "is_meant", "reason", "unpacked"]

_DEEPEST, _NEWEST = 500, 36
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


def reason(error: Exception, content: bytes) -> tuple[int, str]:
    """Return the line at which a file could not be read (1 where none is known), and why, in one line."""
    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark or error.context_mark):
        return mark.line + 1, ", ".join(filter(None, (error.context, error.problem)))
    if isinstance(error, yaml.reader.ReaderError):
        return content.count(b"\n", 0, error.position) + 1, str(error.reason)
    return 1, " ".join(str(error).split())[:160]


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


def is_meant(value: Any) -> bool:
    """Tell whether somebody meant this as an object, though it has no usable name: Kubernetes serves its kind, or it
    says a name that is none. Reviews and the like need none.
    """
    if not isinstance(value, dict) or not (isinstance(value.get("kind"), str) and "apiVersion" in value):
        return False
    metadata, kind = value.get("metadata"), value["kind"]
    if kind.endswith(("Review", "List")) or "kustomize" in str(value["apiVersion"]):
        return False
    unnamed = "metadata" in value and (not isinstance(metadata, dict) or "name" in metadata)
    return unnamed or any(kind in own for version, own in kinds(_NEWEST).items() if version == value["apiVersion"])


def unpacked(value: Any) -> Iterator[Any]:
    """Yield a document, or what it holds where it is a List."""
    if isinstance(value, dict) and value.get("kind") == "List" and isinstance(value.get("items"), list):
        yield from value["items"]
    else:
        yield value
