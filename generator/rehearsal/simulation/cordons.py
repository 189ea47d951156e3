"""Nodes of a twin that take pods, or not, while a state is brought."""

from collections.abc import Collection, Iterable

from generator.live.running import RunningCluster
from generator.rehearsal.simulation.reading import NODES


class Cordons:
    """The nodes of a twin."""

    def __init__(self, twin: RunningCluster) -> None:
        self.twin = twin

    def all(self) -> None:
        """Keep pods off all nodes."""
        self.close(self._names())

    def open(self, names: Iterable[str]) -> None:
        """Let some nodes take pods."""
        for name in names:
            self._set(name, value=None)

    def close(self, names: Iterable[str]) -> None:
        """Keep pods off some nodes."""
        for name in names:
            self._set(name, value=True)

    def restore(self, cordoned: Collection[str]) -> None:
        """Let all nodes take pods but those that are cordoned."""
        self.open(name for name in self._names() if name not in cordoned)

    def _names(self) -> list[str]:
        return [one["metadata"]["name"] for one in self.twin.items(NODES)]

    def _set(self, name: str, *, value: bool | None) -> None:
        self.twin.merge(f"{NODES}/{name}", {"spec": {"unschedulable": value}})
