"""What a scalar means to Helm, kubectl and the API server: YAML 1.1 as their Go library (sigs.k8s.io/yaml) reads it.

Charts are tried with these programs, so their reading is what upstream meant. Kustomize reads some scalars in another
way (`yes` as text, a date as a point in time); what gen writes all of them read alike.
"""

import base64
import math
import re
from functools import lru_cache

GoScalar = str | int | float | bool | None

_WORDS: dict[str, GoScalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?", re.ASCII)
_WHOLE = (
    (re.compile(r"([-+]?)0[bB]([01]+)"), 2),
    (re.compile(r"([-+]?)0[oO]?([0-7]+)"), 8),
    (re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)"), 16),
    (re.compile(r"([-+]?)(0|[1-9][0-9]{0,4000})"), 10),
)
_LONG = "tag:yaml.org,2002:"


@lru_cache(maxsize=4096)
def plain(text: str) -> GoScalar:
    """Return the value of an unquoted scalar. Numbers are as JSON makes them: `1.0` is 1. Raises ValueError for what
    JSON cannot say (`.inf`, `.nan`).
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS or _DATE.fullmatch(text):
        return text
    if text.lstrip("+-").lower() in {".inf", ".nan"} and text[-3:] in {"inf", "Inf", "INF", "nan", "NaN", "NAN"}:
        raise ValueError(f"{text}: JSON, and so Kubernetes, has no such number")
    return _number(text)


def _number(text: str) -> GoScalar:
    bare = text if text.startswith(".") else text.replace("_", "")
    for pattern, base in _WHOLE:
        if found := pattern.fullmatch(bare):
            value = int(found[1] + found[2], base)
            if -(2**63) <= value < 2**64:
                return value
    return _fraction(bare) if _FLOAT.fullmatch(bare) else text


def _fraction(text: str) -> GoScalar:
    value = float(text)
    if math.isinf(value):
        return text
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def tagged(text: str, tag: str) -> GoScalar:
    """Return the value of a scalar with an explicit tag. Raises ValueError where it does not fit."""
    kind = tag.removeprefix(_LONG)
    if kind == "binary":
        return base64.b64decode(text, validate=False).decode()
    if kind not in {"null", "bool", "int", "float"}:
        return text
    value = plain(text)
    fits = {"null": value is None, "bool": isinstance(value, bool), "float": isinstance(value, int | float)}
    if not fits.get(kind, isinstance(value, int)):
        raise ValueError(f"{text!r} is no {kind}")
    return value


def key_text(value: object) -> str:
    """Return a key of a map as JSON writes it. Raises ValueError for what cannot be one."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise ValueError(f"a key is {'null' if value is None else 'no scalar'}")
