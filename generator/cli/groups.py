"""Findings that have one cause, put together: of many, the first few tell enough."""

from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct

from generator.model.finding import Position, dotted
from generator.repository.locate import Located

FEW = 3
"""Findings of one cause that are shown."""


class Group(Struct, frozen=True):
    """Findings with one cause, in their order; `cause` says what or where it is."""

    members: tuple[Located, ...]
    cause: str = ""

    @property
    def shown(self) -> tuple[Located, ...]:
        """The first few, and the first of each further code: that one hides nothing."""
        if len(self.members) <= FEW + 1:
            return self.members
        first = {one.finding.code: one for one in reversed(self.members)}
        return tuple(one for place, one in enumerate(self.members) if place < FEW or one is first[one.finding.code])

    @property
    def more(self) -> int:
        """How many are not shown."""
        return len(self.members) - len(self.shown)


def grouped(found: Iterable[Located]) -> list[Group]:
    """Return findings by their cause, each group where its first one stands. A cause is what a rule names as one, or
    the place that several findings contradict. Objects that have one lie in many files, keys of a cluster file in one.
    """
    groups: dict[Hashable, list[Located]] = {}
    for number, one in enumerate(found):
        cause = _cause(one)
        groups.setdefault(number if cause is None else cause, []).append(one)
    return [Group(tuple(members), _words(members)) for members in groups.values()]


def _cause(one: Located) -> Hashable:
    finding = one.finding
    if finding.cause:
        return "" if finding.object else finding.file, finding.cause
    return (finding.file, one.also) if one.also else None


def _words(members: Sequence[Located]) -> str:
    one = members[0]
    if one.finding.cause or one.also is None:
        return one.finding.cause
    path = one.finding.also
    named = "" if path is None or isinstance(path, Position) else f"{dotted(path)}, "
    return f"{named}line {one.also.line}"
