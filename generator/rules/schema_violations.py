"""What a JSON Schema has against a value, in plain words."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from generator.model.finding import Path, dotted
from generator.spec.near import instead

_LONG = 160
_UNQUOTED = {"boolean": re.compile("true|false"), "integer": re.compile("-?[0-9]+")}
"""What texts look like that would be of a type without their quotes."""


class SchemaViolation(NamedTuple):
    """What is wrong at a path; `missing` where something is to be added there."""

    at: Path
    message: str
    fix: str = ""
    missing: bool = False


class Types:
    """Types that schemas point to by their `$id`, for both libraries, which are heavy and for this verb only."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def reference(self, name: str) -> dict[str, Any]:
        """Return the schema that is one of the types."""
        return {"$ref": f"{self._content['$id']}#/$defs/{name}"}

    @cached_property
    def compiled(self) -> Any:
        """Registry of the compiled library."""
        from jsonschema_rs import Registry  # noqa: PLC0415 - as said

        return Registry([(self._content["$id"], self._content)])

    @cached_property
    def in_words(self) -> Any:
        """Registry of the library that says more."""
        from referencing import Registry  # noqa: PLC0415 - as said
        from referencing.jsonschema import DRAFT202012  # noqa: PLC0415 - as said

        return DRAFT202012.create_resource(self._content) @ Registry()


class Judge:
    """Judges values by one schema, which may point to `types`. Compiled code tells in a hundredth of the time
    whether there is anything to say; the words come from the library that says more of each mistake.
    """

    def __init__(self, schema: dict[str, Any], types: Types) -> None:
        self.schema = schema
        self.types = types

    def violations(self, value: Any) -> Iterator[SchemaViolation]:
        """Yield what is wrong with a value, each once. What is no schema after all is a violation: a CRD may hold
        anything.
        """
        yielded: set[SchemaViolation] = set()
        try:
            for error in () if self.accepts(value) else _telling([*self._in_words.iter_errors(value)]):
                # The library names a map once for each field that is missing in it.
                found = [one for one in _of_error(error) if one not in yielded]
                yielded.update(found)
                yield from found
        except Exception as error:  # noqa: BLE001 - the library raises whatever a wrong schema makes it stumble over
            yield SchemaViolation((), f"the schema of its CRD cannot be used: {_short(error)}", "mend the CRD")

    def accepts(self, value: Any) -> bool:
        """Tell whether a value is right; false also for what compiled code cannot read, in schema or value."""
        try:
            return self._compiled is not None and bool(self._compiled.is_valid(value))
        except ValueError:
            return False

    @cached_property
    def _compiled(self) -> Any:
        from jsonschema_rs import Draft202012Validator  # noqa: PLC0415 - heavy

        try:
            return Draft202012Validator(self.schema, validate_formats=False, registry=self.types.compiled)
        except ValueError:
            return None

    @cached_property
    def _in_words(self) -> Any:
        from jsonschema import Draft202012Validator  # noqa: PLC0415 - heavy

        return Draft202012Validator(self.schema, registry=self.types.in_words)


def _telling(errors: list[Any]) -> Iterator[Any]:
    """Yield errors without those that say less of the same value: one of another type breaks bounds and patterns, too;
    where values are listed, the list says its type as well.
    """
    places = {kind: {_place(one) for one in errors if one.validator == kind} for kind in ("type", "enum")}
    for one in errors:
        best = "enum" if _place(one) in places["enum"] else "type"
        if _place(one) not in places["type"] or one.validator == best:
            yield one


def _place(error: Any) -> Path:
    return tuple(error.absolute_path)


def _of_error(error: Any) -> Iterator[SchemaViolation]:
    at = _place(error)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        for key in error.instance:
            if key not in known:
                yield _unknown(at, str(key), known)
    elif error.validator == "required":
        for key in error.validator_value:
            if key not in error.instance:
                yield SchemaViolation(at, f"{dotted((*at, key))} is missing", f"add `{key}`", missing=True)
    else:
        yield SchemaViolation(at, f"{dotted(at)}: {_words(error)}", _instead(error))


def _instead(error: Any) -> str:
    """Say what to write in place of a value, where the type that is wanted tells it."""
    value, wanted = error.instance, error.validator_value
    if value is None:
        return "remove it, or give it a value"
    if error.validator != "type":
        return ""
    types = [wanted] if isinstance(wanted, str) else wanted
    if "string" in types and not isinstance(value, dict | list):
        return "put it in quotes"
    unquoted = (_UNQUOTED[one] for one in types if one in _UNQUOTED)
    found = isinstance(value, str) and any(form.fullmatch(value) for form in unquoted)
    return "leave the quotes out" if found else ""


def _unknown(at: Path, key: str, known: Iterable[str]) -> SchemaViolation:
    fix = instead(key, known, "remove it; `kubectl explain` lists the fields there are")
    return SchemaViolation((*at, key), f"there is no field {dotted((*at, key))}", fix)


def _words(error: Any) -> str:
    value, wanted = _written(error.instance), error.validator_value
    if error.validator == "type":
        listed = [wanted] if isinstance(wanted, str) else wanted
        return f"{value} is not {' or '.join(str(one) for one in listed if one != 'null')}"
    if error.validator == "enum":
        # An empty text, and null beside it, stand for the default; nobody should write them.
        named = [one for one in wanted if one not in ("", None)] if "" in wanted else wanted
        named = named or wanted
        return _short(f"{value} is not one of {', '.join(_written(one) for one in named)}")
    if error.validator in {"oneOf", "anyOf"} and error.context:
        return _words(max(error.context, key=lambda one: len(one.absolute_path)))
    own = repr(error.instance)
    return _short(value + error.message.removeprefix(own) if error.message.startswith(own) else error.message)


def _written(value: Any) -> str:
    """Return a value as a file would say it."""
    return _short(repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]} ..."
