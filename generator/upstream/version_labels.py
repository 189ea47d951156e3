"""Labels that name a chart's or program's version: each new version would change every object that has one. Pure."""

from collections.abc import Iterable
from typing import Any

from generator.components.component import Manifest
from generator.model.fields import walk

LABELS = ("helm.sh/chart", "app.kubernetes.io/version")
"""What charts write on every object; the image says what runs."""

_SELECTING = {"matchLabels", "selector", "nodeSelector", "podSelector"}


def selected_labels(manifests: Iterable[Manifest]) -> frozenset[str]:
    """Return which of the labels something selects by: those have to stay."""
    return frozenset(
        label
        for one in manifests
        for at, part in walk(one)
        if at and (at[-1] in _SELECTING or at[-1] == "key")
        for label in LABELS
        if label == part or (isinstance(part, dict) and label in part)
    )


def without_versions(value: Any, kept: frozenset[str], key: str = "") -> Any:
    """Return an object without these labels, in templates of pods too, but for those that are `kept`."""
    if isinstance(value, list):
        return [without_versions(item, kept) for item in value]
    if not isinstance(value, dict):
        return value
    found = {name: _part(name, item, kept, key) for name, item in value.items()}
    return {name: item for name, item in found.items() if item != {} or value[name] == {}}


def _part(name: str, item: Any, kept: frozenset[str], key: str) -> Any:
    if name == "labels" and key == "metadata" and isinstance(item, dict):
        return {label: text for label, text in item.items() if label in kept or label not in LABELS}
    return without_versions(item, kept, name)
