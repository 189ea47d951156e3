"""Values of a cluster file that a chart knows nothing of: Helm passes over them in silence."""

import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from generator.components.component import Manifest
from generator.upstream.documents import documents

Steps = tuple[str, ...]


def idle_values(chart: Path, values: Manifest, given: Manifest, same: Callable[[Manifest], bool]) -> tuple[Steps, ...]:
    """Return the keys of `given`, a part of the `values`, that do nothing: the chart's own values do not name them, and
    without them the same comes out, which `same` tells. A key that the chart reads and does not list is none of them,
    nor is one that it lists and that is turned off.
    """
    candidates = list(_unnamed(given, _defaults(chart)))
    return tuple(steps for steps in candidates if same(_without(values, steps)))


def _defaults(chart: Path) -> Any:
    """Return a chart's own values, nothing where it has none that can be read."""
    with tarfile.open(chart, mode="r:gz") as archive:
        for member in archive:
            if member.name.count("/") == 1 and member.name.endswith("/values.yaml"):
                file = archive.extractfile(member)
                found = documents(file.read().decode(errors="replace")) if file else []
                return found[0].value if found else {}
    return {}


def _unnamed(given: Manifest, defaults: Any, above: Steps = ()) -> Iterator[Steps]:
    """Yield the topmost keys that the defaults do not name. An empty map, or none, takes any key."""
    if not isinstance(defaults, dict) or not defaults:
        return
    for key, value in given.items():
        if key not in defaults:
            yield (*above, key)
        elif isinstance(value, dict):
            yield from _unnamed(value, defaults[key], (*above, key))


def _without(values: Manifest, steps: Steps) -> Manifest:
    first, *rest = steps
    if not rest:
        return {key: value for key, value in values.items() if key != first}
    return {**values, first: _without(values[first], tuple(rest))}
