"""What the steps of a run print, as it comes."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from msgspec import Struct

from generator.day2.workflows.runs import Run, Step
from generator.live.running import RunningCluster
from generator.model.fields import dig

OF_RUN = "workflows.argoproj.io/workflow"
"""A label of pods: their Workflow."""
OF_STEP = "workflows.argoproj.io/node-id"
"""An annotation of pods: their step."""
MAIN = "main"
"""The container that does a step's work; the others are Argo's."""


OF_ARGO = " argo=true"
"""Stands in lines that the executor prints beside the step's own (argo-workflows v4.0: `util/logs`)."""


class Printed(Struct, frozen=True):
    """A line that a step printed."""

    step: str
    line: str


class Logs:
    """What the pods of one run print. Each line is given once, however often one looks."""

    def __init__(self, running: RunningCluster, namespace: str, name: str) -> None:
        self._running, self._namespace, self._name = running, namespace, name
        self._seen: dict[str, tuple[str, int]] = {}
        self.read: set[str] = set()
        """The steps of which something could be read, by their ids."""

    def new(self, run: Run) -> Iterator[Printed]:
        """Yield the lines that were not given yet, pod by pod. Raises UsageError."""
        names = {one.id: one.name for one in _pods(run.steps)}
        selected = {"labelSelector": f"{OF_RUN}={self._name}"}
        pods = list(self._running.items(f"/api/v1/namespaces/{self._namespace}/pods", **selected))
        for pod in sorted(pods, key=lambda one: str(dig(one, "metadata", "creationTimestamp"))):
            step = str(dig(pod, "metadata", "annotations", OF_STEP))
            for line in self._lines(pod["metadata"]["name"]):
                self.read.add(step)
                yield Printed(names.get(step, pod["metadata"]["name"]), line)

    def _lines(self, pod: str) -> Iterator[str]:
        """Yield a pod's new lines. Times have nanoseconds, but one asks by whole seconds: what was given of the last
        one is left out.
        """
        last, given = self._seen.get(pod, ("", 0))
        asked = {"container": MAIN, "timestamps": "true"} | ({"sinceTime": _second(last)} if last else {})
        text = self._running.text(f"/api/v1/namespaces/{self._namespace}/pods/{pod}/log?{urlencode(asked)}")
        for line in (text or "").splitlines():
            time, _, said = line.partition(" ")
            if time < last or (time == last and given > 0):
                given -= time == last
                continue
            count = self._seen[pod][1] + 1 if self._seen.get(pod, ("",))[0] == time else 1
            self._seen[pod] = (time, count)
            if OF_ARGO not in said:
                yield said


def _second(time: str) -> str:
    return f"{time[:19]}Z"


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
