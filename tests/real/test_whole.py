"""The reference clusters, all of each: bootstrapped on a real control plane and installed by Argo CD itself.

Charts are upstream's own where a Go module holds them (`tools/sources.py`); others are made of the real CRDs. Pods are
KWOK's, Kueue runs, and `standins.py` is in the place of the other controllers.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from whole import Whole

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin


@pytest.fixture(scope="module", params=["ml50", "a30-bench", "gpu-serving"])
def installed(request: pytest.FixtureRequest) -> Iterator["Whole"]:
    """A cluster that `gen bootstrap --apply` has watched to its end. One at a time: each takes some 4 GiB."""
    from whole import of_reference, whole
    from wholeshop import whole_shop

    with whole(of_reference(request.param), whole_shop()) as made:
        made.install()
        yield made


def test_all_is_synced_and_well(installed: "Whole") -> None:
    from argocd.argo import sync
    from argocd.fixtures import fine

    assert installed.code == 0, f"{installed.said}\n{installed.told()}"
    found = installed.applications()
    files = installed.bare.file.parent.glob("argocd/application-*.yaml")
    assert found.keys() == {"root", *(file.stem.removeprefix("application-") for file in files)}
    assert {sync(one) for one in found.values()} == {"Synced"}
    assert all(map(fine, found.values())), installed.told()


def test_nothing_came_before_what_it_waits_for(installed: "Whole") -> None:
    assert len(installed.seen) > 10
    assert installed.too_early == []


@pytest.mark.parametrize("time", ["first", "second"])
def test_a_hard_refresh_finds_no_difference(installed: "Whole", time: str) -> None:
    installed.refresh()
    assert installed.unsynced() == [], time


def test_status_says_that_all_is_well(installed: "Whole") -> None:
    told = installed.bare.gen("status", "--kubeconfig", installed.bare.kubeconfig)
    assert told.returncode == 0, told.stdout + told.stderr


def test_drift_finds_nothing(installed: "Whole") -> None:
    told = installed.bare.gen("drift", "--kubeconfig", installed.bare.kubeconfig)
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_bootstrap_finds_nothing_left_to_do(installed: "Whole") -> None:
    told = installed.bare.bootstrap()
    assert told.returncode == 0, told.stdout + told.stderr
