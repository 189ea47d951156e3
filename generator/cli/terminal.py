"""The one place that prints.

What is printed holds names and texts of others: of files, folders, charts, servers. Nothing of it may command a
terminal or a CI system that reads along, so every character that cannot be seen is written as an escape. Nor is a
password printed that stands in an address, whose ever the address is.
"""

import os
from collections.abc import Iterable
from typing import Any

import click

from generator.model.secret_texts import without_logins

# Noncharacters stand for colours until all else is escaped: nothing of what is printed can be one.
_STYLES = {name: chr(0xFDD0 + number) for number, name in enumerate(("bold", "red", "green", "yellow", "cyan"))}
_END = "\ufddf"
_CODES = {_STYLES["bold"]: "1", _STYLES["red"]: "31", _STYLES["green"]: "32", _STYLES["yellow"]: "33"}
_CODES |= {_STYLES["cyan"]: "36", _END: "0"}


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text of one or more lines to standard output, or to standard error."""
    bare = (line.removesuffix("\r") for line in without_logins(text).split("\n"))
    lines = (line if line.isprintable() else "".join(map(_shown, line)) for line in bare)
    click.echo("\n".join(lines), err=err, nl=nl)


def tell(text: str) -> None:
    """Print what is waited for, and else what is no result, to standard error."""
    say(text, err=True)


def say_all(texts: Iterable[str], *, err: bool = False) -> None:
    """Print texts one after the other, each as soon as it is there."""
    for text in texts:
        say(text, err=err)


def _shown(char: str) -> str:
    if code := _CODES.get(char):
        return f"\x1b[{code}m"
    return char if char.isprintable() or char == "\t" else _escape(char)


def say_json(data: Any) -> None:
    """Print data as JSON."""
    import json  # noqa: PLC0415 - a hundredth of a check, which mostly prints text

    text = without_logins(json.dumps(data, indent=2, ensure_ascii=False))
    click.echo("".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text))


def styled(text: str, style: str) -> str:
    """Return text, of one line, in a colour, or `bold`."""
    return f"{_STYLES[style]}{one_line(text)}{_END}"


def bold(text: str) -> str:
    """Return text, of one line, that stands out."""
    return styled(text, "bold")


def one_line(text: str) -> str:
    """Return text with escapes for line ends and all else that cannot be seen."""
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def visible(text: str) -> str:
    """Return a line of a file, each character still one."""
    signs = (char if char.isprintable() else " " if char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
    return "".join(signs)


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes: letters of East Asia take two, marks on a letter none."""
    if text.isascii():
        return len(text)
    import unicodedata  # noqa: PLC0415 - hardly ever

    wide = sum(unicodedata.east_asian_width(each) in {"W", "F"} for each in text)
    return len(text) + wide - sum(bool(unicodedata.combining(each)) for each in text)


def annotate(severity: str, message: str, **place: str | int) -> None:
    """Print an annotation of GitHub's: a line feed would end the command, a comma or colon a property of it."""
    given = {key: _escaped(one_line(str(value)), "%,:") for key, value in place.items()}
    properties = ",".join(f"{key}={value}" for key, value in given.items())
    lines = "%0A".join(_escaped(one_line(line), "%") for line in without_logins(message).split("\n"))
    click.echo(f"::{severity}{' ' * bool(properties)}{properties}::{lines}")


def colour() -> bool | None:
    """Return False where no colours are wanted (https://no-color.org) or possible, else None: click sees for itself."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def _escape(char: str) -> str:
    return ascii(char)[1:-1]


def _escaped(text: str, signs: str) -> str:
    return "".join(f"%{ord(each):02X}" if each in signs else each for each in text)
