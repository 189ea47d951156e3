"""What a test sees of a running Argo CD, and does to it."""

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from twin.plane import Plane

from argocd.repository import Repository
from generator.components.argo_cd import NAMESPACE
from generator.live.apiserver import tries
from generator.rehearsal.twin.running import last_words

Object = dict[str, Any]
APPLICATIONS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/applications"
PATIENCE = 300.0
"""Seconds for what takes some ten on an idle machine."""


class Argo:
    """A running Argo CD and the repository that it follows."""

    def __init__(self, api: Plane, repository: Repository) -> None:
        self.api, self.repository = api, repository

    def applications(self) -> dict[str, Object]:
        """Return all Applications by name."""
        return {one["metadata"]["name"]: one for one in self.api.items(APPLICATIONS)}

    def application(self, name: str) -> Object:
        """Return an Application; an empty one where there is none."""
        found: Object = self.api.get(f"{APPLICATIONS}/{name}")
        return found or {"metadata": {"name": name}, "spec": {}}

    def merge(self, path: str, change: Object) -> None:
        """Change an object as `kubectl patch --type merge` does."""
        status, answer = self.api.request("PATCH", path, change, patch="merge-patch+json")
        assert status == 200, answer

    def annotate(self, name: str, **annotations: str) -> None:
        """Annotate an Application, with keys of Argo CD's own."""
        keyed = {f"argocd.argoproj.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
        self.merge(f"{APPLICATIONS}/{name}", {"metadata": {"annotations": keyed}})

    def refresh(self, *names: str, hard: bool = False) -> None:
        """Let Argo CD compare Applications anew, and wait until it has."""
        for name in names:
            self.annotate(name, refresh="hard" if hard else "normal")
        for name in names:
            self.until(f"{name} is refreshed", partial(self._refreshed, name))

    def push(self) -> str:
        """Render, publish, and tell Argo CD of it, as a webhook would; return the commit."""
        self.repository.render()
        revision = self.repository.publish()
        for name in self.applications():
            self.annotate(name, refresh="normal")
        return revision

    def corner(self, folder: Path, name: str, manifest: Object) -> contextlib.AbstractContextManager[None]:
        """Have an object of a person's own in a folder `custom` as long as the block, once it is pushed."""
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(manifest))
        return edited(folder / "kustomization.yaml", "resources", f"{name}.yaml")

    def beside(self, component: str, manifest: Object) -> contextlib.AbstractContextManager[None]:
        """Have an object of a person's own in a component."""
        return self.corner(self.repository.overlay(component) / "custom", "extra", manifest)

    def patched(self, kind: str, name: str, operation: Object) -> contextlib.AbstractContextManager[None]:
        """Have an Application or project changed."""
        patch = {"target": {"kind": kind, "name": name}, "patch": yaml.safe_dump([operation])}
        return edited(self.repository.applications / "custom" / "kustomization.yaml", "patches", patch)

    def touched(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Have an Application changed in a way that means nothing, so that root's next sync has it in its wave."""
        return self.patched("Application", name, {"op": "add", "path": "/metadata/labels/touched", "value": "yes"})

    def until(self, what: str, check: Callable[[], object], patience: float = PATIENCE) -> None:
        """Wait until something holds; the test fails with the state of all Applications."""
        if not any(check() for _ in _slowly(patience)):
            pytest.fail(f"{what}: not within {patience:g} s\n{self.told()}")

    def settled(self, *names: str, revision: str = "") -> None:
        """Wait until Applications are applied, those of a revision where one is named."""
        for name in names:
            what = f"{name} is synced at {revision or 'any revision'}"
            self.until(what, partial(self._settled, name, revision))

    def _refreshed(self, name: str) -> bool:
        return "argocd.argoproj.io/refresh" not in self.application(name)["metadata"].get("annotations", {})

    def _settled(self, name: str, revision: str) -> bool:
        return synced(self.application(name), revision)

    def told(self) -> str:
        """Return the state of all Applications in words, and the last ones of the controller."""
        lines = [f"{name}: {described(one)}" for name, one in self.applications().items()]
        return "\n".join([*lines, last_words(self.api.address.folder / "application-controller", 12)])


@contextlib.contextmanager
def edited(file: Path, key: str, *items: object) -> Iterator[None]:
    """Have a kustomization's list longer as long as the block."""
    before = file.read_text()
    content = yaml.load(before, yaml.CSafeLoader)
    content[key] = [*content.get(key, []), *items]
    file.write_text(yaml.safe_dump(content))
    try:
        yield
    finally:
        file.write_text(before)


def _slowly(patience: float) -> Any:
    for _ in tries(patience):
        yield
        time.sleep(0.3)


def phase(application: Object) -> tuple[str, str]:
    """Return how an Application's last sync stands, and what is said of it."""
    state = application.get("status", {}).get("operationState", {})
    return state.get("phase", ""), state.get("message", "")


def retries(application: Object) -> int:
    """Return how often an Application's sync was tried again."""
    return int(application.get("status", {}).get("operationState", {}).get("retryCount", 0))


def sync(application: Object) -> str:
    """Return whether an Application is as Git has it."""
    return str(application.get("status", {}).get("sync", {}).get("status", ""))


def health(application: Object) -> str:
    """Return an Application's own health."""
    return str(application.get("status", {}).get("health", {}).get("status", ""))


def synced(application: Object, revision: str = "") -> bool:
    """Tell whether all is applied, and nothing is under way; what holds nothing never has a sync."""
    seen = application.get("status", {}).get("sync", {}).get("revision", "")
    return sync(application) == "Synced" and phase(application)[0] in {"", "Succeeded"} and revision in {"", seen}


def wave(application: Object) -> int:
    """Return the wave that an Application is in."""
    return int(application["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"])


def resource(application: Object, kind: str, name: str) -> Object:
    """Return what Argo CD says of one object of an Application, nothing where it does not know it."""
    for one in application.get("status", {}).get("resources", []):
        if (one["kind"], one["name"]) == (kind, name):
            return dict(one)
    return {}


def described(application: Object) -> str:
    """Return all that explains an Application's state."""
    wrong = [
        f"{one['kind']} {one['name']} {one.get('status', '')} {one.get('health', {})}"
        for one in application.get("status", {}).get("resources", [])
        if one.get("status") != "Synced" or one.get("health", {}).get("status", "Healthy") != "Healthy"
    ]
    said = [one["message"] for one in application.get("status", {}).get("conditions", [])]
    return f"{sync(application)} {health(application)} {phase(application)} {wrong[:8]} {said}"[:1500]
