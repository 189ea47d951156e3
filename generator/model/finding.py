"""One problem: what a rule yields, and where it is."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indexes that lead to a value. Rules over a cluster write it relative to `spec`; a path that begins with
`metadata`, `kind` or `apiVersion` is relative to the whole file. In an object it is relative to the manifest. `()` is
the whole."""


class Position(NamedTuple):
    """A piece of one line: `line` and `column` count from 1, `end` is the column after the last character."""

    line: int
    column: int
    end: int


class Severity(StrEnum):
    """An error fails `gen check` (exit code 1); a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


class ObjectRef(Struct, frozen=True):
    """The Kubernetes object that a finding is about: its apiVersion, kind, namespace (empty where it has none), name,
    and the component that holds it, empty in a plain folder.
    """

    version: str
    kind: str
    namespace: str
    name: str
    component: str = ""

    @property
    def full_name(self) -> str:
        """How people name it."""
        return full_name(self.kind, self.namespace, self.name)


class Edit(Struct, frozen=True):
    """One change of the cluster file. `put` writes `value`, plain data, at the path: in the place of what is there, as
    a new key, or behind the last item where the index is one more than its; sections and lists that are missing on the
    way are made. `remove` takes away what stands there, and `rename` gives the key at the end of the path the name
    `value`.
    """

    do: Literal["put", "remove", "rename"]
    at: Path
    value: Any = None

    @property
    def words(self) -> str:
        """The change as people say it."""
        key = self.at[-1]
        if self.do == "rename":
            return f"call it {self.value}"
        if self.do == "remove":
            return f"remove `{key}`" if isinstance(key, str) else "remove it"
        return f"{key}: {_plain(self.value)}" if isinstance(key, str) else _plain(self.value)


class Finding(Struct, frozen=True, kw_only=True):
    """One problem at one place of a file; `file` is relative to the repository's root, or as the user named it.

    The place is one of three: a path `at` of the cluster file; a path `at` in the manifest of an `object`; or a
    `Position` where there is no value, as in a syntax error. `also` is the place that it contradicts, and `key` is true
    where the key itself is meant and not its value. `line` is the text of a `Position` for what cannot be read again,
    as standard input. `fix` is the smallest change that helps, without a full stop. `cause` is the same in all findings
    that one trouble brings, and empty in what stands for itself.

    Where the fix is a change of the cluster file, `edits` is that change: made together, they end the finding and bring
    no other. Their words are the fix, unless a rule has better ones.

    `secret` is true where the value at the place is one: it is printed nowhere.

    A rule leaves `code` and `severity` to whoever runs it, one over a cluster also the `file`.
    """

    message: str
    file: str = ""
    at: Path | Position = ()
    also: Path | Position | None = None
    key: bool = False
    object: ObjectRef | None = None
    line: str = ""
    fix: str = ""
    edits: tuple[Edit, ...] = ()
    cause: str = ""
    secret: bool = False
    code: str = ""
    severity: Severity = Severity.ERROR

    @property
    def about(self) -> str:
        """How people name its object; empty where it is about none."""
        return self.object.full_name if self.object else ""


def full_name(kind: str, namespace: str, name: str) -> str:
    """Return how people name an object: `Kind namespace/name`."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def dotted(path: Sequence[str | int]) -> str:
    """Return a path as people write it: `nodes[3].address`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def put(at: Path, value: Any) -> tuple[Edit, ...]:
    """Return the change that writes a value."""
    return (Edit("put", at, value),)


def remove(at: Path) -> tuple[Edit, ...]:
    """Return the change that takes a value away, with its key."""
    return (Edit("remove", at),)


def rename(at: Path, name: str) -> tuple[Edit, ...]:
    """Return the change that gives a key another name."""
    return (Edit("rename", at, name),)


def in_words(edits: Iterable[Edit]) -> str:
    """Return changes as people say them."""
    return ", ".join(each.words for each in edits)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_plain(each)}' for key, each in value.items())}}}"
    return f"[{', '.join(map(_plain, value))}]" if isinstance(value, list) else str(value)
