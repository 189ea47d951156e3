"""How passwords look where they are written out: in variables, arguments, keys and files of settings."""

import re
from collections.abc import Iterator

PRIVATE_KEY = r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\s*(?:\\n)?\s*[A-Za-z0-9+/]{16}"
"""With what follows its mark, so that a script which looks for keys is none."""

# Compiled where they are used: a cluster file mostly has nothing to use them on, and that takes milliseconds.
WORD = r"(?:password|passwd|passphrase|client_?secret|secret_?(?:access_?)?key|api_?key|(?:auth|access|bearer)_?token)"
# Before the word a sign, or small letters before its capital.
BEFORE = r"(?:[\w.-]*[^A-Za-z]|[\w.-]*[a-z](?=[A-Z]))?"
NAME = rf"{BEFORE}(?i:{WORD}|token)"
ASSIGNED = (
    rf"(?m)^[ \t]*(?:export +|- +)?[\"']?(?!(?i:default)){BEFORE}(?i:{WORD})[\"']?"
    r"[ \t]*[:=][ \t]*(?P<value>\S.*?),?[ \t\r]*$"
)
OPTION = rf"--?(?:[\w-]*-)?(?i:{WORD.replace('_?', '[_-]?')})"
FLAG = rf"{OPTION}[= ](?P<value>\S+)"
# What stands where a password would, and is none: a reference, a path, a switch, an example in angle brackets, a type.
HARMLESS = (
    r"(?is)[\"']*(?:"
    r".*[$%{<(*|>\[].*|[./~].*|(?:https?|file|env|vault|secret)[:/].*|"
    r"true|false|yes|no|none|null|nil|string|bytes|nullable|required|optional|prompt|-?\d{1,5}[smhd]?"
    r")?[\"']*[;,]?"
)


def is_named_so(name: str) -> bool:
    """Tell whether a key or a variable is named like a password."""
    return re.fullmatch(NAME, name) is not None


def given(word: str) -> Iterator[str]:
    """Yield what options in arguments give as a password: `--password=...`."""
    return (found["value"] for found in re.finditer(FLAG, word))


def assigned(text: str) -> Iterator[str]:
    """Yield what lines of a text give to something that is named like a password."""
    return (found["value"] for found in re.finditer(ASSIGNED, text))


def is_secret(value: str) -> bool:
    """Tell whether a value may be a password itself, and not only where to find one."""
    return re.fullmatch(HARMLESS, value) is None


def in_address(text: str) -> bool:
    """Tell whether an address in the text holds a password or a token."""
    # Mostly there is nothing to look at.
    return "://" in text and ("@" in text or "?" in text) and re.search(_ADDRESS, text) is not None


_ADDRESS = (
    r"\w://[^/\s:@]*:(?![$<{])[^/\s@]+@"
    r"|\w://\S*[?&](?i:[\w-]*(?:token|password|passwd|secret|api_?key))=(?![$<{])[^&\s]"
)
