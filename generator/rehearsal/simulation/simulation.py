"""What a simulation of an operation came to."""

from typing import Any

from msgspec import Struct, to_builtins

from generator.rehearsal.simulation.course import Step
from generator.rehearsal.simulation.timeline import Event, What

OF_GANGS = (What.STOPPED, What.QUEUED, What.STARTED, What.PREEMPTED)


class Simulation(Struct, frozen=True, kw_only=True):
    """An operation as it was played: with which parameters, on how many nodes, beside which jobs (`jobs` of `source`);
    its steps, what happened, what was assumed or not played, and the seconds of the phases. `last` is the step after
    which it was ended, where it was not the last one of the operation.
    """

    cluster: str
    operation: str
    parameters: dict[str, str]
    source: str
    nodes: int
    jobs: int
    steps: tuple[Step, ...]
    events: tuple[Event, ...]
    assumed: tuple[str, ...]
    last: str = ""
    seconds: dict[str, float]

    @property
    def refused(self) -> tuple[Step, ...]:
        """The steps that failed."""
        return tuple(one for one in self.steps if one.code)

    @property
    def held(self) -> tuple[Event, ...]:
        """What a budget holds up for good: a pod that goes a moment later only waited for another one."""
        gone = {one.pod for one in self.events if one.what == What.GONE}
        return tuple(one for one in self.events if one.what == What.HELD and one.pod not in gone)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The gangs that were stopped and were not let in again."""
        last = {one.to: one.what for one in self.events if one.what in OF_GANGS}
        return tuple(name for name, what in last.items() if what != What.STARTED)

    @property
    def loud(self) -> bool:
        """Whether something stands against the operation."""
        return bool(self.refused or self.held)

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        found: dict[str, Any] = to_builtins(self)
        return found | {
            "refused": [one.name for one in self.refused],
            "held": to_builtins(self.held),
            "waiting": [*self.waiting],
        }
