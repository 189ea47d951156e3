"""Where a value of a cluster comes from: its line in the file, its pool, or gen's own default."""

import re
from pathlib import Path
from typing import Any

import msgspec

from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.repository.project import Loaded, load

__all__ = ["origin"]

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
            at = ".".join(map(str, steps[:index])) or "spec"
            raise UsageError(f"{path}: {at} has no `{step}`; it has {', '.join(map(str, known)) or 'no keys'}")
        value = known[step]
    return value


def _keys(value: Any) -> dict[str | int, Any]:
    """Return the keys of a value as the file writes them, or its indexes."""
    if isinstance(value, msgspec.Struct):
        hidden = {"name", "machines"} if isinstance(value, Cluster) else set()
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {key: getattr(value, field) for key, field in names if field not in hidden}
    if isinstance(value, dict):
        return dict(value)
    return dict(enumerate(value)) if isinstance(value, tuple) else {}


def _shown(value: Any) -> str:
    plain = msgspec.to_builtins(value, enc_hook=str)
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()


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
