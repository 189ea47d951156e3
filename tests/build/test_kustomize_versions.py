"""Which Kustomize is taken, and what is said of an old one."""

import re
import runpy
from pathlib import Path

import pytest

from generator.build.broken import BrokenError
from generator.build.kustomize import PINNED, older, run_kustomize
from tools import SCRIPT

SAID = {"kustomize": "{version}", "kubectl": "Client Version: v1.35.3\nKustomize Version: {version}"}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs, and no others."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GEN_KUSTOMIZE", raising=False)
    for name in SAID:
        put(tmp_path / name, "echo none; exit 1")
    return tmp_path


def put(file: Path, body: str) -> list[str]:
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return [str(file), "kustomize" if file.name == "kubectl" else "build"]


def says(file: Path, version: str) -> list[str]:
    """Make a program of this version, which builds nothing."""
    said = SAID[file.name].format(version=version)
    return put(file, f"case $1 in version) echo '{said}' ;; *) echo illegally qualifies >&2; exit 1 ;; esac")


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize(
    ("version", "old"), [("v5.5.0", True), ("v5.8.0", True), ("v5.8.1", False), ("v5.10.0", False)]
)
def test_an_older_one_is_told_where_it_fails(path: Path, name: str, version: str, *, old: bool) -> None:
    command = says(path / name, version)
    words = f"{path / name} has Kustomize {version[1:]}, Argo CD 5.8.1"
    assert (words in older(command)) == old
    with pytest.raises(BrokenError, match="illegally qualifies") as caught:
        run_kustomize(command, path, "overlays/x")
    assert (words in str(caught.value)) == old


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize(("version", "taken"), [("v5.5.0", False), ("v5.8.1", True), ("v5.10.0", True), ("x", False)])
def test_tests_take_no_older_one(path: Path, name: str, version: str, *, taken: bool) -> None:
    command = says(path / name, version)
    assert runpy.run_path(str(SCRIPT))["command"]() == (command if taken else None)


def test_the_built_one_comes_first(path: Path) -> None:
    says(path / "kustomize", "v5.10.0")
    script = runpy.run_path(str(SCRIPT))
    script["cached"]().parent.mkdir(parents=True)
    assert script["command"]() == [str(path / "kustomize"), "build"]
    built = put(script["cached"](), "")
    assert script["command"]() == built


def test_the_pinned_one_is_the_one_that_is_built() -> None:
    pinned = ".".join(map(str, PINNED))
    assert re.search(rf'^VERSION = "v{re.escape(pinned)}"$', SCRIPT.read_text(), re.MULTILINE)
