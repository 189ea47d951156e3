"""A cluster whose Secrets are rotated: those of ml50, and who stands in for Argo CD and what it runs."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from generator.components import compose
from generator.components.component import Secret
from generator.day2.rotation.family import family
from generator.day2.rotation.rotating import Rotating, as_begun
from generator.day2.rotation.syncs import Waiting
from generator.live.applications import APPLICATIONS
from generator.live.bootstrap.secret_values import Values
from generator.live.identity import record
from generator.live.running import RunningCluster
from generator.live.secret_objects import collection, encoded, path, values_of
from generator.model.cluster import Cluster

Manifest = dict[str, Any]
USER = "minio/minio-user-backup-writer"
COMMIT = "c" * 40
JOBS = "/apis/batch/v1/namespaces/{}/jobs"


class KilledError(BaseException):
    """The program was killed here."""


class Site:
    """The cluster, as Argo CD brings it and an administrator meets it. `hooks` are what the Job of an Application does,
    by its name; each returns whether it succeeded. `subresource` is where the server has statuses of its own kinds.
    """

    def __init__(self, running: RunningCluster, cluster: Cluster) -> None:
        self.running, self.cluster = running, cluster
        self.hooks: dict[str, Callable[[], bool]] = {}
        self.subresource = ""
        self.patience = 60.0
        self.declared = [secret for component in compose(cluster) for secret in component.secrets]

    def declare(self, name: str) -> list[Secret]:
        """Return a Secret and its copies."""
        return [one for one in self.declared if name in {one.full_name, one.copy_of}]

    def make(self, *names: str) -> None:
        """Make Secrets with their copies, as a bootstrap does."""
        for name in names:
            values = Values(None, {}, None)
            for one in self.declare(name):
                data = {key: values.made(one, key) for key in one.keys if key not in one.computed}
                data |= {key: c.value(*(values.made(one, of) for of in c.of)) for key, c in one.computed.items()}
                metadata = {"name": one.name, "namespace": one.namespace}
                manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded(data)}
                assert self.running.create(collection(one), manifest)

    def values(self, name: str) -> dict[str, str]:
        """Return what a Secret holds now."""
        (one,) = (one for one in self.declared if one.full_name == name)
        return {key: value.decode() for key, value in values_of(self.running.get(path(one)) or {}).items()}

    def annotations(self, name: str) -> dict[str, str]:
        (one,) = (one for one in self.declared if one.full_name == name)
        found = (self.running.get(path(one)) or {}).get("metadata", {}).get("annotations", {})
        return {key.partition("/")[2]: value for key, value in found.items()}

    def rotating(
        self,
        name: str,
        *,
        killed_at: int | None = None,
        killed_by: str = "",
        stolen: bool = False,
        values: Values | None = None,
    ) -> tuple[Rotating, list[str]]:
        """Return a rotation and what it said. It is killed when it is about to say or to confirm something the
        `killed_at`th time, or once it waits for what has `killed_by` in its words.
        """
        said: list[str] = []
        count = iter(range(1_000_000))

        def step(*words: str) -> None:
            if next(count) == killed_at:
                raise KilledError
            said.append(" ".join(words).strip())

        def waits(what: str) -> None:
            said.append(what)
            if killed_by and killed_by in what:
                raise KilledError

        work = Rotating(
            running=self.running,
            family=as_begun(self.running, family(self.declared, name, stolen=stolen)),
            values=values or Values(None, {}, None),
            waiting=Waiting(ends=time.monotonic() + self.patience, tell=waits, confirm=lambda: step("confirm")),
            tell=step,
        )
        return work, said

    @contextlib.contextmanager
    def synced(self, *names: str) -> Iterator[None]:
        """Have Applications, and somebody who syncs them, as long as the block."""
        for name in names:
            self.running.create(APPLICATIONS, application(name))
        ended = threading.Event()
        thread = threading.Thread(target=self._play, args=(names, ended))
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _play(self, names: tuple[str, ...], ended: threading.Event) -> None:
        while not ended.wait(0.05):
            for name in names:
                there = self.running.get(f"{APPLICATIONS}/{name}") or {}
                if there.get("operation"):
                    self._sync(name, there["operation"])

    def _sync(self, name: str, operation: Manifest) -> None:
        well = self.hooks.get(name, lambda: True)()
        for job in JOBS_OF[name]:
            self._job(name, job, well=well)
        phase = "Succeeded" if well else "Failed"
        state = {
            "operation": operation,
            "phase": phase,
            "message": "" if well else "one or more hooks failed",
            "startedAt": "2026-01-01T00:00:00Z",
            "syncResult": {"revision": operation["sync"]["revision"]},
        }
        self.running.merge(f"{APPLICATIONS}/{name}", {"operation": None, "status": {"operationState": state}})

    def _job(self, space: str, name: str, *, well: bool) -> None:
        place = JOBS.format(space)
        self.running.delete(f"{place}/{name}?propagationPolicy=Background")
        container = {"name": "x", "image": "example.org/x:1"}
        template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
        metadata = {"name": name, "namespace": space}
        assert self.running.create(
            place, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}
        )
        self.running.merge(f"{place}/{name}{self.subresource}", {"status": {"succeeded" if well else "failed": 1}})


JOBS_OF = {"minio": ("minio-setup",), "zabbix": ("zabbix-password", "zabbix-configure")}


def application(name: str) -> Manifest:
    """Return an Application that is as in Git."""
    source = {"repoURL": "https://example.org/x.git", "path": f"overlays/ml50/{name}", "targetRevision": "main"}
    destination = {"server": "https://kubernetes.default.svc", "namespace": name}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {"project": "storage", "source": source, "destination": destination},
        "status": {
            "sync": {"status": "Synced", "revision": COMMIT},
            "health": {"status": "Healthy"},
            "history": [{"id": 0, "revision": COMMIT, "deployedAt": "2026-01-01T00:00:00Z"}],
        },
    }


def begin(running: RunningCluster, cluster: Cluster, *namespaces: str) -> Site:
    """Return the site in a cluster that a bootstrap has been at."""
    for name in ("argocd", *namespaces):
        running.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    running.create("/api/v1/namespaces/kube-system/configmaps", record(cluster))
    return Site(running, cluster)
