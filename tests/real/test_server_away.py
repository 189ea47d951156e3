"""A sync on a real API server that is killed right after it took an operation, and comes back. Argo CD is played."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from restarting import restarted

from generator.errors import UsageError
from generator.live import apiserver
from generator.live.api import of_started
from generator.live.applications import APPLICATIONS
from generator.live.lease import LASTS, SYNC, held
from generator.live.running import RunningCluster
from generator.live.sync.progress import Patience
from generator.live.sync.syncing import Syncing, Target
from generator.live.sync.wanted import Wanted

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
NEW = "b" * 40
PLACE = ("https://git.example.org/clusters.git", "refs/heads/main", "overlays/x/one")
AWAY = LASTS + 8.0
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(kind: str) -> Object:
    """Return a definition that lets everything be; Argo CD's have no status apart either."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.argoproj.io", "annotations": {"api-approved.kubernetes.io": "unapproved"}},
        "spec": {
            "group": "argoproj.io",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def application(name: str, wave: int) -> Object:
    annotations = {"argocd.argoproj.io/sync-wave": str(wave)}
    source = dict(zip(("repoURL", "targetRevision", "path"), PLACE, strict=True))
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd", "annotations": annotations},
        "spec": {"project": "p", "source": source},
        "status": {"sync": {"status": "OutOfSync", "revision": NEW}, "health": {"status": "Healthy"}},
    }


class ArgoCd(threading.Thread):
    """Does what is asked of it, one look after the other, operations once it is `free` to; counts these by name."""

    def __init__(self, running: RunningCluster) -> None:
        super().__init__(daemon=True)
        self.running, self.began = running, list[str]()
        self.free, self.ended = threading.Event(), threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.3):
            with contextlib.suppress(UsageError):
                for one in self.running.items(APPLICATIONS):
                    self._act(one)

    def _act(self, one: Object) -> None:
        name, operation = one["metadata"]["name"], one.get("operation") if self.free.is_set() else None
        change: Object = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": None}}}
        if operation:
            state = {"phase": "Succeeded", "syncResult": {"revision": NEW}, "operation": operation}
            change |= {"operation": None, "status": {"operationState": state, "sync": {"status": "Synced"}}}
        self.running.merge(f"{APPLICATIONS}/{name}", change)
        self.began += [name] if operation else []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[apiserver.Started]:
    """An API server of its own, as it is killed."""
    from apiserver import programs

    programs("etcd", "kube-apiserver")
    with apiserver.start(tmp_path) as started:
        running = RunningCluster(of_started(started))
        running.create("/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "argocd"}})
        for kind in ("Application", "AppProject"):
            running.create(CRDS, definition(kind))
        for _ in apiserver.tries():
            if running.serves(APPLICATIONS) and running.serves(APPLICATIONS.replace("applications", "appprojects")):
                break
        for name, wave in (("one", 1), ("two", 2)):
            running.create(APPLICATIONS, application(name, wave))
        yield started


def sync(running: RunningCluster, notes: list[str]) -> list[bool]:
    """Sync both Applications, and tell of each whether it is done."""
    waves = {"one": 1, "two": 2}
    wanted = {
        name: Wanted(name=name, wave=wave, tier="t", automated=False, place=PLACE) for name, wave in waves.items()
    }
    goal = Target(commit=NEW, newest=True, wanted=wanted, names=frozenset(waves))
    with held(running, SYNC, print) as lease:
        work = Syncing(
            running,
            goal,
            lease=lease,
            ask=lambda _: "",
            tell=lambda _: None,
            note=notes.append,
            patience=Patience(limit=600.0, pause=0.5),
            by_hand=False,
        )
        return [one.done for one in work.run()]


def test_a_sync_outlives_its_api_server(server: apiserver.Started, tmp_path: Path) -> None:
    notes: list[str] = []
    done: list[bool] = []
    running, watcher = RunningCluster(of_started(server)), RunningCluster(of_started(server))
    argo_cd = ArgoCd(RunningCluster(of_started(server)))
    work = threading.Thread(target=lambda: done.extend(sync(running, notes)))
    work.start()
    argo_cd.start()
    for _ in apiserver.tries():
        if (watcher.get(f"{APPLICATIONS}/one") or {}).get("operation"):
            break
    with restarted(tmp_path, server.port, watcher.ready, AWAY):
        argo_cd.free.set()
        work.join(400.0)
        argo_cd.ended.set()
        argo_cd.join()
        assert watcher.get(SYNC.path) is None
    assert done == [True, True], notes
    assert argo_cd.began == ["one", "two"]
    assert "looking again until it answers, for at most 10 minutes" in notes[0]
    assert "answers again, after" in notes[-1]
    assert float(notes[-1].rpartition("after ")[2].removesuffix(" s")) > LASTS
