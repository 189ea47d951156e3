"""The one way into text files that are not YAML: what nodes are given, scripts, the steps, tables of rights.

A value enters as what it is there: a `Word`, or quoted by `Quoted` (systemd), `Toml`, `Shell` or `Csv`. Each of these
escapes what it is given, or refuses what could leave its place: another line, another word, another folder. A plain
string is none of them, so that the type checker tells where one was forgotten.
"""

import json
import re
import shlex
from collections.abc import Iterable
from functools import cache
from typing import Literal, Self

from generator.components.pem import is_pem
from generator.components.static import read_folder, read_text
from generator.errors import UsageError

# Patterns for what is seldom written are compiled where they are used.
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029]"
_WORD = re.compile(r"[A-Za-z0-9_.:/@+,=^-]+")
_NODES = r"([a-z0-9.-]+(\[[0-9,-]+\][a-z0-9.-]*)*(, ?[a-z0-9.-]+(\[[0-9,-]+\][a-z0-9.-]*)*)*)?"
_STEP = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9_.@+-]+")
_HOLE = re.compile(r"\{([a-z_0-9]+)\}")


class Escaped(str):
    """A value as it may stand at its place of a line. Raises UsageError for one that holds a control character."""

    __slots__ = ()

    def __new__(cls, value: object) -> Self:
        """Escape a value."""
        text = str(value)
        if not text.isprintable() and re.search(_CONTROL, text):
            raise UsageError(f"{text!r} cannot be written into a file for nodes: it holds a control character")
        return str.__new__(cls, cls.escaped(text))

    @staticmethod
    def escaped(text: str) -> str:
        """Return one line of text as it stands in the file; raises UsageError where that cannot be."""
        raise NotImplementedError


class Word(Escaped):
    """One word, in files and in commands alike: a name, an address, a number."""

    __slots__ = ()

    @staticmethod
    def escaped(text: str) -> str:
        """Refuse what is more than a word."""
        if not _WORD.fullmatch(text):
            allowed = "letters, digits and _ . : / @ + , = ^ -"
            raise UsageError(f"{text!r} cannot be written into a file for nodes: one word there is {allowed}")
        return text


class NodeSet(Escaped):
    """Names of nodes, folded as Slurm and ClusterShell write them: `gpu-[01-15],cpu-1`."""

    __slots__ = ()

    @staticmethod
    def escaped(text: str) -> str:
        """Refuse what is no such list."""
        if not re.fullmatch(_NODES, text):
            raise UsageError(f"{text!r} cannot be written into a file for nodes: it is no list of their names")
        return text


class Quoted(Escaped):
    """Between double quotes in a unit of systemd, which expands `%` there (systemd.syntax, systemd.exec)."""

    __slots__ = ()

    @staticmethod
    def escaped(text: str) -> str:
        """Escape quotes, backslashes and specifiers."""
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


class Toml(Escaped):
    """A basic string of TOML, quotes included: one of JSON is one."""

    __slots__ = ()

    @staticmethod
    def escaped(text: str) -> str:
        """Quote it."""
        return json.dumps(text, ensure_ascii=False)


class Shell(Escaped):
    """One argument of a command."""

    __slots__ = ()

    @staticmethod
    def escaped(text: str) -> str:
        """Quote it where the shell asks for that."""
        return shlex.quote(text)


class Csv(Escaped):
    """A quoted field of comma-separated values (RFC 4180)."""

    __slots__ = ()

    @staticmethod
    def escaped(text: str) -> str:
        """Quote it."""
        return '"' + text.replace('"', '""') + '"'


class Place(str):
    """A path below the bootstrap folder, made of its steps. Raises UsageError for a step that is none: with a slash, a
    blank, `.` or `..`.
    """

    __slots__ = ()

    def __new__(cls, *steps: str) -> Self:
        """Join the steps."""
        for step in steps:
            if not _STEP.fullmatch(step):
                allowed = "letters, digits and _ . @ + -"
                raise UsageError(f"{step!r} cannot name a file or a folder for nodes: a name there is {allowed}")
        return str.__new__(cls, "/".join(steps))


class Template(str):
    """Text of ours with holes, `{name}`. A test holds that each is written out in the program or is a file of it."""

    __slots__ = ()


@cache
def _parted(template: Template) -> tuple[list[str], frozenset[str]]:
    """Return a template in parts, text and the names of holes in turns, and these names."""
    parts = _HOLE.split(template)
    return parts, frozenset(parts[1::2])


class Text(str):
    """Text that may be written: a template whose holes are filled with what was escaped for them."""

    __slots__ = ()

    def __new__(cls, template: Template, /, **values: "Escaped | Text") -> Self:
        """Fill every hole; a value without a hole, or a hole without a value, is a mistake of ours (KeyError)."""
        parts, names = _parted(template)
        if unused := values.keys() - names:
            raise KeyError(*sorted(unused))
        filled = [*parts]
        filled[1::2] = [values[name] for name in parts[1::2]]
        return str.__new__(cls, "".join(filled))


class Pem(Text):
    """Certificates in PEM, one behind the other, and nothing else. Raises UsageError for other text."""

    __slots__ = ()

    def __new__(cls, value: str) -> Self:
        """Take the text as it is, with a line break at its end."""
        if not is_pem(value):
            raise UsageError("what should be a certificate in PEM cannot be written into a file for nodes: it is none")
        return str.__new__(cls, value.rstrip("\n") + "\n")


def joined(parts: Iterable[Escaped | Text], between: Literal["", " ", ", "] = "") -> Text:
    """Return texts one behind the other."""
    return str.__new__(Text, between.join(parts))


def static(path: str) -> Text:
    """Return a file of ours below `generator/components` as it is."""
    return str.__new__(Text, read_text(path))


def template(path: str) -> Template:
    """Return a file of ours below `generator/components` with holes."""
    return Template(read_text(path))


def static_folder(path: str, *above: str) -> dict[Place, Text]:
    """Return every file below a folder of ours, by its path there below `above`."""
    return {Place(*above, *name.split("/")): static(f"{path}/{name}") for name in read_folder(path)}
