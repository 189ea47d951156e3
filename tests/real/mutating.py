"""Manifests with one field changed, by what the API server says of their types."""

import copy
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from generator.model.change import ABSENT

Schema: TypeAlias = dict[str, Any]
Steps: TypeAlias = tuple[str | int, ...]

FIXED = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")}
"""What makes it another object."""
SERVERS = {"uid", "creationTimestamp", "resourceVersion", "generation", "managedFields", "selfLink", "status"}
SERVERS |= {"deletionTimestamp", "deletionGracePeriodSeconds"}
"""What only the server writes."""
DEEP = 4
"""How deep a made-up value goes."""


class Mutation(NamedTuple):
    """One field at `path` that is changed, taken away (its value is `ABSENT`) or added."""

    how: str
    path: Steps
    value: Any

    def of(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Return a manifest with the change; what did not change is shared."""
        made: dict[str, Any] = _with(manifest, self.path, self.value)
        return made

    @property
    def place(self) -> tuple[str, ...]:
        """The field, whichever item of a list it is in."""
        return (self.how, *("*" if isinstance(step, int) else step for step in self.path))


class Schemas:
    """The types of one group and version, as a server publishes them."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.named: dict[str, Schema] = document["components"]["schemas"]
        self.kinds = {
            kind["kind"]: schema
            for schema in self.named.values()
            for kind in schema.get("x-kubernetes-group-version-kind", ())
        }

    def whole(self, schema: Schema) -> Schema:
        """Return a schema with what it refers to."""
        for one in (*schema.get("allOf", ()), schema):
            if "$ref" in one:
                return {**self.whole(self.named[one["$ref"].rpartition("/")[2]]), **schema}
        return schema

    def below(self, schema: Schema, step: str | int) -> Schema:
        """Return the schema of what is in an object or a list, empty where it says nothing."""
        whole = self.whole(schema)
        if isinstance(step, int):
            return self.whole(whole.get("items", {}))
        found = whole.get("properties", {}).get(step) or whole.get("additionalProperties") or {}
        return self.whole(found) if isinstance(found, dict) else {}

    def sample(self, schema: Schema, depth: int = DEEP) -> Any:
        """Return a small value of a type; None where nothing simple is one."""
        schema = self.whole(schema)
        kind = schema.get("type")
        if "enum" in schema:
            return next((value for value in schema["enum"] if value), None)
        if kind == "object" and depth:
            return self._object(schema, depth)
        if kind == "array" and depth:
            item = self.sample(schema.get("items", {}), depth - 1)
            return None if item is None else [item]
        if schema.get("format") == "quantity" or "Quantity" in str(schema.get("description", ""))[:20]:
            return "1"
        text = "2030-01-01T00:00:00Z" if schema.get("format") == "date-time" else "aaa"
        return {"boolean": True, "integer": max(1, schema.get("minimum", 1)), "number": 1, "string": text}.get(
            str(kind), "1" if "oneOf" in schema else None
        )

    def _object(self, schema: Schema, depth: int) -> Any:
        made = {key: self.sample(self.below(schema, key), depth - 1) for key in schema.get("required", ())}
        if None in made.values():
            return None
        inner = schema.get("additionalProperties")
        if not made and isinstance(inner, dict) and (value := self.sample(inner, depth - 1)) is not None:
            return {"aaa": value}
        return made


def mutations(manifest: dict[str, Any], schemas: Schemas) -> Iterator[Mutation]:
    """Yield what can be changed of a manifest, taken away from it or added to it, field by field."""
    yield from _of(manifest, schemas.kinds.get(manifest["kind"], {}), (), schemas)


def _of(part: Any, schema: Schema, path: Steps, schemas: Schemas) -> Iterator[Mutation]:
    if path in FIXED or (path and path[-1] in SERVERS):
        return
    if len(path) > 1 or (path and not isinstance(part, dict)):
        yield Mutation("without", path, ABSENT)
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _of(value, schemas.below(schema, key), (*path, key), schemas)
        yield from _added(part, schema, path, schemas)
    elif isinstance(part, list):
        for number, item in enumerate(part):
            yield from _of(item, schemas.below(schema, number), (*path, number), schemas)
        yield from (Mutation("longer", (*path, len(part)), item) for item in _more(part))
        if len(part) > 1:
            yield Mutation("turned", path, [*reversed(part)])
    else:
        yield from (Mutation("other", path, value) for value in others(part, schema))


def _added(part: dict[str, Any], schema: Schema, path: Steps, schemas: Schemas) -> Iterator[Mutation]:
    known = schemas.whole(schema)
    for key in known.get("properties", {}):
        if key not in part and key not in SERVERS and (*path, key) not in FIXED:
            value = schemas.sample(schemas.below(schema, key))
            if value is not None:
                yield Mutation("with", (*path, key), value)
    inner = known.get("additionalProperties")
    if isinstance(inner, dict) and (value := schemas.sample(inner)) is not None:
        yield Mutation("with", (*path, "aaa"), value)


def _more(part: list[Any]) -> Iterator[Any]:
    """Yield an item more, like the last with another name."""
    if part and isinstance(part[-1], str):
        yield f"{part[-1]}-x"
    elif part and isinstance(part[-1], dict):
        last = copy.deepcopy(part[-1])
        named = {key: f"{last[key]}x" for key in ("name", "key", "mountPath", "host", "path") if key in last}
        ports = {key: last[key] + 1 for key in ("port", "containerPort") if isinstance(last.get(key), int)}
        yield {**last, **named, **ports}


def others(value: Any, schema: Schema) -> Iterator[Any]:
    """Yield other values of the same type."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str):
        yield from (one for one in schema.get("enum", ()) if one not in ("", value))
        if "enum" not in schema:
            yield f"{value}x"
            if number := re.search(r"\d+", value):
                yield f"{value[: number.start()]}{int(number[0]) + 1}{value[number.end() :]}"


def _with(whole: Any, path: Steps, value: Any) -> Any:
    if not path:
        return value
    made = copy.copy(whole)
    if value is ABSENT and len(path) == 1:
        del made[path[0]]
    elif path[0] in made if isinstance(made, dict) else int(path[0]) < len(made):
        made[path[0]] = _with(whole[path[0]], path[1:], value)
    elif isinstance(made, dict):
        made[path[0]] = value
    else:
        made.append(value)
    return made


def added_by_the_server(manifest: dict[str, Any], stored: dict[str, Any]) -> Iterator[Mutation]:
    """Yield the fields that the server filled in by itself."""
    yield from (Mutation("default", path, value) for path, value in _more_in(manifest, stored))


def _more_in(part: Any, other: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    if isinstance(part, dict) and isinstance(other, dict):
        for key, value in other.items():
            if key in part:
                yield from _more_in(part[key], value, (*path, key))
            elif key not in SERVERS:
                yield (*path, key), value
    elif isinstance(part, list) and isinstance(other, list) and len(part) == len(other):
        for number, (one, two) in enumerate(zip(part, other, strict=True)):
            yield from _more_in(one, two, (*path, number))
