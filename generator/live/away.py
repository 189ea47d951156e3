"""An API server that does not answer for a while, as while its control plane is restarted."""

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from generator.live.api import AwayError
from generator.live.times import minutes

POLL = 2.0
"""Seconds between two looks whether it answers."""
PATIENCE = 600.0
"""Seconds that a server may be away: a control plane that is upgraded or restarted is back within minutes."""

Found = TypeVar("Found")


class Server(Protocol):
    """A server that may be away."""

    @property
    def host(self) -> str:
        """Its address."""

    def ready(self) -> bool:
        """Tell whether it answers what it is asked."""


def answered(
    server: Server, ask: Callable[[], Found], tell: Callable[[str], None], patience: float = PATIENCE
) -> Found:
    """Return what `ask` returns: where the server goes away meanwhile, that is told and `ask` begins anew as soon as it
    is ready. Raises AwayError after `patience` seconds; with none at once.
    """
    away_since = 0.0
    while True:
        try:
            found = ask()
        except AwayError as error:
            if patience <= 0:
                raise
            away_since = away_since or _told(error, tell, patience)
            if time.monotonic() - away_since >= patience:
                raise AwayError(f"{error}; waited {minutes(patience)} for it") from None
            _await_ready(server, away_since + patience)
        else:
            if away_since:
                tell(f"{server.host} answers again, after {time.monotonic() - away_since:.0f} s")
            return found


def _told(error: AwayError, tell: Callable[[str], None], patience: float) -> float:
    """Tell that the server is away, and return since when."""
    tell(f"{error}; looking again until it answers, for at most {minutes(patience)}")
    return time.monotonic()


def _await_ready(server: Server, end: float) -> None:
    """Wait until a server calls itself ready: before that it may answer as if it knew no objects, or nobody."""
    time.sleep(POLL)
    while time.monotonic() < end and not server.ready():
        time.sleep(POLL)
