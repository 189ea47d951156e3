"""A twin as a whole: the control plane with a cluster's nodes, and the programs that run for real."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from generator.components.component import Manifest
from generator.rehearsal.twin import kueue, volcano
from generator.rehearsal.twin.plane import Plane, plane, services
from generator.rehearsal.twin.running import program

Starter = Callable[[Plane], contextlib.AbstractContextManager[None]]
_KUEUE, _VOLCANO = f"/api/v1/namespaces/{kueue.NAMESPACE}", f"/api/v1/namespaces/{volcano.NAMESPACE}"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments/{}"
REAL: dict[str, tuple[Starter, tuple[str, ...]]] = {
    "kueue": (
        kueue.kueue,
        (
            _DEPLOYMENTS.format(kueue.NAMESPACE, kueue.DEPLOYMENT),
            f"{_KUEUE}/services/{kueue.SERVICE}",
            f"{_KUEUE}/configmaps/{kueue.CONFIG}",
            f"{_KUEUE}/serviceaccounts/{kueue.DEPLOYMENT}",
            f"{_KUEUE}/secrets/{kueue.CERTIFICATES}",
        ),
    ),
    "volcano": (
        volcano.volcano,
        (
            _DEPLOYMENTS.format(volcano.NAMESPACE, "volcano-scheduler"),
            _DEPLOYMENTS.format(volcano.NAMESPACE, "volcano-controllers"),
            f"{_VOLCANO}/configmaps/volcano-scheduler-configmap",
            f"{_VOLCANO}/serviceaccounts/volcano-scheduler",
            f"{_VOLCANO}/serviceaccounts/volcano-controllers",
        ),
    ),
}
"""Programs that run, by component: how they are started, and what kubelet would need for it: its workloads first."""


PROGRAMS = (
    *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"),
    *("kueue", "vc-scheduler", "vc-controller-manager"),
)


def require(more: Sequence[str] = ()) -> None:
    """Raise UsageError for the first program that is missing, and for want of the right to be a Service. `more` are
    programs beside those of every twin.
    """
    for name in (*PROGRAMS, *more):
        program(name)
    with services():
        pass


class Twin:
    """A running twin."""

    def __init__(self, api: Plane) -> None:
        self.plane, self.cluster = api, api.cluster
        self._stacks: dict[str, contextlib.ExitStack] = {}
        self._others = contextlib.ExitStack()
        self._templates: dict[str, object] = {}

    def start(self, component: str) -> None:
        """Start a component's programs, or start them anew where the templates of their pods are others now; not before
        all that kubelet needs for it is there. Raises UsageError.
        """
        starter, needed = REAL[component]
        found = [self.plane.get(path) for path in needed]
        templates = [one["spec"]["template"] for one in found if one.get("kind") == "Deployment"]
        if not all(found) or self._templates.get(component) == templates:
            return
        self.stop(component)
        self._templates[component] = templates
        self._stacks[component] = contextlib.ExitStack()
        self._stacks[component].enter_context(starter(self.plane))

    def stop(self, component: str) -> None:
        """End a component's programs, if they run."""
        if stack := self._stacks.pop(component, None):
            stack.close()
            del self._templates[component]

    def start_all(self) -> None:
        """Start the programs of all components that are there. Raises UsageError."""
        for component in REAL:
            self.start(component)

    @property
    def started(self) -> set[str]:
        """The components whose programs run."""
        return set(self._stacks)

    def also(self, program: contextlib.AbstractContextManager[object]) -> None:
        """Have something else run, until all programs end."""
        self._others.enter_context(program)

    def stop_all(self) -> None:
        """End all programs but the control plane."""
        self._others.close()
        for component in [*self._stacks]:
            self.stop(component)


@contextlib.contextmanager
def twin(folder: Path, machines: list[Manifest], services: int = 0) -> Iterator[Twin]:
    """Run a control plane with some nodes, or one from a snapshot that has them, with the addresses of its `services`.
    Raises UsageError.
    """
    with plane(folder, services) as api, contextlib.ExitStack() as stack:
        for one in machines:
            api.cluster.create("/api/v1/nodes", one)
        made = Twin(api)
        stack.callback(made.stop_all)
        yield made
