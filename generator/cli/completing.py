"""What a shell offers for values: clusters, components, codes and places of a cluster file.

A key is pressed and somebody waits: nothing is imported here that is not needed for the very answer, least of all the
verbs, which bring rules and components.
"""

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from generator.errors import UsageError
from generator.repository.places import find_root, names
from generator.spec.named import steps

_CODE = re.compile(r'(?:rule|warning)\(\s*"(GEN-[A-Z0-9]+-\d{3})"|\bcode="(GEN-[A-Z0-9]+-\d{3})"')
_VALUED = {"-C", "--directory", "--cluster", "--output", "--since", "--discard", "--allow", "--schemas"}
_VALUED |= {"--like", "--rack", "--address"}
_PACKAGE = Path(__file__).parents[1]


def stand_in(verb: str, typed: list[str]) -> click.Command | None:
    """Return what completes the word behind those that are typed, where a value is wanted that this module knows."""
    before, root = typed[-1:], root_meant(typed)
    if before == ["--cluster"]:
        return _Values(verb, names(root))
    if before in (["-C"], ["--directory"]):
        return None
    if before == ["--like"]:
        return _Values(verb, _named(root, f"{verb}s"))
    words = [word for index, word in enumerate(typed) if not of_option(typed, index)]
    values = _words(verb, words, root)
    return None if values is None else _Values(verb, values)


def _words(verb: str, words: list[str], root: Path) -> "Iterable[str] | _Places | None":
    """Return what can stand behind these words, None where this module does not know."""
    if verb == "node" and len(words) == 1 and words[0] in {"remove", "replace", "set"}:
        return _named(root, "nodes")
    if verb == "vendor":
        return _components(root)
    if verb == "explain" and not words:
        return (*names(root), *_codes())
    if verb == "explain" and len(words) == 1:
        return _Places(root / "clusters" / words[0] / "cluster.yaml")
    return None


class _Values(click.Command):
    """Offers values, and the verb's own options for what begins as one."""

    def __init__(self, verb: str, values: "Iterable[str] | _Places") -> None:
        super().__init__(verb)
        self._values = values

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer what the word can become."""
        if incomplete.startswith("-"):
            verb = import_module(f"generator.cli.{self.name}").command
            assert isinstance(verb, click.Command)  # noqa: S101 - for the type checker
            return verb.shell_complete(ctx, incomplete)
        values = self._values.below(incomplete) if isinstance(self._values, _Places) else self._values
        return [CompletionItem(value) for value in values if value.startswith(incomplete)]


class _Places:
    """The places of a cluster file, one step at a time."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def below(self, incomplete: str) -> Iterator[str]:
        """Yield what the last step of a path can be, each with the steps before it."""
        from generator.spec.reader import read  # noqa: PLC0415 - only for these

        if not self._file.is_file():
            return
        above, dot, _ = incomplete.rpartition(".")
        value: Any = read(self._file.read_bytes(), str(self._file)).value.get("spec")
        for step in steps(above):
            value = _children(value).get(step)
        yield from (f"{above}{dot}{key}" for key in _children(value))


def _children(value: Any) -> dict[str | int, Any]:
    if isinstance(value, list):
        return {item["name"]: item for item in value if isinstance(item, dict) and isinstance(item.get("name"), str)}
    return value if isinstance(value, dict) else {}


def root_meant(typed: list[str]) -> Path:
    """Return the repository that these words are about, and the folder that they name where it is none."""
    start = Path(*[*_directories(typed)][-1:]).absolute()
    try:
        return find_root(start)
    except UsageError:
        return start


def _directories(typed: list[str]) -> Iterator[str]:
    """Yield what -C says, in each of the ways in which it can be written."""
    for word, following in pairwise([*typed, ""]):
        if word in {"-C", "--directory"}:
            yield following
        elif word.startswith("--directory="):
            yield word.partition("=")[2]
        elif re.match("-C.", word):
            yield word[2:]


def of_option(typed: list[str], index: int) -> bool:
    """Tell whether a word is an option or the value of one; those without a value are flags."""
    return typed[index].startswith("-") or (index > 0 and typed[index - 1] in _VALUED)


def _named(root: Path, section: str) -> Iterator[str]:
    """Yield the names in `nodes`, or in `pools`, of all clusters."""
    from generator.spec.reader import read  # noqa: PLC0415 - as above

    for name in names(root):
        file = root / "clusters" / name / "cluster.yaml"
        value = read(file.read_bytes(), str(file)).value if file.is_file() else {}
        yield from map(str, _children(_children(value.get("spec")).get(section)))


def _components(root: Path) -> list[str]:
    return sorted({path.name for path in root.glob("overlays/*/*") if path.is_dir()})


def _codes() -> list[str]:
    """Return the codes as they stand in the program's text: its modules take a tenth of a second to import."""
    folders = ("checks", "rules", "spec", "build", "live", "repository")
    files = (path for folder in folders for path in (_PACKAGE / folder).rglob("*.py"))
    found = (each for path in files for each in _CODE.findall(path.read_text(encoding="utf-8")))
    return sorted({one or other for one, other in found})
