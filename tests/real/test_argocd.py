"""A rendered cluster in the hands of Argo CD: its own controller installs it, keeps it, changes it, takes it away."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from argocd.argo import Argo
    from argocd.fixtures import Installation

pytest_plugins = ["apiserver", "argocd.fixtures"]
pytestmark = pytest.mark.twin


def test_root_makes_every_application_in_the_order_of_the_waves(small: "Installation") -> None:
    assert small.too_early == []
    assert set(small.waves.values()) == {0, 1, 2, 3}


def test_nothing_differs_after_two_hard_refreshes(argo: "Argo") -> None:
    from argocd.argo import sync

    names = argo.applications()
    for _ in range(2):
        argo.refresh(*names, hard=True)
        argo.settled(*names)
    assert {name: sync(one) for name, one in argo.applications().items()} == dict.fromkeys(names, "Synced")
