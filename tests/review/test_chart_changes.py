"""What can be compared of charts that nobody has vendored, and of versions."""

from collections.abc import Mapping
from typing import Any

import yaml
from sides import side

from generator.model.change import ABSENT
from generator.review.charts import chart_changes
from generator.review.component_versions import version_changes
from generator.review.standing import Standing

CHART = {"name": "cilium", "repo": "https://a", "version": "1.20.0", "releaseName": "net", "namespace": "kube-system"}


def standing(files: Mapping[str, Any], name: str = "one") -> Standing:
    """Return a cluster with these Applications' files."""
    return Standing(side({path: yaml.safe_dump(one) for path, one in files.items()}), name)


def unvendored(values: Mapping[str, Any], **chart: Any) -> dict[str, Any]:
    """Return the files of a component whose chart is inflated elsewhere."""
    return {
        "overlays/one/cilium/kustomization.yaml": {"resources": ["../../../base/cilium/1.20.0", "releases"]},
        "overlays/one/cilium/releases/kustomization.yaml": {
            "helmCharts": [{**CHART, "valuesFile": "net.yaml", "apiVersions": chart.pop("apis", []), **chart}]
        },
        "overlays/one/cilium/releases/net.yaml": values,
    }


def vendored(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of the same component, with what its chart makes."""
    named = {"name": "cilium", "repository": "https://a", "version": "1.20.0"}
    release = {"chart": named, "name": "net", "namespace": "kube-system", "values": values}
    return {
        "overlays/one/cilium/kustomization.yaml": {"resources": ["../../../base/cilium/1.20.0", "upstream"]},
        "overlays/one/cilium/upstream/inputs.yaml": {"releases": [release]},
    }


def fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return what differs of charts."""
    found = chart_changes(standing(old), standing(new))
    return [(one.on, one.name, field.path, field.old, field.new) for one in found for field in one.fields]


def test_values_differ_by_their_keys() -> None:
    old, new = unvendored({"MTU": 9000, "a": {"b": 1}}), unvendored({"MTU": 1500, "a": {"b": 1}})
    assert fields(old, new) == [("changed", "net", ("values", "MTU"), 9000, 1500)]


def test_values_that_stand_inline_count() -> None:
    assert fields(unvendored({}), unvendored({}, valuesInline={"MTU": 1500})) == [
        ("changed", "net", ("values", "MTU"), ABSENT, 1500)
    ]


def test_what_comes_with_kubernetes_is_not_the_charts() -> None:
    assert not fields(unvendored({"a": 1}, apis=["v1"]), unvendored({"a": 1}, apis=["v1", "apps/v1"]))


def test_what_is_vendored_on_both_sides_is_told_by_its_objects() -> None:
    assert not fields(vendored({"MTU": 9000}), vendored({"MTU": 1500}))


def test_what_is_vendored_on_one_side_is_compared_by_its_values() -> None:
    assert not fields(unvendored({"MTU": 9000}), vendored({"MTU": 9000}))
    assert fields(vendored({"MTU": 9000}), unvendored({"MTU": 1500})) == [
        ("changed", "net", ("values", "MTU"), 9000, 1500)
    ]


def test_a_component_that_goes_is_told_by_its_chart_or_its_objects() -> None:
    assert [one[:2] for one in fields(unvendored({}), {})] == [("removed", "net")]
    assert not fields(vendored({}), {})


def test_versions_are_read_from_what_is_rendered() -> None:
    old = {
        "overlays/one/cilium/kustomization.yaml": {"resources": ["../../../base/cilium/1.19.6"]},
        "overlays/one/kueue/kustomization.yaml": {"resources": ["../../../base/kueue/v0.18.3"]},
        "overlays/one/load-balancer/kustomization.yaml": {"resources": ["../../../base/load-balancer/1.19.6"]},
        "clusters/one/bootstrap/kubeadm/init.yaml": {"kubernetesVersion": "v1.34.2"},
    }
    new = {
        **old,
        "overlays/one/cilium/kustomization.yaml": {"resources": ["../../../base/cilium/1.20.0"]},
        "overlays/one/load-balancer/kustomization.yaml": {"resources": ["../../../base/load-balancer/1.20.0"]},
        "clusters/one/bootstrap/kubeadm/init.yaml": {"kubernetesVersion": "v1.35.3"},
    }
    found = version_changes(standing(old), standing(new))
    # load-balancer has no version of its own: it goes with the pod network.
    assert [(one.name, one.fields[0].old, one.fields[0].new) for one in found] == [
        ("cilium", "1.19.6", "1.20.0"),
        ("kubernetes", "1.34.2", "1.35.3"),
    ]
    assert found[0].new["components"] == {"cilium": "1.20.0", "kubernetes": "1.35.3", "kueue": "v0.18.3"}
