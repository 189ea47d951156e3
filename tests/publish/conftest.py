"""A remote, and two people who have cloned it."""

import shutil
from pathlib import Path

import pytest
from gitworld import Person, clone, plain_environment, seed


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seed(tmp_path_factory.mktemp("seed"))


@pytest.fixture
def remote(seeded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plain_environment(monkeypatch, tmp_path / "home")
    return Path(shutil.copytree(seeded, tmp_path / "lab.git"))


@pytest.fixture
def ann(remote: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Person:
    return clone(remote, tmp_path / "ann", "Ann", capsys)


@pytest.fixture
def bob(remote: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Person:
    return clone(remote, tmp_path / "bob", "Bob", capsys)
