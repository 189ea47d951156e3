"""Where values of a cluster come from: lines of its file, or gen's own defaults."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.finding import Path as Steps
from generator.model.finding import dotted
from generator.model.nodes import Machine
from generator.model.plural import plural
from generator.repository.cluster_files import Loaded, load
from generator.spec.named import steps as parsed
from generator.spec.near import suggest

# Fields of ours that no file writes.
_WIDE = 80
_OURS: dict[type, set[str]] = {Cluster: {"name", "machines", "labels"}, Machine: {"index"}}


def origin(root: Path, name: str, path: str) -> str:
    """Return the value at `path` (as in `kubernetes.podCIDR`, `nodes.gpu-01` or `nodes[3].address`, relative to `spec`)
    and the line that gives it, or that it is a default; of a section all values, of a node those that count for it,
    with what its pool and its networks say; of nodes, pools and the like a line for each. An empty path names the
    sections. Raises UsageError for a path that leads nowhere.
    """
    loaded = load(root, [name])[0]
    if loaded.cluster is None:
        raise UsageError(f"{loaded.document.file}: cannot be read yet; see `gen check --cluster {name}`")
    if not path:
        return _sections(loaded, loaded.cluster)
    steps, value = _follow(loaded.cluster, parsed(path.removeprefix("spec.")), path)
    if _named(value):
        return _items(loaded, loaded.cluster, steps, value, path)
    if isinstance(value, msgspec.Struct) or (isinstance(value, dict) and len(_shown(value)) > _WIDE):
        return _table(loaded, loaded.cluster, steps, value)
    return f"{path}: {_shown(value)}\n{_where(loaded, loaded.cluster, steps)}"


def _sections(loaded: Loaded, cluster: Cluster) -> str:
    keys = [str(key) for key in _keys(cluster)]
    width = max(map(len, keys))
    lines = [f"{key:{width}} {_short(loaded, cluster, (key,))}" for key in keys]
    return "\n".join([f"sections of {loaded.document.file}; `gen explain {loaded.name} SECTION` shows one:", *lines])


def _named(value: Any) -> bool:
    """Tell whether a value holds sections, which can be told one by one: nodes, pools, teams, buckets."""
    items = [*value.values()] if isinstance(value, dict) else value
    return isinstance(items, list | tuple) and bool(items) and all(isinstance(it, msgspec.Struct) for it in items)


def _items(loaded: Loaded, cluster: Cluster, steps: Steps, value: Any, path: str) -> str:
    rows = [
        (_name(key, item), _short(loaded, cluster, (*steps, key)), _told(loaded, cluster, (*steps, key), item))
        for key, item in _keys(value).items()
    ]
    name_width, line_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [f"{name:{name_width}}  {line:{line_width}}  {told}".rstrip() for name, line, told in rows]
    example = f"{path}.{rows[0][0]}".replace(".[", "[")
    return "\n".join([f"{plural(len(rows), 'item')}; `gen explain {loaded.name} {example}` shows one:", *lines])


def _name(key: str | int, item: Any) -> str:
    return str(getattr(item, "name", f"[{key}]")) if isinstance(key, int) else key


def _told(loaded: Loaded, cluster: Cluster, steps: Steps, item: msgspec.Struct) -> str:
    """Say what the file gives of an item: short values, of all others only the keys."""
    given = _given_at(loaded, cluster, steps) or steps
    own = [(key, _shown(value)) for key, value in _keys(item).items() if _stands(loaded, (*given, key))]
    return ", ".join(f"{key} {text}" if len(text) <= 20 else str(key) for key, text in own if key != "name")


def _follow(cluster: Cluster, asked: list[str | int], path: str) -> tuple[Steps, Any]:
    """Return the steps with indexes for names, and what is there."""
    value: Any = cluster
    steps: Steps = ()
    for step in asked:
        # What counts for a node is what its pool says as well.
        known = {**_keys(value), "nodes": cluster.machines} if value is cluster else _keys(value)
        found = _by_name(value, step) if isinstance(value, tuple) and isinstance(step, str) else step
        if found not in known:
            at = dotted(steps) or "spec"
            raise UsageError(f"{path}: {at} has no `{step}`; {_offer(step, value, known)}")
        steps, value = (*steps, found), known[found]
    return steps, value


def _by_name(items: tuple[Any, ...], name: str) -> int | str:
    return next((index for index, item in enumerate(items) if getattr(item, "name", None) == name), name)


def _offer(step: str | int, value: Any, known: dict[str | int, Any]) -> str:
    if isinstance(value, tuple) and value:
        names = [str(item.name) for item in value if hasattr(item, "name")]
        meant = suggest(step, names, "") if isinstance(step, str) else ""
        return f"it has {plural(len(value), 'item')}, counted from 0" + (f"; {meant}" if meant else "")
    return f"it has {', '.join(map(str, known)) or 'no keys'}"


def _keys(value: Any) -> dict[str | int, Any]:
    """Return the keys of a value as the file writes them, or its indexes."""
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {key: getattr(value, field) for key, field in names if field not in _OURS.get(type(value), ())}
    if isinstance(value, dict):
        return dict(value)
    return dict(enumerate(value)) if isinstance(value, tuple) else {}


def _table(loaded: Loaded, cluster: Cluster, steps: Steps, section: msgspec.Struct | dict[str, Any]) -> str:
    rows = [(dotted(at[len(steps) :]), text, _short(loaded, cluster, at)) for at, text in _rows(steps, section)]
    left = [f"{key}: {text}" for key, text, _ in rows]
    most = min(60, max(map(len, left), default=0))
    return "\n".join(f"{one:{most}}  {where}" for one, (_, _, where) in zip(left, rows, strict=True))


def _rows(at: Steps, value: Any) -> Iterator[tuple[Steps, str]]:
    """Yield the values below a section that are set; of a long list only how long it is."""
    if isinstance(value, msgspec.Struct) or (isinstance(value, dict) and value):
        for key, below in _keys(value).items():
            yield from _rows((*at, key), below)
    elif isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct) and len(_shown(value)) > 80:
        yield at, plural(len(value), "item")
    elif value is not None:
        yield at, _shown(value)


def _shown(value: Any) -> str:
    plain = _given(msgspec.to_builtins(value, enc_hook=str))
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()


def _given(value: Any) -> Any:
    """Leave out what is not set: the file has no null."""
    if isinstance(value, dict):
        return {key: _given(item) for key, item in value.items() if item is not None}
    return [_given(item) for item in value] if isinstance(value, list | tuple) else value


def _places(cluster: Cluster, steps: Steps) -> Iterator[Steps]:
    """Yield where a value may stand, the place that counts first: a node's own, its pool's, its network's."""
    yield steps
    if len(steps) > 2 and steps[0] == "nodes":
        number, *rest = steps[1:]
        yield ("pools", cluster.machines[int(number)].pool, *rest)
        if rest[0] == "networks":
            yield tuple(rest)
        if rest[0] == "addresses" and len(rest) > 1:
            yield ("networks", rest[1], "follow")
        if rest[0] == "fabric":
            yield (*steps[:2], "port")


def _given_at(loaded: Loaded, cluster: Cluster, steps: Steps) -> Steps | None:
    """Return the place in the file that gives a value; None where it is a default."""
    return next((at for at in _places(cluster, steps) if _stands(loaded, at)), None)


def _stands(loaded: Loaded, steps: Steps) -> bool:
    value: Any = loaded.document.value.get("spec")
    for step in steps:
        inside = isinstance(value, dict) and step in value
        if not inside and not (isinstance(value, list) and isinstance(step, int) and step < len(value)):
            return False
        value = value[step]
    return True


def _short(loaded: Loaded, cluster: Cluster, steps: Steps) -> str:
    at = _given_at(loaded, cluster, steps)
    if at is None:
        return "gen's default"
    line = f"line {loaded.document.position(('spec', *at)).line}"
    return line if at == steps else f"{line}, {dotted(at[:2])}"


def _where(loaded: Loaded, cluster: Cluster, steps: Steps) -> str:
    document = loaded.document
    given = _given_at(loaded, cluster, steps)
    if given is None:
        above = document.position(("spec", *_deepest(loaded, steps)))
        return f"gen's default: {document.file} does not say (it would stand below line {above.line})"
    at = document.position(("spec", *given))
    return f"given in {document.file}:{at.line}:{at.column}\n{at.line:5} | {document.line(at.line)}"


def _deepest(loaded: Loaded, steps: Steps) -> Steps:
    while not _stands(loaded, steps):
        steps = steps[:-1]
    return steps
