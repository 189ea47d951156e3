"""One problem in a cluster file: what a rule yields, and where it is."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from msgspec import Struct

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indexes that lead to a value. Rules write it relative to `spec`; a path that begins with
`metadata`, `kind` or `apiVersion` is relative to the whole file. `()` is the file itself."""


class Position(NamedTuple):
    """A piece of one line: `line` and `column` count from 1, `end` is the column after the last character."""

    line: int
    column: int
    end: int


class Severity(StrEnum):
    """An error fails `gen check` (exit code 1); a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


class Finding(Struct, frozen=True, kw_only=True):
    """One problem.

    `at` is what is wrong and `also` the place it contradicts: a path (relative to `spec`, see `Path`), or a
    `Position` where there is no value, as in a syntax error. `key` is true where the key itself is meant and
    not its value. `fix` is the smallest change that helps, without a full stop. `code` and `severity` are
    filled in by the rule that yields the finding.
    """

    message: str
    at: Path | Position = ()
    also: Path | Position | None = None
    key: bool = False
    fix: str = ""
    code: str = ""
    severity: Severity = Severity.ERROR


def dotted(path: Sequence[str | int]) -> str:
    """Return a path as people write it: `nodes[3].address`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")
