"""The YAML writer: text that YAML 1.1, YAML 1.2 and the Go libraries of Kubernetes read alike."""

import json
import math
import re
from functools import lru_cache
from typing import Any

_NESTED = (dict, list, tuple)
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_COMMON = bytes([9, 10, *range(32, 127)])
"""What of ASCII is no part of it."""
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
_NUMBER_STARTS = frozenset("0123456789+-._")
_NUMBER = re.compile(
    r"""[-+]?\.(inf | nan)
        | [-+.\d][-+\d_.:e]*            # 08, 12e03, 1:30; Go drops each _ first, so -_1.5 too
        | [-+]?_*0_*[xob][-+\da-f_]*
        | \d{4}-\d\d?-\d\d?.*           # a date, with or without a time""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_PLAIN = re.compile(
    r"""(?!---|\.\.\.)                                  # kyaml splits documents by lines
        (?:[^\s!"\#%&'*,:=<>?@[\]`{|}~-] | -(?=\S))
        [^:\#\t\n]* (?:(?: :(?=\S) | (?<!\s)\#) [^:\#\t\n]*)*
        (?<!\s)""",
    re.VERBOSE,
)


def emit(value: Any) -> str:
    """Return `value` as one YAML document in block style, keys in the order given, no line wrapped.

    Maps (with text as keys), lists, tuples, text, whole and finite numbers, booleans and None can be written;
    anything else raises TypeError. No reader takes a key of more than 1000 characters, and Go reads a whole
    number of more than 64 bits as a fraction. What is quoted, and why: facts, "Writing".
    """
    out: list[str] = []
    if isinstance(value, _NESTED) and value:
        _entries(value, "", "\n", out)
    else:
        out.append(_scalar(value, "\n  "))
    out.append("\n")
    return "".join(out)


def _entries(value: Any, lead: str, pad: str, out: list[str]) -> None:
    """Append what `value` holds: the first entry behind `lead`, the others behind `pad`, a line break and blanks."""
    inner = pad + "  "
    if isinstance(value, dict):
        for key, item in value.items():
            if type(item) is str and type(key) is str and "\n" not in item:
                out.append(f"{lead}{_line(key)}: {_line(item)}")
            elif item and isinstance(item, _NESTED):
                out.append(f"{lead}{_key(key)}:")
                below = inner if isinstance(item, dict) else pad
                _entries(item, below, below, out)
            else:
                out.append(f"{lead}{_key(key)}: {_scalar(item, inner)}")
            lead = pad
    else:
        for item in value:
            if item and isinstance(item, _NESTED):
                out.append(f"{lead}- ")
                _entries(item, "", inner, out)
            else:
                out.append(f"{lead}- {_scalar(item, inner)}")
            lead = pad


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key must be text, not {key!r}")
    return _line(key)


def _scalar(value: Any, pad: str) -> str:
    if isinstance(value, str):
        return _block(value, pad) if "\n" in value else _line(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float) and math.isfinite(value):
        return _float(value)
    if isinstance(value, _NESTED):
        return "{}" if isinstance(value, dict) else "[]"
    raise TypeError(f"YAML cannot hold {value!r}")


def _float(value: float) -> str:
    """PyYAML takes 1e+16 for text: a fraction must stand before the exponent."""
    digits, mark, exponent = float.__repr__(value).partition("e")
    return digits + (".0" if "." not in digits else "") + mark + exponent


def _block(text: str, pad: str) -> str:
    """Text of several lines as a block scalar, where every reader accepts one."""
    last = text.rstrip("\n").rpartition("\n")[2]
    if text[0] == "\t" or not last.strip(" \t") or _is_unprintable(text):
        return _quoted(text)
    indent = "2" if text[0] in " \n" else ""
    chomp = "-" if text[-1] != "\n" else "+" if text[-2] == "\n" else ""
    lines = text.removesuffix("\n").split("\n")
    return f"|{indent}{chomp}" + "".join([pad + line if line else "\n" for line in lines])


def _is_unprintable(text: str) -> bool:
    # The pattern's look at each character takes eight times as long.
    common = text.isascii() and not text.encode().translate(None, _COMMON)
    return not common and _UNPRINTABLE.search(text) is not None


@lru_cache(maxsize=8192)
def _line(text: str) -> str:
    # What Python can print holds nothing of the first three; a look at each character takes longer.
    if not text.isprintable() and (_UNPRINTABLE.search(text) or "\n" in text or "\t" in text):
        return _quoted(text)
    if _PLAIN.fullmatch(text) and not _is_misread(text):
        return text
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"
    return f'"{text}"'


def _is_misread(text: str) -> bool:
    """Tell whether a reader takes the text for a number, a date or a boolean."""
    if text[0] in _NUMBER_STARTS:
        return _NUMBER.fullmatch(text) is not None
    return text.lower() in _WORDS


def _quoted(text: str) -> str:
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))
