"""What tests of `gen vendor` begin with: repositories of one and of two clusters, and a server with charts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from chartshop import Shop, serving
from chartworld import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch, ("one", "two"))


@pytest.fixture
def shop() -> Iterator[Shop]:
    found = Shop()
    with serving(found):
        yield found
