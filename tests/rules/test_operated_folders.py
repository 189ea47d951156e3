"""Folders of no cluster: an operator may make what its custom objects' neighbours select."""

from manifests import deployment, found, manifest

from generator.rules import selectors

SERVICE = manifest("Service", spec={"selector": {"app": "mgr"}, "ports": [{"name": "web", "port": 80}]})
MONITOR = manifest(
    "ServiceMonitor", "monitoring.coreos.com/v1", spec={"selector": {"matchLabels": {"app": "mgr"}},
    "endpoints": [{"port": "metrics"}]},
)  # fmt: skip
CEPH = manifest("CephCluster", "ceph.rook.io/v1", spec={})


def test_a_service_beside_pods_must_select_some_unless_an_operator_may_make_them() -> None:
    assert len(found(selectors.selecting, SERVICE, deployment())) == 1
    assert found(selectors.selecting, SERVICE, deployment(), CEPH) == []
    elsewhere = manifest("CephCluster", "ceph.rook.io/v1", namespace="rook-ceph", spec={})
    assert len(found(selectors.selecting, SERVICE, deployment(), elsewhere)) == 1


def test_a_monitor_may_be_for_a_service_that_an_operator_makes() -> None:
    labelled = manifest("Service", spec=SERVICE["spec"])
    labelled["metadata"]["labels"] = {"app": "mgr"}
    assert found(selectors.monitor_ports, labelled, MONITOR, CEPH, deployment()) == []


def test_a_number_that_no_container_declares_is_left_open() -> None:
    pod = deployment(ports=[{"containerPort": 80}])
    numbered = manifest("Service", spec={"selector": {"app": "x"}, "ports": [{"port": 81}]})
    assert found(selectors.service_ports, numbered, pod) == []
    named = manifest("Service", spec={"selector": {"app": "x"}, "ports": [{"port": 81, "targetPort": "htpp"}]})
    assert len(found(selectors.service_ports, named, pod)) == 1
