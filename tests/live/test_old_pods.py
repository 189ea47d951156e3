"""Pods that nobody but a person replaces, as their workloads on a fake of an API server tell."""

from typing import Any

import pytest
from livecluster import LiveCluster, forbidden
from test_status import change, look, made, resource, there

from generator.components import CATALOGUE
from generator.components.minio.layout import RENEWAL
from generator.live.running import RunningCluster

__all__ = ["there"]

Object = dict[str, Any]
There = tuple[LiveCluster, RunningCluster]


def workload(kind: str = "StatefulSet", *, updated: int = 0, **more: Any) -> Object:
    """Return a workload of three pods."""
    counts = {"replicas": 3, "updatedReplicas": updated, "updateRevision": "web-new"}
    if kind == "DaemonSet":
        counts = {"currentNumberScheduled": 3, "updatedNumberScheduled": updated}
    metadata = {"name": "web", "namespace": "shop", "generation": 2, **more}
    spec = {"selector": {"matchLabels": {"example.org/app": "web"}}, "updateStrategy": {"type": "OnDelete"}}
    status = {"observedGeneration": 2, **counts}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def pod(number: int, revision: str, kind: str = "StatefulSet", owner: str = "web") -> Object:
    metadata = {
        "name": f"{owner}-{number}",
        "namespace": "shop",
        "creationTimestamp": f"2026-05-31T00:00:0{number if revision == 'web-old' else 9}Z",
        "labels": {"example.org/app": "web", "controller-revision-hash": revision},
        "ownerReferences": [{"kind": kind, "name": owner}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def hold(cluster: LiveCluster, kind: str = "StatefulSet", component: str = "kueue") -> None:
    change(cluster, component, resources=[resource(kind, "web", group="apps")])


@pytest.mark.parametrize(("kind", "also"), [("StatefulSet", "the next when"), ("DaemonSet", "no work that needs it")])
def test_old_pods_are_told_with_the_one_to_delete(there: There, kind: str, also: str) -> None:
    cluster, running = there
    hold(cluster, kind)
    cluster.add(workload(kind, updated=1))
    for one in (pod(0, "web-new", kind), pod(1, "web-old", kind), pod(2, "web-old", kind)):
        cluster.add(one)
    cluster.add(pod(0, "other-old", kind, owner="another"))
    found = look(running)
    (cause,) = found.soon
    assert (cause.component, cause.objects) == ("kueue", (f"{kind} shop/web",))
    assert cause.why.startswith("2 of its 3 pods run as before its last change (web-1, web-2), and only a person ")
    assert also in cause.why
    assert cause.command == "kubectl --namespace shop delete pod web-1"
    assert found.state == "not well"


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_all_old_are_told(there: There, kind: str) -> None:
    cluster, running = there
    hold(cluster, kind)
    cluster.add(workload(kind))
    for number in range(3):
        cluster.add(pod(number, "web-old", kind))
    (cause,) = look(running).soon
    assert "(web-0, web-1, web-2)" in cause.why


def rolling(one: Object) -> None:
    one["spec"]["updateStrategy"]["type"] = "RollingUpdate"


def unseen(one: Object) -> None:
    one["status"]["observedGeneration"] = 1


def renewed(one: Object) -> None:
    one["status"]["updatedReplicas"] = 3


@pytest.mark.parametrize("mended", [rolling, unseen, renewed])
def test_others_are_not(there: There, mended: Any) -> None:
    cluster, running = there
    hold(cluster)
    one = cluster.add(workload())
    mended(one)
    assert look(running).soon == ()


def test_what_no_application_holds_is_nobodys_and_what_its_operator_makes_is_its(there: There) -> None:
    cluster, running = there
    hold(cluster, "Ingress")
    one = cluster.add(workload("DaemonSet"))
    assert look(running).soon == ()
    one["metadata"]["ownerReferences"] = [{"kind": "ClusterPolicy", "name": "policy"}]
    change(cluster, "kueue", resources=[{"kind": "ClusterPolicy", "name": "policy", "status": "Synced"}])
    (cause,) = look(running).soon
    assert (cause.component, cause.objects) == ("kueue", ("DaemonSet shop/web",))


def test_servers_that_wait_for_each_other_go_together(there: There) -> None:
    """MinIO's, whose environment differs, stay away alone (cmd/bootstrap-peer-server.go)."""
    cluster, running = there
    cluster.add(made("minio", 3))
    hold(cluster, component="minio")
    cluster.add(workload())
    (cause,) = look(running).soon
    assert "all at once" in cause.why
    assert cause.command == RENEWAL == CATALOGUE["minio"].replaced_together


def test_pods_that_may_not_be_read_are_told_of_without_names(there: There) -> None:
    cluster, running = there
    hold(cluster)
    cluster.add(workload())
    cluster.refuses["GET .*/pods"] = forbidden("list", "pods")
    found = look(running)
    assert found.unread
    assert found.soon[0].command == "kubectl --namespace shop get pods"
