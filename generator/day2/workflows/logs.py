"""What the steps of a run print, as it comes."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from generator.day2.workflows.runs import Run, Step
from generator.day2.workflows.ways import PodLog, Way

OF_ARGO = " argo=true"
"""Stands in lines that the executor prints beside the step's own (argo-workflows v4.0: `util/logs`)."""


class Printed(Struct, frozen=True):
    """A line that a step printed."""

    step: str
    line: str


class Logs:
    """What the pods of one run print. Each line is given once, however often one looks."""

    def __init__(self, way: Way, namespace: str, name: str) -> None:
        self._way, self._namespace, self._name = way, namespace, name
        self._seen: dict[str, tuple[str, int]] = {}
        self.read: set[str] = set()
        """The steps of which something could be read, by their ids."""

    def new(self, run: Run) -> Iterator[Printed]:
        """Yield the lines that were not given yet, pod by pod. Raises UsageError."""
        names = {one.id: one.name for one in _pods(run.steps)}
        seen = {pod: time for pod, (time, _) in self._seen.items()}
        for one in self._way.printed(self._namespace, self._name, seen):
            for line in self._lines(one):
                self.read.add(one.step)
                yield Printed(names.get(one.step, one.pod), line)

    def _lines(self, pod: PodLog) -> Iterator[str]:
        """Yield a pod's new lines. Times have nanoseconds, but more is told than is new: what was given of the last one
        is left out.
        """
        last, given = self._seen.get(pod.pod, ("", 0))
        for line in pod.lines:
            time, _, said = line.partition(" ")
            if time < last or (time == last and given > 0):
                given -= time == last
                continue
            count = self._seen[pod.pod][1] + 1 if self._seen.get(pod.pod, ("",))[0] == time else 1
            self._seen[pod.pod] = (time, count)
            if OF_ARGO not in said:
                yield said


def unread(run: Run, read: "set[str]") -> Mapping[str, str]:
    """Return the steps that ran and of which nothing can be read, by their names, with the reason."""
    ended = {one.name: one for one in _pods(run.steps) if one.started and one.id not in read}
    gone = "it printed nothing, or its pod is gone: pods of runs that succeeded go, and their logs with them"
    return dict.fromkeys(ended, gone)


def _pods(steps: tuple[Step, ...]) -> Iterator[Step]:
    for one in steps:
        if one.pod:
            yield one
        yield from _pods(one.steps)
