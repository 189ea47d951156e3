"""Why a file is not a cluster: every mistake as one finding, in plain words."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from msgspec import Struct

from generator.model.finding import Finding, Path
from generator.spec.document import Document
from generator.spec.near import near
from generator.spec.schema import FORMATS, schema

__all__ = ["explain"]


class Mistake(Struct):
    """One broken keyword of the schema: where, which, its argument, the value given, and the schema around it."""

    at: Path
    keyword: str
    argument: Any
    given: Any
    schema: dict[str, Any]


Hook = Callable[[type, Any], Any]
KINDS = {"object": "a map", "array": "a list", "string": "text", "integer": "a whole number", "number": "a number"}


def explain(document: Document, text: str, hook: Hook) -> list[Finding]:
    """Return what keeps `document` from being decoded; `text` is msgspec's own complaint, used where the schema finds
    nothing, and `hook` what reads custom types.
    """
    errors: Any = _validator(hook).iter_errors(document.value)
    mistakes = [
        Mistake(_path(error), error.validator, error.validator_value, error.instance, error.schema) for error in errors
    ]
    found = [finding for mistake in mistakes for finding in _findings(mistake, document, hook)]
    unique = {(finding.at, finding.key, finding.code): finding for finding in found}
    return list(unique.values()) or [_own_words(text)]


@cache
def _validator(hook: Hook) -> Draft202012Validator:
    checker = FormatChecker(formats=())
    for kind, (name, _) in FORMATS.items():
        # Other types break the schema's `type` already.
        checker.checks(name, raises=ValueError)(
            lambda value, kind=kind: not isinstance(value, (str, int)) or hook(kind, value) is not None
        )
    return Draft202012Validator(schema(), format_checker=checker)


def _path(error: Any) -> Path:
    # What is said of a map's keys (`propertyNames`) is said at the map; the key is the instance.
    at = tuple(error.absolute_path)
    return (*at, error.instance) if "propertyNames" in error.absolute_schema_path else at


def _findings(mistake: Mistake, document: Document, hook: Hook) -> Iterator[Finding]:
    at = mistake.at
    match mistake.keyword:
        case "additionalProperties":
            yield from _unknown(mistake, at)
        case "required":
            yield from _missing(mistake, at)
        case "type":
            yield _type(mistake, at, document)
        case "enum" | "const":
            yield _choice(mistake, at)
        case "format":
            yield _format(mistake, at, hook)
        case "pattern":
            # A custom type's format says it better.
            if mistake.schema.get("format") is None or mistake.given.startswith("-"):
                yield _pattern(mistake, at)
        case _:
            yield _bound(mistake, at)


def _finding(at: Path, code: str, message: str, fix: str = "", *, key: bool = False) -> Finding:
    # Paths are relative to `spec`; what stands beside it keeps its own name.
    if at[:1] == ("spec",):
        at = at[1:] or ("spec",)
    return Finding(at=at, code=f"GEN-SCHEMA-{code}", message=message, fix=fix, key=key)


def _unknown(mistake: Mistake, at: Path) -> Iterator[Finding]:
    known = mistake.schema.get("properties", {})
    free = [name for name in known if name not in mistake.given]
    for key in mistake.given:
        if key in known:
            continue
        meant = near(str(key), free)
        fix = (
            f"did you mean `{meant}`?"
            if meant
            else f"remove it; here may stand: {', '.join(free)}"
            if free
            else "remove it"
        )
        yield _finding((*at, key), "001", f"`{key}` is not a key of {_named(at)}", fix, key=True)


def _missing(mistake: Mistake, at: Path) -> Iterator[Finding]:
    known = mistake.schema.get("properties", {})
    strange = [key for key in mistake.given if key not in known]
    free = [name for name in known if name not in mistake.given]
    mistyped = {near(str(key), free) for key in strange}
    for name in mistake.argument:
        if name not in mistake.given and name not in mistyped:
            about = known.get(name, {}).get("description", "")
            fix = f"add `{name}: ...`" + (f" ({about})" if about and len(about) < 80 else "")
            yield _finding(at, "002", f"{_named(at)} has no `{name}`", fix, key=True)


def _type(mistake: Mistake, at: Path, document: Document) -> Finding:
    wanted = mistake.argument
    kinds = [wanted] if isinstance(wanted, str) else list(wanted)
    words = " or ".join(KINDS.get(kind, kind) for kind in kinds)
    if mistake.given is None:
        return _finding(at, "003", f"{_named(at)} is empty", f"remove the key, or give it {words}", key=True)
    raw = document.raw(at)
    if "string" in kinds and raw is not None:
        return _finding(
            at, "003", f"{_named(at)} must be {words}; YAML reads {raw} as {_kind(mistake.given)}", f'write "{raw}"'
        )
    return _finding(at, "003", f"{_named(at)} must be {words}, not {_kind(mistake.given)}", _example(mistake))


def _example(mistake: Mistake) -> str:
    if mistake.argument == "array" and not isinstance(mistake.given, dict):
        return f"write [{mistake.given}]"
    about = mistake.schema.get("description", "")
    return about if len(about) < 80 else ""


def _choice(mistake: Mistake, at: Path) -> Finding:
    choices = [mistake.argument] if mistake.keyword == "const" else mistake.argument
    meant = near(str(mistake.given), map(str, choices))
    message = f"{_named(at)} cannot be `{mistake.given}`; it may be {', '.join(map(str, choices))}"
    fix = f"did you mean `{meant}`?" if meant else f"write `{choices[0]}`" if len(choices) == 1 else ""
    return _finding(at, "004", message, fix)


def _format(mistake: Mistake, at: Path, hook: Hook) -> Finding:
    kind = next(kind for kind, (name, _) in FORMATS.items() if name == mistake.argument)
    try:
        hook(kind, mistake.given)
    except ValueError as reason:
        message = f"{_named(at)}: {reason}"
    about = FORMATS[kind][1]
    return _finding(at, "005", message, _canonical(mistake.given) or f"write {about}")


def _canonical(text: str) -> str | None:
    from ipaddress import ip_network  # noqa: PLC0415 - only for files that are wrong

    try:
        return f"write {ip_network(text, strict=False)}" if "/" in str(text) else None
    except ValueError:
        return None


def _pattern(mistake: Mistake, at: Path) -> Finding:
    about = mistake.schema.get("description") or _DESCRIBED.get(str(at[-1]), "")
    message = (
        f"{_named(at)}: `{_short(mistake.given)}` is not {about}"
        if about
        else (f"{_named(at)}: `{_short(mistake.given)}` does not have the right form")
    )
    return _finding(
        at, "006", message, "" if about else f"it must match {mistake.argument}", key=mistake.given == at[-1]
    )


# Fields whose type says nothing about them in words.
_DESCRIBED = {
    "url": "an address such as https://git.example.org/clusters.git",
    "address": "host:port, as in 10.0.0.10:6443",
    "mac": "a MAC address in small letters, as in 0c:42:a1:00:00:01",
    "hostDir": "an absolute path, as in /mnt/scratch",
    "branch": "the name of a branch",
}


def _bound(mistake: Mistake, at: Path) -> Finding:
    limits = {
        "minimum": "must be at least",
        "maximum": "must be at most",
        "exclusiveMinimum": "must be more than",
        "exclusiveMaximum": "must be less than",
        "maxLength": "may have at most",
        "minLength": "must have at least",
        "minItems": "must have at least",
    }
    words = limits.get(mistake.keyword)
    if words is None:
        return _finding(
            at, "009", f"{_named(at)}: `{_short(mistake.given)}` breaks {mistake.keyword}: {mistake.argument}"
        )
    unit = {"maxLength": " characters", "minLength": " characters", "minItems": " items"}.get(mistake.keyword, "")
    given = f"{len(mistake.given)}{unit}" if unit else _short(mistake.given)
    message = f"{_named(at)} {words} {mistake.argument}{unit}; it is {given}"
    return _finding(at, "007", message)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    names = {str: "text", int: "a number", float: "a number", list: "a list", dict: "a map", type(None): "empty"}
    return names[type(value)]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _named(at: Path) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in at)
    return text.removeprefix(".").removeprefix("spec.") or "the file"


def _own_words(text: str) -> Finding:
    """Turn msgspec's complaint into a finding: what the schema cannot say, such as the form of a map's keys."""
    message, _, where = text.partition(" - at ")
    path = where.strip("`").rpartition("`$")[2] if "`$" in where else where.strip("`").removeprefix("$")
    steps = tuple(int(index) if index else name for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path))
    return _finding(steps, "008", f"{_named(steps)}: {message}")
