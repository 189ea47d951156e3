"""Applications as Argo CD 3.5 writes them, for tests of what is made of that."""

from typing import Any

from generator.build.objects import ROOT, Built, Object
from generator.live.applications import Application, application

Manifest = dict[str, Any]
NEW, OLD = "b" * 40, "a" * 40
URL = "https://git.ml50.example.org/platform/clusters.git"


def state(name: str, revision: str = NEW, *results: Manifest, wave: int = 1, **more: Any) -> Application:
    """Return an Application after a sync to a revision; `more` says what is otherwise."""
    operation = {
        "phase": more.get("phase", "Succeeded"),
        "message": more.get("said", ""),
        "retryCount": more.get("retries", 0),
        "operation": {"sync": {"revision": more.get("asked", revision)}},
        "syncResult": {"revision": revision, "resources": [*results]},
    }
    status = {
        "sync": {"status": more.get("sync", "Synced"), "revision": more.get("seen", revision)},
        "health": {"status": more.get("health", "Healthy")},
        "operationState": operation,
        "resources": more.get("resources", []),
        "conditions": [{"type": kind, "message": message} for kind, message in more.get("conditions", ())],
    }
    refreshing = {"argocd.argoproj.io/refresh": "normal"} if more.get("refreshing") else {}
    metadata = {"name": name, "annotations": {"argocd.argoproj.io/sync-wave": str(wave)} | refreshing}
    return application({"metadata": metadata, "spec": {}, "status": status})


def result(kind: str, name: str, status: str = "Synced", message: str = "", namespace: str = "ours") -> Manifest:
    """Return what a sync did to an object."""
    found = {"group": "apps", "kind": kind, "name": name, "namespace": namespace, "status": status, "message": message}
    return found | {"version": "v1"}


def thing(name: str, component: str = "one", **spec: Any) -> Object:
    """Return a Deployment of a component."""
    metadata = {"name": name, "namespace": "ours"}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    return Object(manifest, component, f"{component}.yaml")


def entry(name: str, path: str = "", url: str = URL) -> Object:
    """Return an Application as it is rendered, with more than is published of it."""
    source = {"repoURL": url, "targetRevision": "refs/heads/main", "path": path or f"overlays/ml50/{name}"}
    spec = {"project": "platform", "source": source | {"kustomize": {"namePrefix": "x"}}, "syncPolicy": {"retry": 1}}
    manifest = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": name}, "spec": spec}
    return Object(manifest, ROOT, f"{name}.yaml")


def built(*objects: Object) -> Built:
    """Return what is built."""
    return Built(name="ml50", cluster=None, objects=objects)
