"""A small world for the repository's tests: real Git, a toy renderer, no cluster."""

from pathlib import Path

import pytest
from toyworld import World


@pytest.fixture(autouse=True)
def _own_git_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsync")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "none")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ann@example.org")


@pytest.fixture
def folder(tmp_path: Path) -> World:
    """Outside of Git, with a cluster file and nothing rendered."""
    world = World(tmp_path / "repository")
    world.nodes("a", "m", "t")
    return world


@pytest.fixture
def world(folder: World) -> World:
    """In Git, rendered and committed."""
    folder.git("init", "-q", "-b", "main")
    folder.render()
    folder.commit("first")
    folder.forget()
    return folder
