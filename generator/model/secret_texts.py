"""How passwords look where they are written out: in variables, arguments, keys and files of settings."""

import re
from collections.abc import Callable, Iterable, Iterator

PRIVATE_KEY = r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\s*(?:\\n)?\s*[A-Za-z0-9+/]{16}"
"""With what follows its mark, so that a script which looks for keys is none."""

KEYS_AND_TOKENS = {
    "a private key": (PRIVATE_KEY, ["PRIVATE KEY"]),
    "an age key": (r"\bAGE-SECRET-KEY-1[0-9A-Z]{20}", ["AGE-SECRET-KEY-1"]),
    "an AWS access key": (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", ["AKIA", "ASIA"]),
    "a GitHub token": (
        r"\b(?:gh[pousr]_\w{36}|github_pat_\w{22,})",
        ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
    ),
    "a GitLab token": (r"\bglpat-[\w-]{20}", ["glpat-"]),
    "a Slack token": (r"\bxox[abeprs]-[\w-]{10,}", ["xox"]),
    "a webhook's address": (r"hooks\.slack\.com/(?:services/T\w+/B\w+/\w{10,}|workflows/\w+)", ["hooks.slack.com"]),
    "a JSON web token": (r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}", [".eyJ"]),
    "a Hugging Face token": (r"\bhf_[A-Za-z]{30,}", ["hf_"]),
    "an NVIDIA key": (r"\bnvapi-[\w-]{40,}", ["nvapi-"]),
}
"""How each looks, and words without one of which none can be in a text: looking for words takes a tenth of the time."""
_MARKS = tuple(mark for _, marks in KEYS_AND_TOKENS.values() for mark in marks)

# Compiled where they are used: a cluster file mostly has nothing to use them on, and that takes milliseconds.
WORD = r"(?:password|passwd|passphrase|client_?secret|secret_?(?:access_?)?key|api_?key|(?:auth|access|bearer)_?token)"
_ALONE = ("passw", "passphrase")
_JOINED = (
    ("client", "secret"), ("secret", "key"), ("secret", "access"), ("api", "key"),
    ("auth", "token"), ("access", "token"), ("bearer", "token"),
)  # fmt: skip
_PARTS = (*_ALONE, *(f"{first}{sign}{second}" for first, second in _JOINED for sign in ("", "_", "-")))
"""One of these is in each such word, also of an option."""
_ODD_LETTERS = "\u0130\u0131\u017f\u212a"
"""What `re` takes for i, s and k where capitals do not count, and `lower` does not."""
# Before the word a sign, or small letters before its capital.
BEFORE = r"(?:[\w.-]*[^A-Za-z]|[\w.-]*[a-z](?=[A-Z]))?"
NAME = rf"{BEFORE}(?i:{WORD}|token)"
ASSIGNED = (
    rf"(?m)^[ \t]*(?:export +|- +)?[\"']?(?!(?i:default)){BEFORE}(?i:{WORD})[\"']?"
    r"[ \t]*[:=][ \t]*(?P<value>\S.*?),?[ \t\r]*$"
)
OPTION = rf"--?(?:[\w-]*-)?(?i:{WORD.replace('_?', '[_-]?')})"
FLAG = rf"{OPTION}[= ](?P<value>\S+)"
OPTION_IN_VALUES = rf"(?:{OPTION}|--?(?:[\w-]*-)?token)"
"""A token of a program in general may be a word that a model knows; in what a person writes for a chart it is none."""
# In the middle of a line, as in what a database is reached with, and in headers.
WITHIN = (
    rf"{OPTION_IN_VALUES}[= ](?P<value>\S+)",
    r"(?<![\w-])(?i:password|passwd|pwd)=(?P<value>[^\s;,&\"']+)",
    r"(?i:authorization)[\"']?[ \t]*[:=][ \t]*[\"']?(?i:bearer|basic|token) +(?P<value>[^\s\"']+)",
)
# What stands where a password would, and is none: a reference, also by a YAML tag such as `!env_var`, a path, a switch,
# an example in angle brackets, a type.
HARMLESS = (
    r"(?is)[\"']*(?:"
    r".*[$%{<(*|>\[].*|[./~].*|![a-z_]+ +\w+|(?:https?|file|env|vault|secret)[:/].*|"
    r"true|false|not[ _-]?set|yes|no|none|null|nil|string|bytes|nullable|required|optional|prompt|-?\d{1,5}[smhd]?"
    r")?[\"']*[;,]?"
)


def keys_and_tokens(text: str) -> list[str]:
    """Return which keys and tokens of well-known forms are in a text: `a GitHub token`."""
    if not may_hold_keys(text):
        return []
    return [name for name, (form, _) in KEYS_AND_TOKENS.items() if re.search(form, text)]


def may_hold_keys(text: str) -> bool:
    """Tell quickly whether a text, or several in one, may hold a key or a token of a well-known form."""
    return any(mark in text for mark in _MARKS)


def is_named_so(name: str) -> bool:
    """Tell whether a key or a variable is named like a password."""
    return re.fullmatch(NAME, name) is not None


def given(word: str) -> Iterator[str]:
    """Yield what options in arguments give as a password: `--password=...`."""
    return (found["value"] for found in (re.finditer(FLAG, word) if _may_name(word) else ()))


def assigned(text: str) -> Iterator[str]:
    """Yield what lines of a text give to something that is named like a password."""
    return (found["value"] for found in (re.finditer(ASSIGNED, text) if _may_name(text) else ()))


def _may_name(text: str) -> bool:
    """Tell whether something in a text may be named like a password; mostly there is nothing."""
    lower = text.lower()
    return any(part in lower for part in _PARTS) or any(letter in text for letter in _ODD_LETTERS)


def within(text: str) -> Iterator[str]:
    """Yield what is given as a password in the middle of lines: in connections to databases, in headers."""
    return (found["value"] for pattern in WITHIN for found in re.finditer(pattern, text))


def is_secret(value: str) -> bool:
    """Tell whether a value may be a password itself, and not only where to find one."""
    return re.fullmatch(HARMLESS, value) is None


def in_address(text: str) -> bool:
    """Tell whether an address in the text holds a password or a token."""
    # Mostly there is nothing to look at.
    return ("://" in text or "?" in text) and re.search(_ADDRESS, text) is not None


_ADDRESS = (
    r"\w://[^/\s:@]*:(?![$<{])[^/\s@]+@"
    r"|[\w/]\?(?:\S*&)?(?i:[\w-]*(?:token|password|passwd|secret|api_?key))=(?![$<{])[^&\s]"
)


def hidden(text: str, stars: Callable[[str], str], *, is_line: bool = False) -> str:
    """Return a text that is to be shown with `stars` in the place of what looks like a password: in addresses and
    arguments, in a line of a file also beside keys that are named so. More is taken for one than in findings: what is
    hidden for nothing does no harm.
    """
    return _starred(text, stars, (*_SHOWN, *((_NAMED,) if is_line else ())))


def without_logins(text: str) -> str:
    """Return a text with stars for the passwords and tokens that stand before the hosts of addresses."""
    if "://" not in text:
        return text
    return "".join(_starred_passwords(_starred(text, lambda value: "*" * len(value), (_NAMELESS,))))


def _starred_passwords(text: str) -> Iterator[str]:
    """Yield a text in parts, with stars for what stands between the name and the last @ of its word. Each word is
    looked through once, however many names it has: a pattern would do so for each.
    """
    password, behind, host = map(re.compile, (_NAMED_BEFORE, _WORD_ENDS, _HOST))
    done = at = last = stop = 0
    while begin := password.search(text, at):
        first, at = begin.end(), begin.start() + 1
        if first >= stop:
            end = behind.search(text, first)
            stop = end.start() if end else len(text)
            last = max((one.start() for one in host.finditer(text, first, stop + 1)), default=0)
        if last > first:
            yield f"{text[done:first]}{'*' * (last - first)}"
            done = at = last
    yield text[done:]


def _starred(text: str, stars: Callable[[str], str], patterns: Iterable[str]) -> str:
    def replaced(found: re.Match[str]) -> str:
        before, after = found[0][: found.start("value") - found.start()], found[0][found.end("value") - found.start() :]
        return f"{before}{stars(found['value'])}{after}"

    for pattern in patterns:
        text = re.sub(pattern, replaced, text)
    return text


def passwords(text: str, *, is_line: bool = False) -> list[str]:
    """Return what `hidden` hides."""
    found: list[str] = []

    def kept(value: str) -> str:
        found.append(value)
        return value

    hidden(text, kept, is_line=is_line)
    return found


# A name alone is a token, but for SSH. A password may also hold what it should not, such as / and @; what begins as a
# port or as a placeholder is none.
_NAMELESS = r"https?://(?P<value>(?![$<{])[^\s/@:`'\"]+)@"
_NAMED_BEFORE = r"://[^\s/@:`'\"\[]*:(?![${]|\d{1,5}[/?#])(?=[^\s`'\"<>])"
_WORD_ENDS = r"[\s`'\"<>]"
_HOST = r"@(?!sha256:)(?=[\w\[])"
# `tag@sha256:` is an image's.
_SHOWN = (
    r":(?P<value>[^\s/@`'\"][^\s@`'\"]*)@(?!sha256:)(?=[\w\[])",
    r"https?://(?P<value>[^\s/@:`'\"]+)@",
    r"[?&](?i:[\w-]*(?:token|password|passwd|secret|api_?key))=(?P<value>[^&\s`'\"]+)",
    FLAG,
    *WITHIN,
)
_NAMED = (
    rf"(?<![\w.-])[\"']?(?:{NAME}|(?i:pass|pwd))[\"']?[ \t]*[:=][ \t]*[\"']?"
    r"(?![$%{<*|>\[])(?P<value>[^\s\"',}\]#][^\"',}\]#]*)"
)
