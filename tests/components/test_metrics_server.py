from msgspec import structs

from generator.components.component import Manifest
from generator.components.metrics_server import metrics_server
from generator.model.cluster import Cluster


def values(cluster: Cluster) -> Manifest:
    return metrics_server(cluster).releases[0].values


def test_replicas_and_budget_follow_the_control_plane(ml50: Cluster, a30: Cluster) -> None:
    assert (values(ml50)["replicas"], values(a30)["replicas"]) == (2, 1)
    assert values(ml50)["podDisruptionBudget"] == {"enabled": True, "minAvailable": 1}
    assert values(a30)["podDisruptionBudget"] == {"enabled": False}


def test_its_certificate_is_not_made_when_rendering(ml50: Cluster) -> None:
    assert values(ml50)["tls"]["type"] == "metrics-server"


def test_it_runs_on_the_control_plane_as_well(ml50: Cluster) -> None:
    tainted = {taint.key for machine in ml50.control_plane for taint in machine.taints}
    assert {toleration["key"] for toleration in values(ml50)["tolerations"]} == tainted
    assert tainted


def test_it_waits_for_whichever_network_there_is(ml50: Cluster, a30: Cluster) -> None:
    assert metrics_server(ml50).needs == ("cilium",)
    other = structs.replace(a30, networks=structs.replace(a30.networks, cni="cilium"))
    assert metrics_server(other).needs == ("cilium",)
