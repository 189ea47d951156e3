"""What tests of `gen vendor` begin with: repositories of one and of two clusters, and a server with charts. And
clusters with operations that two files share, for they take a minute to begin.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chartshop import Shop, serving
from chartworld import World

# Some files import what imports it before they name it as their plugin.
pytest.register_assert_rewrite("apiserver")

if TYPE_CHECKING:
    from livesite import Site
    from onenode.site import Site as Backups


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


@pytest.fixture(scope="session")
def site() -> Iterator["Site"]:
    from livesite import live_site

    with live_site() as made:
        yield made


@pytest.fixture(scope="session")
def backups() -> Iterator["Backups"]:
    from onenode.backups import serving_backups

    with serving_backups() as made:
        yield made
