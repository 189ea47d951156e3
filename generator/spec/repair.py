"""What of a wrong file can be judged all the same.

Its wrong parts are changed as their findings propose, or left out so that defaults are taken, or, where a value must be
there, filled with one that is possible. Findings of rules that look at such a place are not to be told.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

from generator.model.finding import Edit, Finding, Path
from generator.spec.document import Document, from_the_top
from generator.spec.limit import MOST
from generator.spec.schema_check import Hook, Mistake, validator, violated
from generator.spec.words import examples

# What is filled in may itself hold keys that must be there, and what is left out may have to be there.
_ROUNDS = 8


def edited(value: Any, edits: Iterable[Edit]) -> Any:
    """Return the values of a cluster file after these edits, one after the other. An edit of what is not there, because
    an earlier one took it away, does nothing.
    """
    changed = deepcopy(value)
    for edit in edits:
        *way, last = from_the_top(edit.at)
        _edit(_holder(changed, way, last), last, edit)
    return changed


def repaired(document: Document, findings: Iterable[Finding], hook: Hook) -> tuple[Any, list[Path]] | None:
    """Return values that the schema takes, and the places, as paths of the file, where they are not the given ones;
    None where there is too much to repair. `findings` are all that the schema finds in the document. What was taken out
    and can have stood for nothing is no such place.
    """
    edits = [edit for finding in findings for edit in finding.edits if not _moves_others(edit)]
    value, places = edited(document.value, edits), [from_the_top(edit.at) for edit in edits]
    idle = {place for mistake in islice(violated(document.value, hook), MOST) for place in _idle(mistake, hook)}
    for _ in range(_ROUNDS):
        wrong = [*islice(violated(value, hook), MOST + 1)]
        if not wrong:
            return value, [each for each in places if each not in idle]
        if len(wrong) > MOST or any(not mistake.at and mistake.keyword == "type" for mistake in wrong):
            return None
        for mistake in wrong:
            places += _mend(value, mistake, hook)
    return None


def _idle(mistake: Mistake, hook: Hook) -> Iterator[Path]:
    """Yield the unknown keys of a section that only are too much: what they say is neither what another key of it may
    say, nor is it a key of another section, so that nothing is lost with them.
    """
    known, required = mistake.schema.get("properties", {}), set(mistake.schema.get("required", ()))
    if mistake.keyword != "additionalProperties" or not known.keys() & mistake.given.keys() >= required:
        return
    whole = validator(hook).schema
    elsewhere = {name for section in whole["$defs"].values() for name in section.get("properties", ())}
    free = [{"$defs": whole["$defs"], **about} for name, about in known.items() if name not in mistake.given]
    for key, value in mistake.given.items():
        if key in known or key in elsewhere or value is None or isinstance(value, (dict, list)):
            continue
        if not any(validator(hook).evolve(schema=each).is_valid(value) for each in free):
            yield *mistake.at, key


def _moves_others(edit: Edit) -> bool:
    """Tell whether the items behind would get other places than they have in the text."""
    return edit.do == "remove" and isinstance(edit.at[-1], int)


def _holder(value: Any, way: Sequence[str | int], last: str | int) -> Any:
    """Return what holds the end of a path; sections and lists that are missing on the way are made."""
    for step, following in zip(way, (*way, last)[1:], strict=True):
        value = _into(value, step, [] if isinstance(following, int) else {})
    return value


def _into(holder: Any, step: str | int, missing: Any) -> Any:
    if isinstance(holder, dict):
        return holder.setdefault(step, missing)
    return holder[step] if isinstance(holder, list) and isinstance(step, int) and step < len(holder) else None


def _edit(holder: Any, last: str | int, edit: Edit) -> None:
    if isinstance(holder, list) and isinstance(last, int):
        holder[last : last + 1] = [] if edit.do == "remove" else [edit.value]
    elif isinstance(holder, dict) and edit.do == "rename" and edit.value not in holder:
        renamed = [(edit.value if key == last else key, each) for key, each in holder.items()]
        holder.clear()
        holder.update(renamed)
    elif isinstance(holder, dict) and edit.do == "put":
        holder[last] = edit.value
    elif isinstance(holder, dict):
        holder.pop(last, None)


def _mend(value: Any, mistake: Mistake, hook: Hook) -> Iterator[Path]:
    """Take out what a mistake is about, or fill in what is missing, and yield the places."""
    known = mistake.schema.get("properties", {})
    match mistake.keyword:
        case "additionalProperties":
            edits = [Edit("remove", (*mistake.at, key)) for key in mistake.given if key not in known]
        case "required":
            missing = [name for name in mistake.argument if name not in mistake.given]
            edits = [Edit("put", (*mistake.at, name), _possible(known.get(name, {}), hook)) for name in missing]
        case _ if isinstance(mistake.at[-1], int):
            edits = [Edit("put", mistake.at, _possible(mistake.schema, hook))]
        case _:
            edits = [Edit("remove", mistake.at)]
    for edit in edits:
        *way, last = edit.at
        _edit(_holder(value, way, last), last, edit)
        yield edit.at


def _possible(schema: dict[str, Any], hook: Hook) -> Any:
    """Return some value that the schema takes, as far as it is easily found."""
    if "$ref" in schema:
        schema = validator(hook).schema["$defs"][schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "object":
        return {name: _possible(schema["properties"][name], hook) for name in schema.get("required", ())}
    simple = (*schema.get("enum", ()), schema.get("minimum", 1), False, [], *examples(), "x", "example")
    return next(filter(validator(hook).evolve(schema=schema).is_valid, simple), None)
