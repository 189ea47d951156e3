"""What is known of a sync on its way, how it went, and how long it may take."""

from msgspec import Struct

from generator.live.away import PATIENCE
from generator.live.sync.arrival import Stage


class Patience(Struct, frozen=True, kw_only=True):
    """Seconds: for all (`limit`), between two looks (`pause`), for what is degraded, or differs, right after it was
    applied (`grace`): controllers have to see it first; at the end for what nothing else waits for (`rest`); for an API
    server that does not answer (`away`).
    """

    limit: float = 3600.0
    pause: float = 2.0
    grace: float = 30.0
    rest: float = 300.0
    away: float = PATIENCE


class Moved(Struct, frozen=True, kw_only=True):
    """How it went with an Application: from which commit, to which one, and what there is to say of it."""

    name: str
    wave: int
    old: str
    new: str
    done: bool
    said: str


class Progress(Struct, kw_only=True):
    """What is known of an Application on its way. `tried`: an operation to the commit was seen under way in this sync;
    `unwell_since` is a time of the monotonic clock.
    """

    name: str
    wave: int
    old: str
    tried: bool = False
    stage: Stage | None = None
    said: str = ""
    failed: bool = False
    unwell_since: float = 0.0
    looked_again: bool = False
    confirmed: str = ""
    """When the operation began whose deletions were confirmed."""
    mark: str = ""
    """By which the operation is known that was begun: the answer to its beginning may be lost."""
