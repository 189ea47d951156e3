from typing import Any

import kubernetes_validate
from msgspec import structs

from generator.components.component import Component, Manifest
from generator.components.snapshot_controller import DEFINITION as SNAPSHOT_CONTROLLER
from generator.components.snapshot_controller import snapshot_controller
from generator.model.cluster import Cluster


def build(cluster: Cluster) -> Component:
    component = snapshot_controller(cluster)
    assert component is not None
    return component


def test_only_with_ceph(ml50: Cluster, a30: Cluster) -> None:
    assert not SNAPSHOT_CONTROLLER.wanted(a30)
    assert build(ml50).manifests


def test_the_image_is_that_of_the_manifests(ml50: Cluster) -> None:
    component = build(ml50)
    changes = {change["path"].rpartition("/")[2]: change["value"] for change in component.patches[0].operations}
    assert changes["image"].endswith(f":{component.version}")
    assert all(f"/{component.version}/" in url for url in component.manifests)


def test_the_crds_come_before_what_needs_them_and_each_file_once(ml50: Cluster) -> None:
    manifests = build(ml50).manifests
    crds = [url for url in manifests if "/client/config/crd/" in url]
    assert list(manifests[: len(crds)]) == crds
    assert len(crds) == 6
    assert len(set(manifests)) == len(manifests) == len(crds) + 2


def test_the_pod_is_finished_and_valid(ml50: Cluster) -> None:
    container: Manifest = {"name": "snapshot-controller", "image": "upstream", "args": ["--v=5"]}
    deployment: Manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "snapshot-controller", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/name": "snapshot-controller"}},
            "template": {
                "metadata": {"labels": {"app.kubernetes.io/name": "snapshot-controller"}},
                "spec": {"containers": [container]},
            },
        },
    }
    for change in build(ml50).patches[0].operations:
        *parents, key = change["path"].removeprefix("/").split("/")
        node: Any = deployment
        for parent in parents:
            node = node[int(parent)] if parent.isdigit() else node[parent]
        assert (change["op"] == "replace") == (key in node)
        node[key] = change["value"]
    kubernetes_validate.validate(deployment, "1.35", strict=True)
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_it_runs_where_only_the_control_plane_is_left(ml50: Cluster) -> None:
    tainted = build(ml50).patches[0].operations[-1]["value"]
    assert {toleration["key"] for toleration in tainted} == {"node-role.kubernetes.io/control-plane"}
    machines = tuple(structs.replace(machine, taints=()) for machine in ml50.machines)
    assert build(structs.replace(ml50, machines=machines)).patches[0].operations[-1]["value"] == []


def test_the_disruption_budget_is_valid(ml50: Cluster) -> None:
    (budget,) = build(ml50).base
    kubernetes_validate.validate(budget, "1.35", strict=True)
