"""Structural schemas of CRDs as JSON Schema understands them."""

import re
from typing import Any

from generator.model.fields import mapping, sequence

_KEEPS = "x-kubernetes-preserve-unknown-fields"


def closed(schema: Any) -> Any:
    """Return a structural schema with unknown fields refused, as JSON Schema understands it. What stands below allOf,
    anyOf, oneOf and not only adds conditions. The API server fills in defaults before it validates, also for null: a
    field that has one need not be there.
    """
    if not isinstance(schema, dict):
        return schema
    left_out = {"default", "format", "example", "description"}
    found = {key: value for key, value in schema.items() if key not in left_out and not str(key).startswith("x-")}
    if "pattern" in schema and not usable(schema["pattern"]):
        del found["pattern"]
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {name: closed(part) for name, part in schema["properties"].items()}
        given = {name for name, part in schema["properties"].items() if "default" in mapping(part)}
        found["required"] = [name for name in sequence(schema.get("required")) if name not in given]
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            # Unknown fields that a list keeps are those of its items (apiextensions-apiserver, pruning).
            kept = {_KEEPS: True} if key == "items" and schema.get(_KEEPS) else {}
            found[key] = closed({**schema[key], **kept})
    if schema.get("x-kubernetes-int-or-string"):
        found["type"] = ["integer", "string"]
    elif (schema.get("nullable") or "default" in schema) and isinstance(schema.get("type"), str):
        found["type"] = [schema["type"], "null"]
    if schema.get("type") == "object" and not schema.get(_KEEPS):
        found.setdefault("additionalProperties", False)
    return found


def usable(pattern: object) -> bool:
    """Tell whether Python reads a pattern; Kubernetes' own dialect has some that it does not."""
    try:
        re.compile(str(pattern))
    except re.error:
        return False
    return True
