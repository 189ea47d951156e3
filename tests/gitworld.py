"""A repository with the small reference cluster, a remote on this machine, and people who clone it."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from generator.cli import run

ROOT = Path(__file__).parents[1]
FILE = "clusters/a30-bench/cluster.yaml"
TOKENS = ("GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN", "GITHUB_SERVER_URL", "CI_SERVER_URL")


class Said(NamedTuple):
    """What a verb ended with."""

    code: int
    out: str
    err: str


class Person:
    """Somebody with a clone."""

    def __init__(self, root: Path, captured: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._captured = captured

    def git(self, *words: str, ok: bool = True) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, check=False, capture_output=True, text=True)
        assert not ok or done.returncode == 0, done.stderr + done.stdout
        return done.stdout.strip()

    def gen(self, *words: str) -> Said:
        self._captured.readouterr()
        code = run([words[0], "-C", str(self.root), *words[1:]])
        return Said(code, *self._captured.readouterr())

    def edit(self, old: str, new: str, file: str = FILE) -> None:
        text = (self.root / file).read_text()
        assert old in text
        (self.root / file).write_text(text.replace(old, new, 1))

    def write(self, file: str, text: str) -> None:
        (self.root / file).parent.mkdir(parents=True, exist_ok=True)
        (self.root / file).write_text(text)

    def head(self, name: str = "HEAD") -> str:
        return self.git("rev-parse", name)

    def state(self) -> tuple[str, str, str, str]:
        """Return everything that a refused command must leave: branches, HEAD, index, working trees."""
        return (
            self.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads"),
            self.git("rev-parse", "--symbolic-full-name", "HEAD") + self.head(),
            self.git("diff", "--cached"),
            self.git("worktree", "list"),
        )

    def files(self) -> str:
        return self.git("status", "--porcelain", "--untracked-files=all")


def seed(folder: Path) -> Path:
    """Make a bare repository that holds the rendered cluster on `main`."""
    tree = folder / "seed"
    for name in ("clusters/a30-bench", "overlays/a30-bench", "base", "workflows", "schemas"):
        shutil.copytree(ROOT / name, tree / name)
    shutil.copy(ROOT / "gen.lock", tree)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=tree, check=True)
    assert run(["render", "-C", str(tree)]) == 0
    (tree / "README.md").write_text("# A lab\n")
    who = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"]
    subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
    subprocess.run(["git", *who, "commit", "-q", "-m", "first"], cwd=tree, check=True)
    bare = folder / "lab.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(tree), str(bare)], check=True)
    return bare


def clone(remote: Path, place: Path, name: str, captured: pytest.CaptureFixture[str]) -> Person:
    subprocess.run(["git", "clone", "-q", f"file://{remote}", str(place)], check=True)
    person = Person(place, captured)
    person.git("config", "user.name", name)
    person.git("config", "user.email", f"{name.lower()}@example.org")
    return person


def plain_environment(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Take away what the machine's user may have set."""
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in (*TOKENS, "GITEA_ACTIONS", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
