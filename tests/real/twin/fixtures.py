"""The twin of `ml50` for a session, and what a test may do to it."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pytest
from reference import ROOT

from generator.live.apiserver import tries
from generator.rehearsal.twin.running import PATIENCE
from twin.kueue import Restartable, kueue
from twin.nodes import Object, nodes
from twin.operators import Operator, operator
from twin.plane import Plane, plane
from twin.rendered import Rendered
from twin.team import Member, eventually
from twin.volcano import volcano

NAMESPACED = {
    "ConfigMap", "Deployment", "PodDisruptionBudget", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount",
}  # fmt: skip
"""Kinds of which charts leave the namespace to whoever installs them."""
OTHERS = {"cilium": "cilium/1.20.0/crds", "rook-ceph": "rook/v1.20.6/crds"}
"""Definitions of what teams have objects of, by the component that does not run here."""
LEFT_OUT = {"APIService", "ServiceMonitor"}
"""Kinds without a part here. An APIService that nobody answers for would make every controller slow."""

FIRST, LATER = ("namespaces", "kueue", "volcano"), ("queues", "tenants")
"""Components before and after Kueue and Volcano run."""


class Twin:
    """A running cluster: its API server, its own nodes and the programs that can be run in another way."""

    def __init__(self, api: Plane, rendered: Rendered, machines: list[Object]) -> None:
        self.api, self.rendered, self.machines = api, rendered, machines
        self.kueue, self.volcano = Restartable(api.real, kueue), Restartable(api.real, volcano)

    @property
    def teams(self) -> list[str]:
        """The namespaces of teams."""
        found = self.api.items("/api/v1/namespaces?labelSelector=gen.internal/team")
        return [one["metadata"]["name"] for one in found]

    def member(self, team: str) -> Member:
        return Member(self.api, team)

    def pool(self, name: str) -> list[str]:
        """Return the names of a pool's nodes."""
        return [
            one["metadata"]["name"] for one in self.machines if one["metadata"]["labels"]["gen.internal/pool"] == name
        ]

    def cordon(self, *names: str) -> None:
        """Take nodes away from schedulers. All others are given back."""
        for one in self.api.items("/api/v1/nodes"):
            name = one["metadata"]["name"]
            if one["spec"].get("unschedulable", False) != (name in names):
                spec = {"spec": {"unschedulable": True}} if name in names else {}
                self.api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} | spec)

    def leave(self, pool: str, count: int) -> list[str]:
        """Cordon all but some nodes of a pool and return those."""
        names = self.pool(pool)
        self.cordon(*names[count:])
        return names[:count]

    @contextlib.contextmanager
    def without(self, policy: str) -> Iterator[None]:
        """Take a policy of teams' namespaces away as long as the block, for a control that it would refuse."""
        path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/{policy}"
        stored = self.api.get(path)
        assert self.api.request("DELETE", path)[0] == 200
        time.sleep(1)  # the API server notices a moment later
        try:
            yield
        finally:
            metadata = {"name": policy}
            self.api.apply({key: stored[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": metadata})
            time.sleep(1)

    def clean(self, *kinds: str) -> None:
        """Take away all that teams run; `kinds` are those of operators, such as `kubeflow.org/v1 tfjobs`."""
        own = ("batch/v1 cronjobs", "batch/v1 jobs", "apps/v1 deployments", "apps/v1 statefulsets")
        for team in self.teams:
            for kind in (*kinds, *own):
                version, plural = kind.split()
                self._delete(f"/apis/{version}/namespaces/{team}/{plural}")
        for team in self.teams:
            self._delete(f"/api/v1/namespaces/{team}/pods")
            self._delete(f"/api/v1/namespaces/{team}/configmaps")  # programs of jobs; the cluster's CA comes again
            self._delete(f"/api/v1/namespaces/{team}/services")
            # The garbage collector would do it, too, but looks for new kinds only every 30 s.
            self._delete(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{team}/workloads")
        for team in self.teams:
            eventually(f"no pods and Workloads of {team}", partial(self._idle, team))
        self.cordon()

    def _delete(self, path: str) -> None:
        status, answer = self.api.request("DELETE", f"{path}?propagationPolicy=Background&gracePeriodSeconds=0")
        assert status == 200, answer

    def _idle(self, team: str) -> bool:
        member = self.member(team)
        return not member.pods() and not member.workloads()

    def install(self, component: str, namespace: str = "") -> None:
        """Apply a rendered component and wait until its kinds are served. Argo CD puts what names no namespace into
        the `namespace` of its Application.
        """
        objects = [one for one in self.rendered.objects(component) if one["kind"] not in LEFT_OUT]
        for one in objects:
            if namespace and one["kind"] in NAMESPACED:
                one["metadata"].setdefault("namespace", namespace)
        self.bring(objects)

    def bring(self, objects: list[Object]) -> None:
        """Apply objects and wait until their kinds are served."""
        first = ("Namespace", "CustomResourceDefinition")
        for one in sorted(objects, key=lambda one: one["kind"] not in first):
            self._apply(one)
        for one in objects:
            if one["kind"] == "CustomResourceDefinition":
                self.api.wait(one["metadata"]["name"], partial(self.api.established, one))

    def _apply(self, manifest: Object) -> None:
        """Apply an object; again while a webhook or a kind is not known yet, as Argo CD does."""
        if manifest["kind"].endswith("WebhookConfiguration"):
            manifest["metadata"].pop("namespace", None)  # Kueue's chart names one; it has no meaning
        error: AssertionError | None = None
        for _ in tries(PATIENCE):
            try:
                return self.api.apply(manifest)
            except AssertionError as raised:
                error = raised
        raise error or AssertionError(manifest)


@contextlib.contextmanager
def twin_of(
    repository: Path,
    cluster: str,
    folder: Path,
    operators: Mapping[str, Operator] = MappingProxyType({}),
    definitions: tuple[str, ...] = (),
    **told: str,
) -> Iterator[Twin]:
    """Run a rendered cluster, with the operators of some components, which are `told` more variables. Their kinds are
    there before Kueue starts: it looks for those that come later ever more seldom, every two minutes at last. So are
    `definitions` of more kinds: a quota that counts what is defined after it lets none in for minutes.
    """
    last = ("training-runtimes",) if "trainer" in operators else ()
    charted = [name for name, one in operators.items() if not one.made]
    rendered = Rendered(repository, cluster, folder / "rendered", (*FIRST, *charted, *LATER, *last))
    machines = nodes(repository, cluster)
    with contextlib.ExitStack() as stack:
        stack.callback(rendered.stop)
        api = stack.enter_context(plane(folder))
        for one in machines:
            assert api.create(one, dry=False) == (201, "")
        made = Twin(api, rendered, machines)
        api.install(*definitions)
        for component, folder_of in OTHERS.items():
            if (repository / "overlays" / cluster / component).exists():
                api.install(folder_of)
        for component in FIRST:
            made.install(component)
        for component, each in operators.items():
            if each.made:
                made.bring([*each.made(repository / "overlays" / cluster / component)])
            else:
                made.install(component, each.namespace)
        for program in (made.kueue, made.volcano):
            stack.callback(program.stop)
            program.start()
        for each in operators.values():
            stack.enter_context(operator(api.real, each, **told))
        for component in (*LATER, *last):
            made.install(component)
        api.wait("nodes are ready", lambda: all(map(_ready, api.items("/api/v1/nodes"))))
        api.wait("queues are active", lambda: not inactive(api))
        yield made


def _ready(node: Object) -> bool:
    conditions = {one["type"]: one["status"] for one in node["status"].get("conditions", [])}
    tainted = any(taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints", []))
    return conditions.get("Ready") == "True" and not tainted


def inactive(api: Plane) -> list[str]:
    """Return the queues that Kueue does not serve, with its words."""
    kinds = ("clusterqueues", "localqueues")
    found = [one for kind in kinds for one in api.items(f"/apis/kueue.x-k8s.io/v1beta2/{kind}")]
    return [f"{one['metadata']['name']}: {one.get('status')}" for one in found if not _active(one)]


def _active(queue: Object) -> bool:
    conditions = queue.get("status", {}).get("conditions") or []
    return any(one["type"] == "Active" and one["status"] == "True" for one in conditions)


@contextlib.contextmanager
def reference(cluster: str) -> Iterator[Twin]:
    """Run a reference cluster. Its folder has a short name: sockets lie in it, whose paths may have 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="twin-") as folder, twin_of(ROOT, cluster, Path(folder)) as made:
        yield made


@pytest.fixture(scope="session")
def shared_twin() -> Iterator[Twin]:
    """The twin of `ml50`."""
    with reference("ml50") as made:
        yield made


@pytest.fixture
def twin(shared_twin: Twin) -> Iterator[Twin]:
    """The twin of `ml50` with nothing running on it, and cleaned afterwards."""
    yield shared_twin
    shared_twin.clean()


@pytest.fixture
def member(twin: Twin) -> Callable[[str], Member]:
    """Give a member of a team by the team's name."""
    return twin.member
