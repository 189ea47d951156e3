"""What the steps of a run print, as it comes."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from msgspec import Struct

from generator.day2.workflows.runs import Run, Step
from generator.day2.workflows.ways import PodLog, Way
from generator.live.times import moment

OF_ARGO = " argo=true"
"""Stands in lines that the executor prints beside the step's own (argo-workflows v4.0: `util/logs`)."""
BEGIN = datetime.fromtimestamp(0, UTC)
"""Before all lines."""


class Printed(Struct, frozen=True):
    """A line that a step printed."""

    step: str
    line: str


class Logs:
    """What the pods of one run print. Each line is given once, however often one looks."""

    def __init__(self, way: Way, namespace: str, name: str) -> None:
        self._way, self._namespace, self._name = way, namespace, name
        self._seen: dict[str, tuple[datetime, int]] = {}
        self.read: set[str] = set()
        """The steps of which something could be read, by their ids."""
        self.away: dict[str, str] = {}
        """Why the last look could not read a step, by its id."""

    def new(self, run: Run) -> Iterator[Printed]:
        """Yield the lines that were not given yet, pod by pod. Raises UsageError."""
        names = {one.id: one.name for one in _pods(run.steps)}
        seen = {pod: time for pod, (time, _) in self._seen.items()}
        for one in self._way.printed(self._namespace, self._name, seen):
            self.away.pop(one.step, None)
            if one.away:
                self.away[one.step] = one.away
            for line in self._lines(one):
                self.read.add(one.step)
                yield Printed(names.get(one.step, one.pod), line)

    def _lines(self, pod: PodLog) -> Iterator[str]:
        """Yield a pod's new lines. More is told than is new, and several lines may have one time: what was given of
        the last one is left out.
        """
        last, given = self._seen.get(pod.pod, (BEGIN, 0))
        time = last
        for line in pod.lines:
            time, said = _timed(line, time)
            if time < last or (time == last and given > 0):
                given -= time == last
                continue
            before, count = self._seen.get(pod.pod, (BEGIN, 0))
            self._seen[pod.pod] = (time, count + 1 if time == before else 1)
            if OF_ARGO not in said:
                yield said


def _timed(line: str, before: datetime) -> tuple[datetime, str]:
    """Return the time that stands before a line, and the line. What a kubelet says itself, such as that a log is gone,
    has none: it counts as of the line before.
    """
    first, _, said = line.partition(" ")
    time = moment(first)
    return (time, said) if time else (before, line)


def unread(run: Run, logs: Logs) -> Mapping[str, str]:
    """Return the steps that ran and of which nothing, or not all, can be read, by their names, with the reason."""
    gone = "it printed nothing, or its pod is gone: pods of runs that succeeded go, and their logs with them"
    ran = [one for one in _pods(run.steps) if one.started and (one.id not in logs.read or one.id in logs.away)]
    return {one.name: logs.away.get(one.id, f"nothing to read: {gone}") for one in ran}


def _pods(steps: tuple[Step, ...]) -> Iterator[Step]:
    for one in steps:
        if one.pod:
            yield one
        yield from _pods(one.steps)
