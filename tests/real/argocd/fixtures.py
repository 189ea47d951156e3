"""A small cluster that Argo CD has installed, for a session."""

import contextlib
import re
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from twin.kueue import kueue
from twin.nodes import nodes
from twin.plane import Plane, plane
from twin.rendered import Build

from argocd.argo import PATIENCE, Argo, health, sync, synced, wave
from argocd.gitserver import serving
from argocd.kinds import definitions, wanted
from argocd.programs import argo_cd
from argocd.repository import Repository
from generator.components.argo_cd import NAMESPACE
from generator.components.argo_cd.settings import application_health
from generator.rehearsal.argocd.programs import Measured

Object = dict[str, Any]
SMALL = Path(__file__).parent / "cluster.yaml"
CLUSTER_WIDE = {"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}
KUEUE = "/api/v1/namespaces/kueue-system"
STARTS_FROM = (
    f"{KUEUE}/services/kueue-webhook-service",
    f"{KUEUE}/configmaps/kueue-manager-config",
    f"{KUEUE}/serviceaccounts/kueue-controller-manager",
    f"{KUEUE}/secrets/kueue-webhook-server-cert",
    "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager",
)
"""What kubelet would need to start Kueue."""


class Installation:
    """A cluster whose root Application was just applied, and what was seen since."""

    def __init__(self, argo: Argo, stack: contextlib.ExitStack, measured: Measured) -> None:
        self.argo, self.stack, self.measured = argo, stack, measured
        self.waves: dict[str, int] = {}
        self.too_early: list[str] = []
        self.kueue = False

    @property
    def expected(self) -> set[str]:
        """The names of the Applications that root is to make."""
        files = self.argo.repository.applications.glob("application-*.yaml")
        return {file.stem.removeprefix("application-") for file in files}

    def finish(self) -> None:
        """Wait until all Applications are there and applied, and healthy where another one waits for them."""
        everybody = self.expected | {"root"}

        def done() -> bool:
            found = self.look()
            return everybody == {name for name, one in found.items() if synced(one) and fine(one)}

        self.argo.until(f"{sorted(everybody)} are synced", done, 3 * PATIENCE)

    def look(self) -> dict[str, Object]:
        """Take down who comes before those are well that it waits for; return all who are there."""
        found = self.argo.applications()
        for name in found.keys() - self.waves.keys() - {"root"}:
            self.waves[name] = wave(found[name])
            self.too_early += [f"{name} before {other}" for other in self.unwell(found, self.waves[name])]
        if not self.kueue and all(map(self.argo.api.get, STARTS_FROM)):
            self.kueue = True
            self.stack.enter_context(kueue(self.argo.api.real))
        return found

    @staticmethod
    def unwell(found: dict[str, Object], before: int) -> list[str]:
        """Name the Applications of earlier waves that another one needs and that are not well."""
        earlier = {name: one for name, one in found.items() if name != "root" and wave(one) < before and gates(one)}
        return [name for name, one in earlier.items() if (sync(one), health(one)) != ("Synced", "Healthy")]


def gates(application: Object) -> bool:
    """Tell whether later waves wait for an Application."""
    return "argocd.argoproj.io/ignore-healthcheck" not in application["metadata"]["annotations"]


def fine(application: Object) -> bool:
    """Tell whether an Application is healthy, or nothing waits for it."""
    return health(application) == "Healthy" or not gates(application)


def bootstrap(api: Plane, repository: Repository) -> None:
    """Apply what the bootstrap README says, up to Argo CD. CRDs of others come before their time: while it runs, Argo
    CD reads all kinds anew for each of them, some minutes long.
    """
    overlays = repository.published / "overlays" / repository.cluster
    builds = [(name, Build(overlays / name)) for name in ("namespaces", "argo-cd", "kueue", "volcano")]
    for name, build in builds:
        for one in build.objects():
            if name in {"namespaces", "argo-cd"} or one["kind"] == "CustomResourceDefinition":
                apply(api, one)


def begin(api: Plane, repository: Repository) -> None:
    """Apply root's project and root."""
    folder = repository.published / "clusters" / repository.cluster
    for file in ("argocd/appproject-root.yaml", "bootstrap/application-root.yaml"):
        apply(api, yaml.load((folder / file).read_bytes(), yaml.CSafeLoader))


def apply(api: Plane, manifest: Object) -> None:
    """Apply an object as `kubectl apply --server-side --force-conflicts -n argocd` would, under Argo CD's own name."""
    if manifest["kind"] not in CLUSTER_WIDE:
        manifest["metadata"].setdefault("namespace", NAMESPACE)
    path = f"{api.path(manifest, named=True)}?fieldManager=argocd-controller&force=true"
    status, answer = api.request("PATCH", path, manifest)
    assert status in {200, 201}, answer
    if manifest["kind"] == "CustomResourceDefinition" and manifest["spec"]["group"] == "argoproj.io":
        api.wait(manifest["metadata"]["name"], partial(api.established, manifest))


def prepared(repository: Repository, impatience: dict[str, int]) -> None:
    """Render, leave out what nobody serves here, and be less patient than on a real cluster."""
    repository.render()
    nobody_answers = {"target": {"kind": "APIService"}, "patch": yaml.safe_dump({"$patch": "delete", **ANY_API})}
    patch(repository.overlay("kueue"), nobody_answers)
    health = application_health()
    for name, seconds in impatience.items():
        health, count = re.subn(rf"^local {name} = [\d *]+", f"local {name} = {seconds} ", health, flags=re.MULTILINE)
        assert count == 1, name
    replaced = [{"op": "replace", "path": f"/data/{HEALTH}", "value": health}]
    patch(repository.overlay("argo-cd"), {"target": {"name": "argocd-cm"}, "patch": yaml.safe_dump(replaced)})
    backoff = {"duration": "2s", "factor": 1, "maxDuration": "2s"}
    often = [{"op": "replace", "path": "/spec/syncPolicy/retry/backoff", "value": backoff}]
    patch(repository.applications, {"target": {"kind": "Application"}, "patch": yaml.safe_dump(often)})
    repository.publish()


def patch(folder: Path, added: Object) -> None:
    """Add a patch to a user's corner."""
    file = folder / "custom" / "kustomization.yaml"
    content = yaml.load(file.read_bytes(), yaml.CSafeLoader)
    file.write_text(yaml.safe_dump(content | {"patches": [*content.get("patches", []), added]}))


HEALTH = "resource.customizations.health.argoproj.io_Application"
ANY_API = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "any"}}


@contextlib.contextmanager
def installing(cluster: str, text: str, **impatience: int) -> Iterator[Installation]:
    """Let Argo CD install a cluster from nothing; begins when root is applied. `impatience` are other figures for the
    health of Applications.
    """
    with tempfile.TemporaryDirectory(prefix="argo-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        port = stack.enter_context(serving(folder / "git"))
        repository = Repository(folder, cluster, text, port)
        prepared(repository, impatience)
        api = stack.enter_context(plane(folder))
        for one in nodes(repository.tree, cluster):
            assert api.create(one, dry=False) == (201, "")
        bootstrap(api, repository)
        for one in definitions(wanted(repository.written)):
            if api.get(api.path(one, named=True)) is None:
                api.apply(one)
        measured = stack.enter_context(argo_cd(api))
        begin(api, repository)
        yield Installation(Argo(api, repository), stack, measured)


@pytest.fixture(scope="session")
def small() -> Iterator[Installation]:
    """The small cluster, all of it installed. What a test changes it takes back."""
    with installing("small", SMALL.read_text(), UNREADABLE=20) as installation:
        installation.finish()
        yield installation


@pytest.fixture
def argo(small: Installation) -> Argo:
    """Argo CD of the small cluster."""
    return small.argo
