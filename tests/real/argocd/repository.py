"""A repository as `gen render` makes it, and what of it Argo CD sees: charts come from the cache instead of the
network, and those that are not there are left out.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from apiserver import programs
from reference import ROOT
from twin.rendered import CHARTS, place

Object = dict[str, Any]
BARE = "clusters.git"
INSTALLS = {"/manifests/install.yaml": "install.yaml", "/manifests/ha/install.yaml": "ha-install.yaml"}
"""Manifests of Argo CD by the end of their address, as they lie beside the program."""


class Repository:
    """One cluster's repository: `tree` is what gen and people write, `published` what is pushed."""

    def __init__(self, folder: Path, cluster: str, text: str, port: int) -> None:
        self.cluster, self.tree, self.published = cluster, folder / "tree", folder / "published"
        self.bare = folder / "git" / BARE
        self.url = f"http://127.0.0.1:{port}/{BARE}"
        self.file = self.tree / "clusters" / cluster / "cluster.yaml"
        self.file.parent.mkdir(parents=True)
        self.write(yaml.load(text, yaml.CSafeLoader))
        self.published.mkdir()
        _git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.bare))
        _git(self.published, "init", "--quiet", "--initial-branch=main")
        _git(self.tree, "init", "--quiet", "--initial-branch=main")

    @property
    def spec(self) -> Object:
        """The cluster file."""
        found: Object = yaml.load(self.file.read_bytes(), yaml.CSafeLoader)
        return found

    def write(self, file: Object) -> None:
        """Write the cluster file, with this repository's address."""
        file["spec"]["repository"] = {"url": self.url, "branch": "main"}
        self.file.write_text(yaml.safe_dump(file, sort_keys=False))

    def render(self) -> None:
        """Run `gen render`."""
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-P", "-m", "generator", "render"]
        done = subprocess.run(command, cwd=self.tree, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def applications(self) -> Path:
        """Where the Applications stand."""
        return self.file.parent / "argocd"

    @property
    def written(self) -> list[Path]:
        """The folders of the objects that gen itself writes."""
        return [self.tree / "overlays" / self.cluster, self.tree / "base"]

    def overlay(self, component: str) -> Path:
        """Where a component's overlay stands among what people write."""
        return self.tree / "overlays" / self.cluster / component

    @property
    def head(self) -> str:
        """The commit that was pushed last."""
        return _git(self.published, "rev-parse", "HEAD")

    def publish(self, message: str = "published") -> str:
        """Push all that stands in the tree; return the commit."""
        for old in self.published.iterdir():
            if old.name != ".git":
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        shutil.copytree(self.tree, self.published, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
        for releases in sorted(self.published.glob("overlays/*/*/releases")):
            _bring(releases)
        _git(self.published, "add", "--all", "--force")
        _git(self.published, "commit", "--quiet", "--allow-empty", f"--message={message}")
        _git(self.published, "push", "--quiet", "--force", str(self.bare), "main")
        return self.head


def _bring(releases: Path) -> None:
    """Let a component find its charts and manifests at hand, and leave out all others."""
    file = releases / "kustomization.yaml"
    content = yaml.load(file.read_bytes(), yaml.CSafeLoader)
    charts = [chart for chart in content.pop("helmCharts", []) if chart["name"] in CHARTS]
    found = [name for address in content["resources"] for end, name in INSTALLS.items() if address.endswith(end)]
    for name in found:
        (program,) = programs("argocd")
        shutil.copyfile(Path(program).resolve().with_name(name), releases / name)
    content["resources"] = found
    file.write_text(yaml.safe_dump(content | ({"helmCharts": charts} if charts else {}), sort_keys=False))
    place(releases)


def _git(folder: Path, *words: str) -> str:
    author = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    done = subprocess.run(["git", *author, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
