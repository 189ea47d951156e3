"""One step of a bootstrap: what it finds, and what it would do."""

from collections.abc import Callable, Iterable
from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """Whether something is as it must be, would be made so, must be settled by a person before anything is done
    (`WAITS`), or comes by itself or by others (`LATER`).
    """

    DONE = "done"
    TO_DO = "would do"
    WAITS = "waits for you"
    LATER = "later"


class Item(Struct, frozen=True):
    """One thing that a step looked at, in words."""

    state: State
    what: str


class Step(Struct, frozen=True, kw_only=True):
    """What a step found. `act` makes it so and yields in words what it did; run again, it does what is left."""

    name: str
    items: tuple[Item, ...]
    act: Callable[[], Iterable[str]] = tuple

    @property
    def pending(self) -> bool:
        """Whether there is something to do."""
        return any(item.state == State.TO_DO for item in self.items)

    @property
    def blocked(self) -> list[str]:
        """What a person must settle first."""
        return [item.what for item in self.items if item.state == State.WAITS]

    @property
    def standing(self) -> str:
        """How it stands where there is nothing to do: done, or the first of what comes later."""
        later = [item.what for item in self.items if item.state == State.LATER]
        if not later:
            return "was done already"
        return later[0] + (f"; so for {len(later) - 1} more" if len(later) > 1 else "")
