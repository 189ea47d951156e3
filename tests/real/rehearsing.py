"""A repository with one small cluster of three teams, in which changes are rehearsed."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import programs
from reference import ROOT

from generator.process import cache_home

Object = dict[str, Any]
SMALL = Path(__file__).parent / "argocd" / "cluster.yaml"
PROGRAMS = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kueue", "vc-scheduler",
    "vc-controller-manager", "helm", "kustomize",
)  # fmt: skip
CUSTOM = "overlays/small/{}/custom"
NAMESPACE = "volcano-system"


DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Cluster",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
WIDGET = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "early"}}


class Rendered:
    """A repository with cluster files, by the names of their clusters, and what gen makes of them."""

    def __init__(self, root: Path, files: Mapping[str, str]) -> None:
        self.root = root
        self.cache = cache_of_its_own(root / ".cache")
        for name, text in files.items():
            self.file_of(name).parent.mkdir(parents=True)
            self.file_of(name).write_text(text)
        self.git("init", "--quiet", "--initial-branch=main")
        done = self.gen("render")
        assert done.returncode == 0, done.stdout + done.stderr

    def file_of(self, cluster: str) -> Path:
        return self.root / f"clusters/{cluster}/cluster.yaml"

    def git(self, *words: str) -> None:
        who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        done = subprocess.run(["git", *who, *words], cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=what stands")

    def gen(self, *words: str) -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(self.cache.parent)}
        command = [sys.executable, "-P", "-m", "generator", *words]
        return subprocess.run(command, cwd=self.root, env=env, capture_output=True, text=True, check=False)


class Repository(Rendered):
    """A repository with one cluster of three teams."""

    def __init__(self, root: Path) -> None:
        spec = yaml.load(SMALL.read_bytes(), yaml.CSafeLoader)
        spec["spec"]["pools"]["bench"]["hardware"]["gpu"]["count"] = 4
        spec["spec"]["nodes"] += [{"name": f"gpu{n}", "pool": "bench", "address": f"192.0.2.{n + 1}"} for n in (3, 4)]
        spec["spec"]["teams"] = [team("red", 8), team("blue", 4), team("green", 4)]
        self.file = root / "clusters/small/cluster.yaml"
        super().__init__(root, {"small": yaml.safe_dump(spec, sort_keys=False)})

    def quotas(self, **gpus: int) -> None:
        spec = yaml.load(self.file.read_bytes(), yaml.CSafeLoader)
        for one in spec["spec"]["teams"]:
            one["quotas"]["bench"]["gpus"] = gpus.get(one["name"], one["quotas"]["bench"]["gpus"])
        self.file.write_text(yaml.safe_dump(spec, sort_keys=False))

    def custom(self, component: str, *objects: Object, **more: Any) -> None:
        """Have objects of a person's own in a component, and `more` in its kustomization."""
        folder = self.root / CUSTOM.format(component)
        (folder / "own.yaml").write_text(yaml.safe_dump_all(objects))
        file = folder / "kustomization.yaml"
        content = yaml.load(file.read_bytes(), yaml.CSafeLoader)
        resources = [*content.get("resources", []), "own.yaml"] if objects else content.get("resources", [])
        file.write_text(yaml.safe_dump(content | {"resources": [*dict.fromkeys(resources)]} | more))


def cache_of_its_own(home: Path) -> Path:
    """Return gen's folder in a cache with the programs of the user's, and without its snapshots."""
    (home / "gen").mkdir(parents=True)
    (home / ".gitignore").write_text("*")
    (home / "gen" / "bin").symlink_to(cache_home() / "bin")
    return home / "gen"


def team(name: str, gpus: int) -> Object:
    return {"name": name, "quotas": {"bench": {"gpus": gpus}}, "members": [{"group": name}]}


def deployment(name: str, label: str = "one", image: str = "one", namespace: str = NAMESPACE) -> Object:
    labels = {"app": label}
    container = {
        "name": "main",
        "image": f"registry.example.org/{image}:1",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"securityContext": security, "containers": [container]},
            },
        },
    }


REMADE = {"argocd.argoproj.io/sync-options": "Force=true,Replace=true"}


def job(name: str, image: str, annotations: dict[str, str] | None = None) -> Object:
    """A Job that Argo CD keeps as Git says: of its template nothing may change."""
    template = deployment(name, image=image)["spec"]["template"]
    template["spec"]["restartPolicy"] = "Never"
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": annotations or {}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


def refuse_without_programs(*more: str) -> None:
    """Skip the test where programs are not built, or this user may not be a Service."""
    programs(*PROGRAMS, *more)
    if os.geteuid():
        pytest.skip("the twin listens on port 443")


def happened(found: Object, event: str) -> dict[str, Object]:
    """Return what happened of a kind, by what it happened to, without its place."""
    return {one["what"].partition(" (")[0]: one for one in found["happened"] if one["event"] == event}
