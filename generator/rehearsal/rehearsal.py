"""What a rehearsal came to."""

from enum import StrEnum
from typing import Any

from msgspec import Struct, to_builtins

from generator.rehearsal.outcome import Wave
from generator.rehearsal.promises import Promise


class Event(StrEnum):
    """What happened, the loudest first."""

    REFUSED = "refused"
    LATE = "too early"
    STOPPED = "job stopped"
    CLOSED = "queue closed"
    BLOCKED = "budget blocks"
    HUNG = "never ready"
    REPLACED = "pods replaced"
    DELETED = "deleted"
    WAITS = "waits"
    DIFFERS = "differs for ever"


QUIET = {Event.DELETED, Event.REPLACED}
"""What a change may well mean to do."""


class Happened(Struct, frozen=True, kw_only=True):
    """One thing that happened to an object or a job: why, in the words of who did it, and what `gen diff` foretold."""

    event: Event
    what: str
    why: str
    foretold: str = ""


class Rehearsal(Struct, frozen=True, kw_only=True):
    """A change of one cluster as it was played. `before` are the waves of the first sync, `waves` those of the change;
    `objects` counts what was applied of each, `nodes` and `jobs` what ran; `kept` tells that the first sync was done by
    an earlier rehearsal, `argocd` that Argo CD itself did both. `disagreements` tell where `gen diff` says
    otherwise, `promises` are those of the queues where they were tried, `not_proven` tells what was only played or left
    out. `seconds` are those of the phases.
    """

    cluster: str
    old: str
    new: str
    nodes: int
    jobs: int
    objects: tuple[int, int]
    kept: bool
    argocd: bool = False
    before: tuple[Wave, ...]
    waves: tuple[Wave, ...]
    happened: tuple[Happened, ...]
    disagreements: tuple[str, ...]
    promises: tuple[Promise, ...]
    not_proven: tuple[str, ...]
    seconds: dict[str, float]

    @property
    def loud(self) -> bool:
        """Whether something happened that somebody should look at before the merge."""
        broken = any(one.held is False for one in self.promises)
        return broken or bool(self.disagreements) or any(one.event not in QUIET for one in self.happened)

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        found: dict[str, Any] = to_builtins(self)
        return found
