"""A cluster of some user: `pytest_plugins = ["apiserver", "usercluster"]`."""

from collections.abc import Iterator

import pytest

from generator.live.api import ApiConnection, of_started
from generator.live.apiserver import Started, start


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """The cluster of some user: nothing of `gen` in it."""
    from apiserver import programs

    programs("etcd", "kube-apiserver")
    with start(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def user_api(started: Started) -> ApiConnection:
    """The user's cluster as its administrator meets it."""
    admin = of_started(started)
    admin.throw_away = False
    return admin
