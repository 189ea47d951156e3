"""A small cluster that Argo CD has installed, for a session."""

import contextlib
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

from argocd.argo import PATIENCE, Argo, health, phase, sync, wave
from argocd.gitserver import serving
from argocd.programs import NAMESPACE, argo_cd
from argocd.repository import Repository
from generator.components.argo_cd.settings import application_health

Object = dict[str, Any]
SMALL = Path(__file__).parent / "cluster.yaml"
FOREIGN = ("cert-manager/v1.21.1/crds",)
"""Kinds that somebody else installs on the small cluster."""

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

    def __init__(self, argo: Argo, stack: contextlib.ExitStack) -> None:
        self.argo, self.stack = argo, stack
        self.waves: dict[str, int] = {}
        self.too_early: list[str] = []
        self.kueue = False

    def finish(self) -> None:
        """Wait until all Applications that are expected are there and applied."""
        files = self.argo.repository.applications.glob("application-*.yaml")
        wanted = {file.stem.removeprefix("application-") for file in files} | {"root"}
        self.argo.until(f"{sorted(wanted)} are synced", lambda: self.look() == wanted, 2 * PATIENCE)

    def look(self) -> set[str]:
        """Take down who comes before those are well that it waits for; return who is synced."""
        found = self.argo.applications()
        for name in found.keys() - self.waves.keys() - {"root"}:
            self.waves[name] = wave(found[name])
            self.too_early += [f"{name} before {other}" for other in self.unwell(found, self.waves[name])]
        if not self.kueue and all(map(self.argo.api.get, STARTS_FROM)):
            self.kueue = True
            self.stack.enter_context(kueue(self.argo.api))
        return {name for name, one in found.items() if sync(one) == "Synced" and phase(one)[0] == "Succeeded"}

    @staticmethod
    def unwell(found: dict[str, Object], before: int) -> list[str]:
        """Name the Applications of earlier waves that another one needs and that are not well."""
        earlier = {name: one for name, one in found.items() if name != "root" and wave(one) < before and gates(one)}
        return [name for name, one in earlier.items() if (sync(one), health(one)) != ("Synced", "Healthy")]


def gates(application: Object) -> bool:
    """Tell whether later waves wait for an Application."""
    return "argocd.argoproj.io/ignore-healthcheck" not in application["metadata"]["annotations"]


def bootstrap(api: Plane, repository: Repository) -> None:
    """Apply what the bootstrap README says, up to Argo CD."""
    for component in ("namespaces", "argo-cd"):
        for one in Build(repository.published / "overlays" / repository.cluster / component).objects():
            apply(api, one)


def begin(api: Plane, repository: Repository) -> None:
    """Apply root's project and root."""
    folder = repository.published / "clusters" / repository.cluster
    for file in ("argocd/appproject-root.yaml", "bootstrap/application-root.yaml"):
        apply(api, yaml.safe_load((folder / file).read_bytes()))


def apply(api: Plane, manifest: Object) -> None:
    """Apply an object as `kubectl apply --server-side --force-conflicts -n argocd` would, under Argo CD's own name."""
    if manifest["kind"] not in CLUSTER_WIDE:
        manifest["metadata"].setdefault("namespace", NAMESPACE)
    path = f"{api.path(manifest, named=True)}?fieldManager=argocd-controller&force=true"
    status, answer = api.request("PATCH", path, manifest)
    assert status in {200, 201}, answer
    if manifest["kind"] == "CustomResourceDefinition":
        api.wait(manifest["metadata"]["name"], partial(api.established, manifest))


def prepared(repository: Repository) -> None:
    """Render, leave out what nobody serves here, and be less patient than on a real cluster."""
    repository.render()
    nobody_answers = {"target": {"kind": "APIService"}, "patch": yaml.safe_dump({"$patch": "delete", **ANY_API})}
    patch(repository.overlay("kueue"), nobody_answers)
    health = application_health().replace("30 * 60", "60").replace("5 * 60", "10")
    replaced = [{"op": "replace", "path": f"/data/{HEALTH}", "value": health}]
    patch(repository.overlay("argo-cd"), {"target": {"name": "argocd-cm"}, "patch": yaml.safe_dump(replaced)})
    backoff = {"duration": "2s", "factor": 1, "maxDuration": "2s"}
    often = [{"op": "replace", "path": "/spec/syncPolicy/retry/backoff", "value": backoff}]
    patch(repository.applications, {"target": {"kind": "Application"}, "patch": yaml.safe_dump(often)})
    repository.publish()


def patch(folder: Path, added: Object) -> None:
    """Add a patch to a user's corner."""
    file = folder / "custom" / "kustomization.yaml"
    content = yaml.safe_load(file.read_bytes())
    file.write_text(yaml.safe_dump(content | {"patches": [*content.get("patches", []), added]}))


HEALTH = "resource.customizations.health.argoproj.io_Application"
ANY_API = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "any"}}


@contextlib.contextmanager
def installing(cluster: str, text: str, *foreign: str) -> Iterator[Installation]:
    """Let Argo CD install a cluster from nothing; begins when root is applied."""
    with tempfile.TemporaryDirectory(prefix="argo-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        port = stack.enter_context(serving(folder / "git"))
        repository = Repository(folder, cluster, text, port)
        prepared(repository)
        api = stack.enter_context(plane(folder))
        api.install(*foreign)
        for one in nodes(repository.tree, cluster):
            assert api.create(one, dry=False) == (201, "")
        bootstrap(api, repository)
        stack.enter_context(argo_cd(api))
        begin(api, repository)
        yield Installation(Argo(api, repository), stack)


@pytest.fixture(scope="session")
def small() -> Iterator[Installation]:
    """The small cluster, all of it installed. What a test changes it takes back."""
    with installing("small", SMALL.read_text(), *FOREIGN) as installation:
        installation.finish()
        yield installation


@pytest.fixture
def argo(small: Installation) -> Argo:
    """Argo CD of the small cluster."""
    return small.argo
