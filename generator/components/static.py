"""What is the same on every cluster lies beside the code as files: Kubernetes objects in YAML, scripts, Lua, prose."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from generator.components.component import Manifest
from generator.spec.pyyaml import yaml
from generator.spec.scalars import resolve

FOLDER = Path(__file__).parent


@cache
def read_text(path: str) -> str:
    """Return a file by its path below `generator/components`, as it is. Read once."""
    # pathlib and a buffer take twice as long.
    with open(os.path.join(FOLDER, path), "rb", buffering=0) as file:  # noqa: PTH118, PTH123
        return file.read().decode()


@cache
def read_objects(path: str) -> tuple[Manifest, ...]:
    """Return the objects of a YAML file. All who read it share them: make a copy of what you change.

    Plain YAML only, without anchors, tags and merge keys. PyYAML's own loader takes three times as long, which a render
    would feel.
    """
    following = yaml.CSafeLoader(read_text(path)).get_event
    found: list[Manifest] = []
    while not isinstance(event := following(), yaml.StreamEndEvent):
        if isinstance(event, yaml.DocumentStartEvent):
            found.append(_value(following(), following))
    return tuple(found)


def _value(event: Any, following: Callable[[], Any]) -> Any:
    kind = type(event)
    if kind is yaml.ScalarEvent:
        return resolve(event.value) if event.implicit[0] else event.value
    if kind is yaml.SequenceStartEvent:
        items = []
        while type(event := following()) is not yaml.SequenceEndEvent:
            items.append(_value(event, following))
        return items
    if kind is not yaml.MappingStartEvent:
        raise ValueError(f"line {event.start_mark.line + 1}: write it out, without an alias")
    made = {}
    while type(key := following()) is not yaml.MappingEndEvent:
        made[key.value] = _value(following(), following)
    return made


@cache
def read_folder(path: str) -> dict[str, str]:
    """Return every file below a folder, by its path there. Read once; all who read it share it."""
    # pathlib takes twice as long.
    root = f"{FOLDER}/{path}/"
    files = (f"{folder}/{name}" for folder, _, names in os.walk(root[:-1]) for name in names)
    inside = sorted(file.removeprefix(root) for file in files)
    return {name: read_text(f"{path}/{name}") for name in inside}
