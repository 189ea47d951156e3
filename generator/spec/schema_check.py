"""What of the schema the values of a file break."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend
from msgspec import Struct

from generator.model.finding import Path
from generator.model.quantity import Quantity
from generator.spec.schema import FORMATS, schema

Hook = Callable[[type, Any], Any]


class Mistake(Struct):
    """One broken keyword of the schema: where, which, its argument, the value given, and the schema around it. `key` is
    true where the value is itself a key of the map at the end of the path, `needed` where its own key must be there.
    """

    at: Path
    keyword: str
    argument: Any
    given: Any
    schema: dict[str, Any]
    key: bool = False
    needed: bool = False


def violated(value: Any, hook: Hook) -> Iterator[Mistake]:
    """Yield what of the schema the values of a file break."""
    whole = validator(hook)
    return (_mistake(error, whole.schema) for error in whole.iter_errors(value))


@cache
def validator(hook: Hook) -> Any:
    """Return what holds values against the schema; `hook` reads custom types."""
    checker = FormatChecker(formats=())
    for kind, (name, _) in FORMATS.items():
        # Other types break the schema's `type` already.
        read = (str, int) if kind is Quantity else str
        checker.checks(name, raises=ValueError)(
            lambda value, kind=kind, read=read: not isinstance(value, read) or hook(kind, value) is not None
        )
    # msgspec takes no 1.0 for a whole number.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    make: Any = extend  # which has no types
    return make(Draft202012Validator, {"required": _required}, type_checker=types)(schema(), format_checker=checker)


def _required(_: Any, names: list[str], given: Any, __: Any) -> Iterator[ValidationError]:
    """Yield one error for all keys that a map lacks; jsonschema's own rule yields one for each, without its name."""
    if isinstance(given, dict) and not given.keys() >= set(names):
        yield ValidationError("keys are missing")


def _mistake(error: Any, whole: Any) -> Mistake:
    at = tuple(error.absolute_path)
    # What is said of a map's keys is said at the map; the key is the instance.
    key = "propertyNames" in error.absolute_schema_path
    at = (*at, error.instance) if key else at
    needed = bool(at) and at[-1] in _needed_beside(error.absolute_schema_path, whole)
    return Mistake(at, error.validator, error.validator_value, error.instance, error.schema, key, needed)


def _needed_beside(way: Iterable[Any], whole: Any) -> list[str]:
    """Return the keys that must be there in the section whose key a way through the whole schema ends at."""
    here, defined, needed = whole, whole["$defs"], list[str]()
    for step in way:
        here = defined[here["$ref"].rpartition("/")[2]] if "$ref" in here else here
        if step in {"properties", "additionalProperties", "items"}:
            needed = here.get("required", []) if step == "properties" else []
        here = here[step]
    return needed
