"""What a JSON Schema has against a value, in plain words."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from generator.model.finding import Path, dotted
from generator.spec.near import instead

_LONG = 160


class SchemaViolation(NamedTuple):
    """What is wrong at a path."""

    at: Path
    message: str
    fix: str = ""


def violations(judge: Any, value: Any) -> Iterator[SchemaViolation]:
    """Yield what a validator finds, each once. What is no schema after all is a violation: a CRD may hold anything."""
    yielded: set[SchemaViolation] = set()
    try:
        for error in judge.iter_errors(value):
            # The library names a map once for each field that is missing in it.
            found = [one for one in _of_error(error) if one not in yielded]
            yielded.update(found)
            yield from found
    except Exception as error:  # noqa: BLE001 - the library raises whatever a wrong schema makes it stumble over
        yield SchemaViolation((), f"the schema of its CRD cannot be used: {_short(error)}", "mend the CRD")


def _of_error(error: Any) -> Iterator[SchemaViolation]:
    at: Path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        for key in error.instance:
            if key not in known:
                yield _unknown(at, str(key), known)
    elif error.validator == "required":
        for key in error.validator_value:
            if key not in error.instance:
                yield SchemaViolation(at, f"{dotted((*at, key))} is missing", f"add `{key}`")
    else:
        fix = "remove it, or give it a value" if error.instance is None else ""
        yield SchemaViolation(at, f"{dotted(at)}: {_words(error)}", fix)


def _unknown(at: Path, key: str, known: Iterable[str]) -> SchemaViolation:
    fix = instead(key, known, "remove it; `kubectl explain` lists the fields there are")
    return SchemaViolation((*at, key), f"there is no field {dotted((*at, key))}", fix)


def _words(error: Any) -> str:
    value, wanted = _written(error.instance), error.validator_value
    if error.validator == "type":
        listed = [wanted] if isinstance(wanted, str) else wanted
        return f"{value} is not {' or '.join(str(one) for one in listed if one != 'null')}"
    if error.validator == "enum":
        return _short(f"{value} is not one of {', '.join(_written(one) for one in wanted)}")
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
