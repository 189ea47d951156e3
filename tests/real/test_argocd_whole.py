"""The reference clusters, whole, in the hands of Argo CD: all that gen itself writes, and the charts that are at hand.

Most of what would make an object healthy is left out, so this also shows that nothing waits for ever.
"""

import pytest
from reference import ROOT

pytest_plugins = ["apiserver", "argocd.fixtures"]
pytestmark = pytest.mark.twin


@pytest.mark.parametrize("cluster", ["a30-bench", "ml50"])
def test_every_application_is_permitted_and_applied_and_stays_so(cluster: str) -> None:
    from argocd.argo import sync
    from argocd.fixtures import installing

    text = (ROOT / "clusters" / cluster / "cluster.yaml").read_text()
    with installing(cluster, text, PATIENCE=20, UNREADABLE=20) as installation:
        installation.finish(healthy=False)
        argo = installation.argo
        names = argo.applications()
        assert sorted(name for name in names if name != "root") == sorted(installation.expected)
        for _ in range(2):
            argo.refresh(*names, hard=True)
            argo.settled(*names)
        assert {name: sync(one) for name, one in argo.applications().items()} == dict.fromkeys(names, "Synced")
