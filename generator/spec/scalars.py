"""What a plain scalar means by the YAML 1.2 core schema, and how a value is written on one line."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_DECIMAL = re.compile(r"[-+]?[0-9]{1,4000}")  # Python refuses to read much longer ones
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_PREFIXED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER_STARTS = frozenset("0123456789+-.")

# Compiled when a value is written, which reading and rendering do not.
_ADDRESS = r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:/[0-9]{1,2})?"
_AMOUNT = r"[0-9]{1,9}(?:\.[0-9]{1,9})?[KMGTP]i?"
_PLAIN = rf"[A-Za-z/][A-Za-z0-9_./-]*|{_ADDRESS}|{_AMOUNT}"
_RESERVED = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
_UNSAFE = "[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"


def resolve(text: str) -> Scalar:
    """Return the value of a plain scalar; a decimal of more than 4000 digits becomes an infinite float."""
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if text[0] in _NUMBER_STARTS else text


def _number(text: str) -> str | int | float:
    if _DECIMAL.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return int(text, 0) if _PREFIXED.fullmatch(text) else text


def in_range(value: Scalar) -> bool:
    """Tell whether every reader of YAML and JSON can hold the value: 64 bits, neither infinite nor NaN."""
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**64


def inline(value: Any, *, padding: str = "") -> str:
    """Write plain values on one line so that YAML 1.1 and 1.2 readers agree; `padding` goes inside `{}`."""
    if isinstance(value, Mapping):
        pairs = (f"{inline(str(key))}: {inline(each, padding=padding)}" for key, each in value.items())
        return f"{{{padding}{', '.join(pairs)}{padding}}}" if value else "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(inline(each, padding=padding) for each in value)}]"
    if isinstance(value, str):
        plain = re.fullmatch(_PLAIN, value) and value.lower() not in _RESERVED
        return value if plain else _quoted(value)
    written = _json(value)
    return written if "." in written else written.replace("e+", ".0e+").replace("e-", ".0e-")  # as YAML 1.1 wants


def _quoted(text: str) -> str:
    return re.sub(_UNSAFE, lambda found: f"\\u{ord(found[0]):04x}", _json(text))


def _json(value: Any) -> str:
    import json  # noqa: PLC0415 - only where something is found

    return json.dumps(value, ensure_ascii=False)
