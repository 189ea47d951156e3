"""What is asked of a cluster about its operations, whichever way leads there: its API server, or Argo's own server."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Protocol
from urllib.parse import urlencode

from msgspec import Struct

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.away import Server
from generator.live.running import BehindError, RunningCluster
from generator.live.times import stamp
from generator.model.fields import dig

GROUP = "/apis/argoproj.io/v1alpha1"
OF_RUN = "workflows.argoproj.io/workflow"
"""A label of pods: their Workflow."""
OF_STEP = "workflows.argoproj.io/node-id"
"""An annotation of pods: their step."""
MAIN = "main"
"""The container that does a step's work; the others are Argo's."""


class PodLog(Struct, frozen=True):
    """What a pod printed, of the step with an id: lines with their times before them (`kubectl logs --timestamps`), or
    why they cannot be read now.
    """

    pod: str
    step: str
    lines: tuple[str, ...]
    away: str = ""


class Way(Server, Protocol):
    """A way to a cluster. Every method raises UsageError, in one sentence, where there is no talking to its server or
    where that refuses what is asked.
    """

    def templates(self, namespace: str) -> Iterator[Manifest]:
        """Yield the WorkflowTemplates of a namespace."""

    def template(self, namespace: str, name: str) -> Manifest | None:
        """Return a WorkflowTemplate; None where there is none."""

    def schedules(self, namespace: str) -> Iterator[Manifest]:
        """Yield the CronWorkflows of a namespace."""

    def runs(self, namespace: str) -> Iterator[Manifest]:
        """Yield the Workflows of a namespace."""

    def run(self, namespace: str, name: str) -> Manifest | None:
        """Return a Workflow; None where there is none."""

    def create(self, workflow: Manifest, *, dry_run: bool) -> Manifest:
        """Create a Workflow in its namespace, or with `dry_run` have it judged, and return it."""

    def shut_down(self, namespace: str, name: str, *, terminate: bool) -> None:
        """Ask a Workflow to stop; with `terminate` its exit handler does not run."""

    def printed(self, namespace: str, name: str, seen: Mapping[str, datetime]) -> Iterator[PodLog]:
        """Yield what the pods of a Workflow printed, the oldest pod first: of a pod in `seen` at least the lines of
        that time and later ones, else all.
        """


class ThroughApi(Way):
    """The way through the cluster's API server."""

    def __init__(self, running: RunningCluster) -> None:
        self._running = running

    @property
    def host(self) -> str:
        """The address of the API server."""
        return self._running.host

    def ready(self) -> bool:
        """Tell whether the API server calls itself ready."""
        return self._running.ready()

    def templates(self, namespace: str) -> Iterator[Manifest]:
        """Yield the WorkflowTemplates of a namespace."""
        return self._running.items(_path(namespace, "workflowtemplates"))

    def template(self, namespace: str, name: str) -> Manifest | None:
        """Return a WorkflowTemplate; None where there is none."""
        return self._running.get(_path(namespace, "workflowtemplates", name))

    def schedules(self, namespace: str) -> Iterator[Manifest]:
        """Yield the CronWorkflows of a namespace."""
        return self._running.items(_path(namespace, "cronworkflows"))

    def runs(self, namespace: str) -> Iterator[Manifest]:
        """Yield the Workflows of a namespace."""
        return self._running.items(_path(namespace, "workflows"))

    def run(self, namespace: str, name: str) -> Manifest | None:
        """Return a Workflow; None where there is none."""
        return self._running.get(_path(namespace, "workflows", name))

    def create(self, workflow: Manifest, *, dry_run: bool) -> Manifest:
        """Create a Workflow, or with `dry_run` let the API server judge it."""
        path = _path(workflow["metadata"]["namespace"], "workflows") + ("?dryRun=All" if dry_run else "")
        made = self._running.create(path, workflow)
        if made is None:
            raise UsageError("a run of this very name is there already: try again")
        return made

    def shut_down(self, namespace: str, name: str, *, terminate: bool) -> None:
        """Ask a Workflow to stop; with `terminate` its exit handler does not run. The controller looks at none that
        somebody has suspended: such a one goes on, to its end.
        """
        wanted = {"shutdown": "Terminate" if terminate else "Stop", "suspend": None}
        self._running.merge(_path(namespace, "workflows", name), {"spec": wanted})

    def printed(self, namespace: str, name: str, seen: Mapping[str, datetime]) -> Iterator[PodLog]:
        """Yield what the pods of a Workflow printed; one asks by whole seconds."""
        pods = list(self._running.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=f"{OF_RUN}={name}"))
        for pod in sorted(pods, key=lambda one: str(dig(one, "metadata", "creationTimestamp"))):
            own, step = pod["metadata"]["name"], str(dig(pod, "metadata", "annotations", OF_STEP))
            since = {"sinceTime": stamp(seen[own])} if own in seen else {}
            asked = urlencode({"container": MAIN, "timestamps": "true", **since})
            try:
                text = self._running.text(f"/api/v1/namespaces/{namespace}/pods/{own}/log?{asked}")
            except BehindError as error:  # the pods of other nodes can be read all the same
                yield PodLog(own, step, (), str(error))
            else:
                yield PodLog(own, step, _lines(text, ended=dig(pod, "status", "phase") in {"Succeeded", "Failed"}))


def _path(namespace: str, kinds: str, name: str = "") -> str:
    return f"{GROUP}/namespaces/{namespace}/{kinds}" + (f"/{name}" if name else "")


def _lines(text: str, *, ended: bool) -> tuple[str, ...]:
    """Return the whole lines of a log. The rest of one that a container still writes is told with that line."""
    *whole, rest = text.split("\n")  # other ends of lines, such as those of progress bars, stand within one
    return (*whole, rest) if rest and ended else tuple(whole)
