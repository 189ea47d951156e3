"""A Secret that is rotated, with the copies that must hold the same."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from generator.components.component import Secret, Turn
from generator.errors import UsageError
from generator.spec.near import suggest

BY_HAND = "`gen secret rotate` does not rotate it"


class Family(Struct, frozen=True, kw_only=True):
    """The Secret that decides the values, its copies, and how they are rotated. Of one that was `stolen` no former
    value stays, nor one of a rotation that is under way.
    """

    origin: Secret
    copies: tuple[Secret, ...]
    turn: Turn
    stolen: bool = False

    @property
    def former(self) -> Mapping[str, str]:
        """Where the value of a key stays while both count, by key; nothing where none may stay. One that is handed over
        stays all the same: without it the new one is never taken.
        """
        return {} if self.stolen and not self.turn.handed else self.turn.former

    @property
    def all(self) -> tuple[Secret, ...]:
        """The Secret and its copies."""
        return (self.origin, *self.copies)

    @property
    def syncs_of_copies(self) -> tuple[tuple[str, str], ...]:
        """The Applications whose Jobs read a copy."""
        return tuple(dict.fromkeys(sync for one in self.copies if one.turn for sync in one.turn.syncs))


def family(declared: Iterable[Secret], name: str, *, stolen: bool = False) -> Family:
    """Return the Secret of a name, or of `namespace/name`, with its copies: of a copy that what it is a copy of. Raises
    UsageError where there is none, or more, and where a person must rotate it.
    """
    every = tuple(declared)
    named = _named(every, name)
    origin = next((one for one in every if one.full_name == named.copy_of), named)
    if origin.by_hand:
        raise UsageError(f"{origin.full_name}: {BY_HAND}, as {origin.by_hand}; by hand: {origin.rotate}")
    copies = tuple(one for one in every if one.copy_of == origin.full_name)
    if other := next((one for one in copies if one.turn is None), None):
        raise UsageError(f"{origin.full_name}: {BY_HAND}, as nothing is known of its copy {other.full_name}")
    assert origin.turn  # noqa: S101 - `by_hand` has seen to it
    return Family(origin=origin, copies=copies, turn=origin.turn, stolen=stolen)


def _named(every: tuple[Secret, ...], name: str) -> Secret:
    found = [one for one in every if name in {one.name, one.full_name}]
    origins = [one for one in found if one.copy_of is None] or found
    if len(origins) == 1:
        return origins[0]
    if origins:
        raise UsageError(f"there are several Secrets {name}: {', '.join(one.full_name for one in origins)}; name one")
    hint = suggest(name, list(_names(every)), "`gen secret list` names them", "`{}`")
    raise UsageError(f"the cluster file declares no Secret {name}; {hint}")


def _names(every: tuple[Secret, ...]) -> Iterator[str]:
    for one in every:
        yield one.full_name
        yield one.name
