"""A surveyed cluster as the text of a commented cluster file."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from generator.model.finding import Path
from generator.model.node_sets import node_set
from generator.spec.scalars import inline
from generator.survey.notes import RIGHTS, Note, Notes

WIDTH = 118
SECTIONS = {
    "repository": "Where Argo CD finds what `gen render` writes.",
    "site": "What surrounds the cluster.",
    "kubernetes": "",
    "networks": "",
    "gpus": "",
    "pools": "Hardware once for each pool; a node below may override any key.",
    "nodes": "",
    "storage": "",
    "scheduling": "",
    "teams": "",
    "frameworks": "",
    "gitops": "",
    "components": "What somebody else installed stays his, until gen takes it over.",
}
"""The sections in their order, and what stands above each."""
# Long enough to be a section of its own lines whatever its length.
OPEN = 2
HEAD = """\
# {name}: begun by `gen init` from the cluster that runs at {host}.
# What could not be read there stands as `not known` where it belongs, and all together at the end: fill it in, then run
# `gen check`, then `gen render`, and look at the rendered files before Argo CD does.
# yaml-language-server: $schema=../../schemas/cluster.schema.json
apiVersion: gen/v1alpha1
kind: Cluster
metadata:
  name: {name}
spec:
"""


def write(name: str, host: str, spec: Mapping[str, Any], notes: Notes) -> str:
    """Return the text of the file."""
    lines = HEAD.format(name=name, host=host).splitlines()
    for section, about in SECTIONS.items():
        value = spec.get(section)
        if value or notes.at((section,)) or section in {"pools", "nodes"}:
            lines += [*_comment(about, 2), *_comments(notes.at((section,)), 2)]
            lines += [*_entry(section, value, (section,), notes, 2)] if value is not None else []
            lines += [*_draft(section, notes), ""]
    return "\n".join([*lines, *_summary(notes)]).rstrip("\n") + "\n"


def _draft(section: str, notes: Notes) -> Iterator[str]:
    if section in notes.drafts:
        for line in _entry(section, notes.drafts[section], (section,), Notes(), 0):
            yield f"  # {line}"


def _entry(key: str, value: object, at: Path, notes: Notes, indent: int) -> Iterator[str]:
    """Yield the lines of a key: on one line where it fits, nothing is to be said of its parts and it is no section."""
    blanks, name = " " * indent, inline(key)
    on_one = f"{blanks}{name}: {inline(value)}"
    opened = len(at) < OPEN or len(on_one) > WIDTH - 8 or notes.below(at)
    if not opened or not isinstance(value, dict | list) or not value:
        yield on_one
        return
    yield f"{blanks}{name}:"
    yield from (
        _mapping(value, at, notes, indent + 2) if isinstance(value, dict) else _items(value, at, notes, indent + 2)
    )


def _mapping(value: Mapping[str, Any], at: Path, notes: Notes, indent: int) -> Iterator[str]:
    for key, each in value.items():
        yield from _comments(notes.at((*at, key)), indent)
        yield from _entry(key, each, (*at, key), notes, indent)


def _items(value: Sequence[Any], at: Path, notes: Notes, indent: int) -> Iterator[str]:
    told: set[str] = set()
    for each in value:
        place = (*at, each["name"]) if isinstance(each, dict) and "name" in each else at
        said = [note for note in notes.at(place) if note.text not in told] if place != at else []
        told |= {note.text for note in said}
        yield from _comments(said, indent)
        yield from _item(each, place, notes, indent)


def _item(value: object, at: Path, notes: Notes, indent: int) -> Iterator[str]:
    on_one = f"{' ' * indent}- {inline(value)}"
    if len(on_one) <= WIDTH or not isinstance(value, dict):
        yield on_one
        return
    first, *others = _mapping(value, at, notes, indent + 2)
    yield f"{' ' * indent}- {first.lstrip()}"
    yield from others


def _comments(notes: Sequence[Note], indent: int) -> Iterator[str]:
    for note in notes:
        yield from _comment(note.line, indent)


def _comment(text: str, indent: int) -> Iterator[str]:
    """Yield comment lines; what the cluster says of itself may hold anything, also what would end a line."""
    lead = " " * indent + "# "
    yield from _wrapped(text, lead, f"{lead}  ")


def _wrapped(text: str, first: str, then: str) -> list[str]:
    plain = _printable(text)
    return textwrap.wrap(plain, WIDTH, initial_indent=first, subsequent_indent=then, break_on_hyphens=False)


def _summary(notes: Notes) -> Iterator[str]:
    """Yield all remarks, grouped, at the end of the file."""
    for title, unknown in (("Not known, to fill in", True), ("Found besides", False)):
        grouped = {section: _folded(found, unknown=unknown) for section, found in notes.groups().items()}
        if any(grouped.values()):
            yield f"# {title}:"
        for section in sorted(grouped, key=_order):
            if grouped[section]:
                yield f"#   {section}:" if section != RIGHTS else "#   what you may not read:"
                for line in grouped[section]:
                    yield from _wrapped(line, "#   - ", "#     ")


def _order(section: str) -> int:
    return [*SECTIONS].index(section) if section in SECTIONS else len(SECTIONS)


def _folded(found: Sequence[Note], *, unknown: bool) -> list[str]:
    """Return remarks as lines, equal ones on several nodes or pools as one."""
    places: dict[str, list[str]] = {}
    for note in found:
        if note.unknown == unknown:
            places.setdefault(note.text, []).append(".".join(map(str, note.at[1:])))
    return [f"{_where(where)}{_printable(text)}" for text, where in places.items()]


def _where(places: Sequence[str]) -> str:
    named = [place for place in places if place]
    return f"{node_set(named)}: " if named else ""


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text)


def summary(notes: Notes) -> list[str]:
    """Return what could not be known, one line each, for whoever ran the command."""
    return [
        f"{section}: {line}"
        for section, found in sorted(notes.groups().items(), key=lambda item: _order(item[0]))
        for line in _folded(found, unknown=True)
    ]
