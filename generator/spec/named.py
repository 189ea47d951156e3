"""Places of a cluster file as people name them: `nodes.gpu-01.address` beside `nodes[3].address`."""

import re
from typing import Any

from generator.model.finding import Path, dotted

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


def steps(path: str) -> list[str | int]:
    """Return the steps of a path as it is typed; a number in brackets is an index."""
    return [int(number) if number else key for key, number in _STEP.findall(path)]


def named(value: Any, path: Path) -> str:
    """Return a path through plain data with the names of what stands in lists, where it has one."""
    told: list[str | int] = []
    for step in path:
        value = _below(value, step)
        name = value.get("name") if isinstance(step, int) and isinstance(value, dict) else None
        told.append(name if isinstance(name, str) else step)
    return dotted(told)


def _below(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    return value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None
