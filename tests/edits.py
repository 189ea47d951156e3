"""Applies what findings say as data."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from generator.model.finding import Edit
from generator.spec.document import from_the_top


def edited(value: Any, edits: Iterable[Edit]) -> Any:
    """Return the values of a cluster file after these edits, one after the other."""
    changed = deepcopy(value)
    for edit in edits:
        *way, last = from_the_top(edit.at)
        holder = changed
        for step in way:
            holder = holder.setdefault(step, {}) if isinstance(step, str) else holder[step]
        _apply(holder, last, edit)
    return changed


def _apply(holder: Any, last: str | int, edit: Edit) -> None:
    if edit.do == "remove":
        del holder[last]
    elif edit.do == "rename":
        renamed = [(edit.value if key == last else key, each) for key, each in holder.items()]
        assert edit.value not in holder
        holder.clear()
        holder.update(renamed)
    elif isinstance(holder, list) and last == len(holder):
        holder.append(edit.value)
    else:
        holder[last] = edit.value
