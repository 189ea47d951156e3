"""What a render did. A render that finds everything as it was tells this too: nothing heavy is imported."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from generator.layout.states import State

if TYPE_CHECKING:
    from generator.repository.hand_edits import HandEdit
    from generator.repository.plan import Plan


class Rendered(Struct, frozen=True, kw_only=True):
    """What one cluster was rendered as. `components` are in order; `states` tells of those that bring charts or
    upstream manifests whether these are vendored, and `held` are the folders with what is. `own` is how many files it
    has for itself, those that are made once among them, `shared` which it has together with others.
    """

    components: tuple[str, ...]
    states: dict[str, State] = {}
    held: tuple[str, ...] = ()
    own: int = 0
    shared: tuple[str, ...] = ()


class Outcome(Struct, frozen=True, kw_only=True):
    """What a render did, or would do: `seconds` is how long each cluster took to compute, where it was computed.
    `damaged` are components, as `cluster/component`, whose vendored files are not as `gen vendor` wrote them, where
    that was looked at.
    """

    plan: "Plan"
    rendered: Mapping[str, Rendered]
    seconds: Mapping[str, float]
    damaged: tuple[str, ...] = ()
    edits: "tuple[HandEdit, ...]" = ()
    notes: tuple[str, ...] = ()

    @property
    def components(self) -> dict[str, tuple[str, ...]]:
        """The components of each cluster, in order."""
        return {name: one.components for name, one in self.rendered.items()}

    @property
    def states(self) -> dict[str, dict[str, State]]:
        """By cluster and component, whether charts and upstream manifests are vendored."""
        return {name: one.states for name, one in self.rendered.items()}

    @property
    def refused(self) -> bool:
        """Whether hand edits kept it from writing."""
        return bool(self.edits)

    @property
    def stale(self) -> list[str]:
        """Components whose vendored objects are from other inputs, as `cluster/component`."""
        found = ((cluster, name, state) for cluster, states in self.states.items() for name, state in states.items())
        return [f"{cluster}/{name}" for cluster, name, state in found if state == "stale"]


def count(rendered: Iterable[Rendered], besides: Iterable[str] = ()) -> int:
    """Return how many files these clusters have, less those that are counted `besides`."""
    clusters = [*rendered]
    shared = {path for one in clusters for path in one.shared}
    return sum(one.own for one in clusters) + len(shared.difference(besides))
