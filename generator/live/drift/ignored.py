"""What Argo CD is told not to compare."""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from fnmatch import fnmatchcase
from typing import Any

from generator.components.component import Manifest
from generator.live.said import said
from generator.model.fields import dig, mapping, sequence

_PLAIN = re.compile(r"(?:\.[\w-]+(?:\[\]\??)?)+")
"""The paths of jq that are read here: keys, and all items of lists."""


def compared(manifest: Manifest, ignores: Sequence[Mapping[str, Any]]) -> Manifest:
    """Return an object without what the server keeps of it, without its status, and without what is ignored."""
    found = deepcopy(said(manifest))
    if found["kind"] == "ClusterRole" and "aggregationRule" in found:
        found.pop("rules", None)  # controllers gather them: Argo CD is told so (`ignoreAggregatedRoles`)
    for one in ignores:
        if _meant(one, manifest):
            for steps in _places(one):
                _drop(found, steps)
    return found


def ignored(application: Manifest) -> list[Mapping[str, Any]]:
    """Return what an Application ignores."""
    return [mapping(one) for one in sequence(dig(application, "spec", "ignoreDifferences"))]


def unread(application: Manifest) -> list[str]:
    """Return the expressions of an Application that are too clever to be read here."""
    found = (each for one in ignored(application) for each in sequence(one.get("jqPathExpressions")))
    return [str(one) for one in found if not _PLAIN.fullmatch(str(one))]


def _meant(one: Mapping[str, Any], manifest: Manifest) -> bool:
    group = str(manifest["apiVersion"]).rpartition("/")[0]
    metadata = manifest["metadata"]
    return (
        fnmatchcase(group, str(one.get("group") or ("*" if one.get("kind") == "*" else "")))
        and fnmatchcase(str(manifest["kind"]), str(one.get("kind") or "*"))
        and str(one.get("name") or metadata.get("name")) == metadata.get("name")
        and str(one.get("namespace") or metadata.get("namespace")) == str(metadata.get("namespace"))
    )


def _places(one: Mapping[str, Any]) -> Iterator[list[str]]:
    for pointer in sequence(one.get("jsonPointers")):
        yield [step.replace("~1", "/").replace("~0", "~") for step in str(pointer).split("/")[1:]]
    for expression in sequence(one.get("jqPathExpressions")):
        if _PLAIN.fullmatch(str(expression)):
            yield [each for word in str(expression).split(".")[1:] for each in _steps(word)]


def _steps(word: str) -> list[str]:
    name, items, _ = word.partition("[]")
    return [name, *(["*"] if items else [])]


def _drop(part: Any, steps: Sequence[str]) -> None:
    step, rest = steps[0], steps[1:]
    if isinstance(part, list):
        for index in [*range(len(part))] if step == "*" else [int(step)] if step.isdigit() else []:
            if rest and index < len(part):
                _drop(part[index], rest)
    elif isinstance(part, dict) and rest:
        _drop(part.get(step), rest)
    elif isinstance(part, dict):
        part.pop(step, None)
