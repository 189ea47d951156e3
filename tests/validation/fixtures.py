"""Built clusters, for tests that judge them (`pytest_plugins = ["validation.fixtures"]`)."""

import pytest

from generator.build.objects import Built
from validation.build import build
from validation.clusters import CLUSTERS, variation


@pytest.fixture(scope="session", params=CLUSTERS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Each reference cluster, as Kustomize builds it."""
    return build(variation(request.param, {}), tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="session")
def ml50_built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The cluster that has most, to be broken."""
    return build(variation("ml50", {}), tmp_path_factory.mktemp("tree"))
