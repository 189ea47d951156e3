"""Built reference clusters, for tests that judge them (`pytest_plugins = ["validation.fixtures"]`)."""

from pathlib import Path

import pytest
from conftest import load

from validation.build import Built, build

__all__ = ["CLUSTERS", "built"]

CLUSTERS = ("ml50", "a30-bench")


@pytest.fixture(scope="session", params=CLUSTERS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Each reference cluster, as Kustomize builds it."""
    return build(load(request.param), tmp_path_factory.mktemp("tree"))
