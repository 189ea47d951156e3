"""What a JSON Schema has against a value, in plain words."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from generator.model.finding import Path, dotted
from generator.rendered.rule import instead

__all__ = ["Violation", "violations"]

_LONG = 160


class Violation(NamedTuple):
    """What is wrong at a path."""

    at: Path
    message: str
    fix: str = ""


def violations(judge: Any, value: Any) -> Iterator[Violation]:
    """Yield what a validator finds. What is no schema after all, as a CRD may hold anything, is told as one."""
    try:
        for error in judge.iter_errors(value):
            yield from _told(error)
    except Exception as error:  # noqa: BLE001 - the library raises whatever a wrong schema makes it stumble over
        yield Violation((), f"the schema of its CRD cannot be used: {_short(error)}", "mend the CRD")


def _told(error: Any) -> Iterator[Violation]:
    at: Path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        for key in error.instance:
            if key not in known:
                yield _unknown(at, str(key), known)
    elif error.validator == "required":
        for key in error.validator_value:
            if key not in error.instance:
                yield Violation(at, f"{dotted((*at, key))} is missing", f"add `{key}`")
    else:
        yield Violation(at, f"{dotted(at)}: {_words(error)}")


def _unknown(at: Path, key: str, known: Iterable[str]) -> Violation:
    fix = instead(key, known, "remove it; `kubectl explain` lists the fields there are")
    return Violation((*at, key), f"there is no field {dotted((*at, key))}", fix)


def _words(error: Any) -> str:
    if error.validator == "type":
        wanted = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
        return f"{_short(repr(error.instance))} is not {' or '.join(str(one) for one in wanted if one != 'null')}"
    if error.validator in {"oneOf", "anyOf"} and error.context:
        deepest = max(error.context, key=lambda one: len(one.absolute_path))
        return _short(deepest.message)
    return _short(error.message)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]} ..."
