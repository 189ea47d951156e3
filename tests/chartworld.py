"""A repository whose clusters install charts made by the test (see `chartshop`).

Run as a program it is `gen` with the components in the file that its first argument names.
"""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

import generator.components
import generator.layout.projects  # before the catalogue is another one, in each process: projects tell of it
from generator.cli import main as gen
from generator.cli import run
from generator.components.component import HELM, Chart, Component, Release, Tier
from generator.components.definition import Definition
from generator.model.cluster import Cluster
from generator.repository.scaffold import starter
from generator.upstream.helm import helm


def release(
    repository: str, name: str = "toy", version: str = "1.0.0", values: dict[str, Any] | None = None, **more: Any
) -> Release:
    """Return a release of a chart into the namespace that is called like it."""
    chart = Chart(name=name, repository=repository, version=version)
    return Release(chart=chart, name=name, namespace=more.pop("namespace", name), values=values or {}, **more)


def component(*releases: Release, name: str = "toy", version: str = "1.0.0", **more: Any) -> Component:
    """Return a component with these releases."""
    return Component(name=name, tier=Tier.PLATFORM, summary="For a test.", version=version, releases=releases, **more)


def install(spec: Mapping[str, Sequence[Component]], put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Make these all that each cluster installs."""

    def nth(index: int) -> Definition:
        return Definition(
            name=f"toy-{index}",
            tier=Tier.PLATFORM,
            wanted=lambda cluster: index < len(spec.get(cluster.name, ())),
            make=lambda cluster: spec[cluster.name][index],
        )

    def argo_cd(_cluster: Cluster, _kept: tuple[Component, ...], *, enable_helm: bool) -> Component:
        _ = enable_helm
        return Component(name="argo-cd", tier=Tier.GITOPS, summary="For a test.", version="1")

    most = max(map(len, spec.values()), default=0)
    put(generator.components, "CATALOGUE", {f"toy-{index}": nth(index) for index in range(most)})
    put(generator.components, "argo_cd", argo_cd)


def need(name: str, version: str) -> Path:
    """Return a program of the cache; without it the test fails in CI and is skipped elsewhere."""
    path = Path.home() / ".cache" / "gen" / "bin" / f"{name}-{version}" / name
    if not os.access(path, os.X_OK):
        pytest.skip(f"no {name} {version}: run `python tools/real.py {name}`")
    return path


class World:
    """A repository in Git with clusters `one` and maybe more, a cache of its own, and no settings of the user's."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, clusters: Sequence[str] = ("one",)) -> None:
        self.folder, self.patch = folder, patch
        self.root = folder / "repository"
        self.cache = folder / "cache"
        self.spec: dict[str, list[Component]] = {}
        for name in ("GEN_CHART_CA", "DOCKER_CONFIG", "NETRC", "HTTPS_PROXY", "HTTP_PROXY", "KUBECONFIG"):
            patch.delenv(name, raising=False)
        patch.setenv("GEN_HELM", str(need("helm", HELM)))
        patch.setenv("XDG_CACHE_HOME", str(self.cache))
        patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        for who in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{who}_NAME", "Ann")
            patch.setenv(f"GIT_{who}_EMAIL", "ann@example.org")
        helm.cache_clear()
        for index, name in enumerate(clusters):
            self.put(f"clusters/{name}/cluster.yaml", starter(name).decode().replace("10.10.", f"10.{10 + index}."))
        self.git("init", "-q", "-b", "main")

    def put(self, path: str, text: str) -> None:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def edit(self, path: str, old: str, new: str) -> None:
        """Change a file as a person does."""
        text = (self.root / path).read_text()
        assert old in text
        self.put(path, text.replace(old, new, 1))

    def git(self, *words: str) -> str:
        """Run Git."""
        done = subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self) -> None:
        """Commit all there is."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "all")

    def installs(self, *components: Component, on: Sequence[str] = ("one",)) -> None:
        """Make these all that the clusters install."""
        self.spec |= {name: list(components) for name in on}
        install(self.spec, self.patch.setattr)

    def gen(self, *words: str, expect: int = 0) -> str:
        """Run a verb and return all it said."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run([words[0], "-C", str(self.root), *words[1:]])
        assert code == expect, out.getvalue()
        return out.getvalue()

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Run a verb in a process of its own."""
        spec = self.folder / "spec.json"
        spec.write_bytes(msgspec.json.encode(self.spec))
        argv = [sys.executable, __file__, str(spec), words[0], "-C", str(self.root), *words[1:]]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder)

    def tree(self) -> dict[str, bytes]:
        """Return every file but Git's own and the user's corners."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".git" not in path.relative_to(self.root).parts
        }

    def upstream(self, cluster: str = "one", component: str = "toy") -> dict[str, Any]:
        """Return the vendored objects by their files' names."""
        place = f"overlays/{cluster}/{component}/upstream/"
        return {
            path.removeprefix(place): yaml.load(content, yaml.CSafeLoader)
            for path, content in self.tree().items()
            if path.startswith(place) and not path.endswith(("/inputs.yaml", "/found.json", "/kustomization.yaml"))
        }

    def lock(self) -> dict[str, Any]:
        """Return `gen.lock`."""
        found: dict[str, Any] = yaml.load((self.root / "gen.lock").read_bytes(), yaml.CSafeLoader)
        return found


def main() -> None:
    spec = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=dict[str, list[Component]])
    install(spec)
    sys.argv = ["gen", *sys.argv[2:]]
    gen()


if __name__ == "__main__":
    main()
