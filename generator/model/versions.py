"""Versions as upstream numbers them, and what is said where one component's moves from one to another."""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from generator.model.change import FieldChange, ObjectChange

Look: TypeAlias = Callable[[ObjectChange, FieldChange], bool]


def of(component: str, look: Look) -> Look:
    """Return a closer look at the version of one component."""
    return lambda change, field: change.name == component and look(change, field)


def numbers(version: object) -> tuple[int, ...]:
    """Return the numbers that a version begins with: (1, 20, 6) of `v1.20.6`; none where it begins otherwise."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", str(version))
    return tuple(map(int, found[1].split("."))) if found else ()


def goes_back(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the new version is older."""
    old, new = numbers(field.old), numbers(field.new)
    return bool(old and new) and new < old


def goes_back_a_minor(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the new version is older by more than its last number."""
    return numbers(field.new)[:2] < numbers(field.old)[:2]


def minors(field: FieldChange) -> int | None:
    """Return how many minor versions it goes up, less than 0 down; None over a major version, or without numbers."""
    old, new = numbers(field.old), numbers(field.new)
    return new[1] - old[1] if min(len(old), len(new)) > 1 and old[0] == new[0] else None


def majors(field: FieldChange) -> int:
    """Return how many major versions it goes up, less than 0 down."""
    old, new = numbers(field.old), numbers(field.new)
    return new[0] - old[0] if old and new else 0


def goes_to_the_next_minor(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it goes up by one minor version."""
    return minors(field) == 1


def goes_to_another_minor(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether more than the last number moves, up."""
    return majors(field) > 0 or (minors(field) or 0) > 0


def skips_a_minor(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it goes over a minor version, up or down, or over a major one."""
    gone = minors(field)
    return majors(field) != 0 if gone is None else abs(gone) > 1


def next_minor(_change: ObjectChange, field: FieldChange) -> Mapping[str, str]:
    """Return the words `old`, `new` and `next`: the minor version to go to first."""
    old, new = numbers(field.old), numbers(field.new)
    step = 1 if new > old else -1
    following = f"{old[0]}.{old[1] + step}" if minors(field) is not None else "the next minor version"
    return {"old": str(field.old), "new": str(field.new), "next": following}
