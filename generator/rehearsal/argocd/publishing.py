"""The repository that Argo CD syncs a twin from: what is built, as plain folders, behind Git's own server.

Argo CD finds objects there and builds nothing: neither Kustomize nor a chart from the network is needed, and what it
applies is what `gen diff` speaks of. Everything else of an Application is as it was rendered.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generator.build.kinds import Kinds
from generator.build.objects import ROOT, Built, Object
from generator.components.component import Manifest
from generator.model.cluster import Cluster
from generator.model.fields import dig, sequence
from generator.process import run
from generator.rehearsal.applying import unplayed
from generator.rehearsal.twin.running import listens, running

HOST = "127.{services}.0.2"
"""Where the repository is served: an address of the range that only this twin has, and that the next one from its
snapshot has again, as the Applications in it name it.
"""
PORT = 9418
BRANCH = "main"
ELSEWHERE = "it takes its objects from another repository"
_WHO = {"NAME": "gen", "EMAIL": "gen@twin.invalid", "DATE": "2026-01-01T00:00:00Z"}
"""Always the same, so that the same content is the same commit: a snapshot holds its name."""


class Published:
    """A repository in an empty folder, for an Argo CD of a twin whose Services have addresses of 127.`services`."""

    def __init__(self, folder: Path, services: int) -> None:
        self.host = HOST.format(services=services)
        self.url = f"git://{self.host}/clusters.git"
        self.served, self._tree, self._folder = folder / "served", folder / "tree", folder
        self.served.mkdir(mode=0o700, parents=True)
        self._git("init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(self.served / "clusters.git"))

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Serve it as long as the block. Raises UsageError."""
        words = ["git", "daemon", "--export-all", "--reuseaddr", f"--base-path={self.served}"]
        listening = [f"--listen={self.host}", f"--port={PORT}", str(self.served)]
        with running(self._folder / "daemon", [*words, *listening], lambda: listens(PORT, self.host)):
            yield

    def publish(self, built: Built, cluster: Cluster) -> str:
        """Publish what is built, and nothing else; return the commit."""
        shutil.rmtree(self._tree, ignore_errors=True)
        for place, manifests in contents(built, cluster, self.url).items():
            (self._tree / place).mkdir(parents=True)
            items = {"apiVersion": "v1", "kind": "List", "items": manifests}
            (self._tree / place / "objects.json").write_text(json.dumps(items, indent=1))
        self._git("add", "--all", "--force")
        self._git("commit", "--quiet", "--allow-empty", "--no-verify", "--message=what is built")
        return self._git("rev-parse", "HEAD")

    def _git(self, *words: str) -> str:
        env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _WHO.items()}
        where = {"GIT_DIR": str(self.served / "clusters.git"), "GIT_WORK_TREE": str(self._tree)}
        plain = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        place = {} if words[0] == "init" else where
        return run(["git", "-c", "gc.auto=0", *words], cwd=self._folder, env=env | plain | place).strip()


def contents(built: Built, cluster: Cluster, url: str) -> dict[str, list[Manifest]]:
    """Return what stands in each folder of the repository at `url`: the objects of each Application, and those of root,
    which name this repository in the place of the cluster's own.
    """
    kinds = Kinds.of(built)
    root = f"clusters/{cluster.name}/argocd"
    found: dict[str, list[Manifest]] = {root: []}
    places = {ROOT: root}
    for one in applications(built, cluster):
        places[one.name] = str(dig(one.spec, "source", "path"))
        found.setdefault(places[one.name], [])
    for one in built.objects:
        if one.component in places and not why_left_out(one, kinds, cluster):
            found[places[one.component]].append(_here(one, cluster, url))
    return found


def applications(built: Built, cluster: Cluster) -> list[Object]:
    """Return the Applications that take their objects from the cluster's own repository."""
    return [one for one in built.of("Application") if one.component == ROOT and _ours(one, cluster)]


def why_left_out(one: Object, kinds: Kinds, cluster: Cluster) -> str:
    """Say why an object is not published; nothing for one that is."""
    if one.kind == "Application" and one.component == ROOT and not _ours(one, cluster):
        return ELSEWHERE
    return unplayed(one, kinds)


def _ours(one: Object, cluster: Cluster) -> bool:
    path = str(dig(one.spec, "source", "path") or "")
    own = dig(one.spec, "source", "repoURL") == cluster.repository.url
    return own and path.startswith(f"overlays/{cluster.name}/")


def _here(one: Object, cluster: Cluster, url: str) -> Manifest:
    if one.component != ROOT:
        return one.manifest
    return pointed(one.manifest, cluster, url)


def pointed(manifest: Manifest, cluster: Cluster, url: str) -> Manifest:
    """Return an Application or project as it is with another repository. What an Application had Kustomize do beside
    its folder's own kustomization is not in what is built, and not here.
    """
    spec: dict[str, Any] = dict(manifest.get("spec") or {})
    if manifest["kind"] == "Application":
        path = dig(spec, "source", "path")
        spec["source"] = {"repoURL": url, "targetRevision": f"refs/heads/{BRANCH}", "path": path}
    if manifest["kind"] == "AppProject":
        spec["sourceRepos"] = [
            url if one == cluster.repository.url else one for one in sequence(spec.get("sourceRepos"))
        ]
    return manifest | {"spec": spec}
