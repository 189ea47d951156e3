from msgspec import structs

from generator.components.cert_manager import cert_manager
from generator.components.component import Manifest
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus


def values(cluster: Cluster) -> Manifest:
    return cert_manager(cluster).releases[0].values


def test_replicas_follow_the_control_plane(ml50: Cluster, a30: Cluster) -> None:
    for cluster, wanted in ((ml50, [2, 3, 2]), (a30, [1, 1, 1])):
        parts = [values(cluster), values(cluster)["webhook"], values(cluster)["cainjector"]]
        assert [part["replicaCount"] for part in parts] == wanted
        assert {part["podDisruptionBudget"]["enabled"] for part in parts} == {wanted[0] > 1}


def test_no_hook_runs_on_every_sync(ml50: Cluster) -> None:
    assert values(ml50)["startupapicheck"] == {"enabled": False}


def test_it_stays_in_its_namespace(ml50: Cluster) -> None:
    component = cert_manager(ml50)
    (namespace,) = component.namespaces
    assert values(ml50)["global"]["leaderElection"]["namespace"] == namespace.name
    assert namespace.security == "restricted"
    assert component.reach == ()


def test_crds_outlive_the_chart(ml50: Cluster) -> None:
    assert values(ml50)["crds"] == {"enabled": True, "keep": True}


def test_what_the_injector_writes_is_ignored(ml50: Cluster) -> None:
    ignored = cert_manager(ml50).ignore
    assert {ignore.kind for ignore in ignored} == {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
    assert all("caBundle" in expression for ignore in ignored for expression in ignore.expressions)


def test_it_waits_for_the_network_alone(ml50: Cluster, a30: Cluster) -> None:
    watched = structs.replace(a30, monitoring=structs.replace(a30.monitoring, prometheus=Prometheus()))
    assert cert_manager(ml50).needs == ("cilium",)
    assert cert_manager(watched).needs == ("calico",)
    assert values(watched)["prometheus"] == {"enabled": True}
