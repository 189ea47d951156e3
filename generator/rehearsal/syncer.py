"""Who brings a twin to what is built of one side of a change."""

from typing import Protocol

from generator.build.objects import Built
from generator.rehearsal.outcome import Synced


class Syncer(Protocol):
    """Syncs one twin, again and again. Every method raises UsageError."""

    @property
    def unproven(self) -> str:
        """What is not proven by who syncs."""
        ...

    def sync(self, built: Built) -> Synced:
        """Bring the twin to what is built."""
        ...

    def resume(self, built: Built, synced: Synced) -> None:
        """Take up a twin that was brought to what is built, with these outcomes; wait until it serves all that."""
        ...

    def differing(self, built: Built, synced: Synced) -> dict[str, str]:
        """Return the objects that differ from what is built for ever, each with what differs, since this sync."""
        ...

    def confirmed(self, built: Built) -> dict[str, str]:
        """Confirm what waits for a person since the last sync, and return what came of it, by object."""
        ...
