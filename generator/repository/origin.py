"""Where a value of a cluster comes from: its line in the file, or gen's own default."""

import re
from pathlib import Path
from typing import Any

import msgspec

from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.finding import dotted
from generator.repository.cluster_files import Loaded, load

STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


def origin(root: Path, name: str, path: str) -> str:
    """Return the value at `path` (as in `kubernetes.podCIDR` or `nodes[3].address`, relative to `spec`) and the line
    that gives it, or that it is a default. Raises UsageError for a path that leads nowhere.
    """
    loaded = load(root, [name])[0]
    if loaded.cluster is None:
        raise UsageError(f"{loaded.document.file}: cannot be read yet; see `gen check --cluster {name}`")
    steps = [int(number) if number else key for key, number in STEP.findall(path.removeprefix("spec."))]
    value = _follow(loaded.cluster, steps, path)
    return f"{path}: {_shown(value)}\n{_where(loaded, steps)}"


def _follow(cluster: Cluster, steps: list[str | int], path: str) -> Any:
    value: Any = cluster
    for index, step in enumerate(steps):
        known = _keys(value)
        if step not in known:
            at = dotted(steps[:index]) or "spec"
            raise UsageError(f"{path}: {at} has no `{step}`; it has {_offer(known)}")
        value = known[step]
    return value


def _offer(known: dict[str | int, Any]) -> str:
    if known and all(isinstance(key, int) for key in known):
        return f"{len(known)} items, counted from 0"
    return ", ".join(map(str, known)) or "no keys"


def _keys(value: Any) -> dict[str | int, Any]:
    """Return the keys of a value as the file writes them, or its indexes."""
    if isinstance(value, msgspec.Struct):
        hidden = {"name", "machines", "labels"} if isinstance(value, Cluster) else set()
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {key: getattr(value, field) for key, field in names if field not in hidden}
    if isinstance(value, dict):
        return dict(value)
    return dict(enumerate(value)) if isinstance(value, tuple) else {}


def _shown(value: Any) -> str:
    plain = _given(msgspec.to_builtins(value, enc_hook=str))
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()


def _given(value: Any) -> Any:
    """Leave out what is not set: the file has no null."""
    if isinstance(value, dict):
        return {key: _given(item) for key, item in value.items() if item is not None}
    return [_given(item) for item in value] if isinstance(value, list) else value


def _where(loaded: Loaded, steps: list[str | int]) -> str:
    document = loaded.document
    value: Any = document.value.get("spec", {})
    for index, step in enumerate(steps):
        inside = isinstance(value, dict) and step in value
        if not inside and not (isinstance(value, list) and isinstance(step, int) and step < len(value)):
            above = document.position(("spec", *steps[:index]))
            return f"gen's default: {document.file} does not say (it would stand below line {above.line})"
        value = value[step]
    at = document.position(("spec", *steps))
    return f"given in {document.file}:{at.line}:{at.column}\n{at.line:5} | {document.line(at.line)}"
