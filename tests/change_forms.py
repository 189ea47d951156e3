"""Changes of what is no object, as the cases of `tests/changes/` write them: `form` says how `old` and `new` are meant.

`release`: a chart that is not vendored; `versions`: of Kubernetes and of components; `bootstrap`: files for nodes;
`cluster`: clusters, with their nodes.
"""

from collections.abc import Mapping
from typing import Any

from made_sides import side

from generator.model.change import ObjectChange
from generator.review.bootstrap import bootstrap_changes
from generator.review.charts import chart_changes
from generator.review.compare import compare
from generator.review.component_versions import version_changes
from generator.review.standing import Standing

LABELS = "clusters/one/bootstrap/nodes/labels.list"


def release(given: Any) -> dict[str, Any]:
    """Return the files of an Application with one chart, none where there is none."""
    if given is None:
        return {}
    place = f"overlays/one/{given['name']}"
    chart = {
        "name": given["name"],
        "repo": "https://charts.example.org",
        "version": "1.0.0",
        "namespace": "some",
        **given,
    }
    values = chart.pop("values", {})
    return {
        f"{place}/kustomization.yaml": {"resources": ["releases"]},
        f"{place}/releases/kustomization.yaml": {"helmCharts": [{**chart, "valuesFile": "values.yaml"}]},
        f"{place}/releases/values.yaml": values,
    }


def versions(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the files that say the versions of components."""
    settings = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "kubernetesVersion": f"v{given.get('kubernetes', '1.35.3')}",
    }
    return {"clusters/one/bootstrap/kubeadm/init.yaml": settings} | {
        f"overlays/one/{name}/kustomization.yaml": {"resources": [f"../../../base/{name}/{version}"]}
        for name, version in given.items()
    }


def bootstrap(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return files below the folder bootstrap; unless they say otherwise there is one node, of the pool `gpu`."""
    said = {"nodes/labels.list": "label gpu-1 gen.internal/pool=gpu\n", **given}
    return {f"clusters/one/bootstrap/{path}": content for path, content in said.items()}


def clusters(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the files of clusters, by the nodes of each."""
    found: dict[str, Any] = {}
    for name, nodes in given.items():
        found[f"clusters/{name}/argocd/kustomization.yaml"] = {"resources": []}
        listed = "".join(f"label {node} a=b\n" for node in nodes.split())
        found[LABELS.replace("one", name)] = listed
        found[f"overlays/{name}/a/kustomization.yaml"] = {"resources": []}
    return found


FORMS = {"release": release, "versions": versions, "bootstrap": bootstrap}


def changes(case: Mapping[str, Any]) -> list[ObjectChange]:
    """Return what differs between both sides of a case."""
    if case["form"] == "cluster":
        sides = [clusters(case.get(which, {})) for which in ("old", "new")]
        both = compare(side(sides[0]), side(sides[1]), {*sides[0], *sides[1]})
        return [change for one in both for change in one.changes]
    old, new = (Standing(side(FORMS[case["form"]](case.get(which))), "one") for which in ("old", "new"))
    return [*version_changes(old, new), *chart_changes(old, new), *bootstrap_changes(old, new)]
