from msgspec import structs
from reference import with_hardware

from generator.components.component import Component, Manifest
from generator.components.node_feature_discovery import DEFINITION as NODE_FEATURE_DISCOVERY
from generator.components.node_feature_discovery import INFINIBAND, node_feature_discovery
from generator.model.cluster import Cluster
from generator.model.text import Taint


def build(cluster: Cluster) -> Component:
    component = node_feature_discovery(cluster)
    assert component is not None
    return component


def rules(cluster: Cluster) -> list[Manifest]:
    return [one for one in build(cluster).objects if one["kind"] == "NodeFeatureRule"]


def values(cluster: Cluster) -> Manifest:
    return build(cluster).releases[0].values


def test_only_where_there_is_hardware_to_find(ml50: Cluster, a30: Cluster) -> None:
    plain = tuple(with_hardware(machine, gpu=None, hcas=()) for machine in ml50.machines)
    assert not NODE_FEATURE_DISCOVERY.wanted(structs.replace(ml50, machines=plain, fabric=None))
    assert node_feature_discovery(structs.replace(ml50, machines=plain)) is not None
    assert node_feature_discovery(a30) is not None


def test_workers_tolerate_every_taint(ml50: Cluster) -> None:
    first, *others = ml50.machines
    machines = (structs.replace(first, taints=(*first.taints, Taint("site", "x", "NoExecute"))), *others)
    tolerated = {
        (item["key"], item["effect"])
        for item in values(structs.replace(ml50, machines=machines))["worker"]["tolerations"]
    }
    assert tolerated == {(taint.key, taint.effect) for machine in machines for taint in machine.taints}


def test_labels_are_those_the_operators_look_for(ml50: Cluster) -> None:
    pci = values(ml50)["worker"]["config"]["sources"]["pci"]
    assert pci["deviceLabelFields"] == ["vendor"]
    assert {"0200", "0207", "0300", "0302"} <= set(pci["deviceClassWhitelist"])
    assert values(ml50)["master"]["config"]["extraLabelNs"] == ["nvidia.com"]


def test_there_is_one_priority(ml50: Cluster) -> None:
    """The chart writes the worker's own beside the common one: the same key twice, which Kustomize refuses."""
    given = values(ml50)
    assert given["priorityClassName"]
    assert not [part for part in ("master", "gc", "worker") if "priorityClassName" in given.get(part, {})]


def test_labels_stay_when_the_application_goes(ml50: Cluster) -> None:
    assert values(ml50)["postDeleteCleanup"] is False


def test_infiniband_is_told_from_ethernet(ml50: Cluster, a30: Cluster) -> None:
    (rule,) = rules(ml50)
    (only,) = rule["spec"]["rules"]
    assert only["labels"] == {INFINIBAND: "true"}
    assert only["matchFeatures"][0]["matchExpressions"]["class"]["value"] == ["0207"]
    assert rules(a30) == []
