"""A CRD that is not rendered while objects of its kind are."""

from typing import Any

from generator.build.objects import Built, Object
from generator.model.cluster import Cluster
from generator.rules.argo_cd import defined


def ceph(kind: str = "CephCluster") -> Object:
    manifest = {"apiVersion": "ceph.rook.io/v1", "kind": kind, "metadata": {"name": "x", "namespace": "rook-ceph"}}
    return Object(manifest, "ceph-cluster", "x.yaml")


def crd(group: str, kind: str) -> Object:
    manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{group}"},
        "spec": {"group": group, "names": {"kind": kind}},
    }
    return Object(manifest, "rook-ceph", "y.yaml")


def messages(cluster: Cluster | None, *objects: Object, **more: Any) -> list[str]:
    return [one.message for one in defined.findings(Built(name="x", cluster=cluster, objects=objects, **more))]


def test_a_definition_that_left_is_told_once_with_who_brings_it(ml50: Cluster) -> None:
    (message,) = messages(ml50, ceph(), ceph())
    assert "CRD of CephCluster (ceph.rook.io), which rook-ceph brings" in message
    assert len(messages(ml50, ceph(), ceph("CephBlockPool"), crd("ceph.rook.io", "CephBlockPool"))) == 1


def test_a_definition_that_is_rendered_or_not_seen_or_not_ours_is_no_fault(ml50: Cluster, a30: Cluster) -> None:
    assert messages(ml50, ceph(), crd("ceph.rook.io", "CephCluster")) == []
    assert messages(ml50, ceph(), unseen=("rook-ceph",)) == []
    assert messages(a30, ceph()) == []
    assert messages(None, ceph()) == []


def test_the_definition_of_a_kind_of_workflows_is_another_components(ml50: Cluster) -> None:
    def workflow(kind: str) -> Object:
        manifest = {"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": "x", "namespace": "y"}}
        return Object(manifest, "workflows", "x.yaml")

    (template,) = messages(ml50, workflow("WorkflowTemplate"))
    (application,) = messages(ml50, workflow("Application"))
    assert "argo-workflows brings" in template
    assert "argo-cd brings" in application
