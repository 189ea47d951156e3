"""What each rule says of a change, and of a near miss: `tests/changes/<code>.yaml`.

A case says what stands before and after, `old` and `new`: objects, or in another `form`: `release`, a chart that is not
vendored; `versions`, of Kubernetes and of components; `bootstrap`, files for nodes; `cluster`, the nodes of clusters.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_sides import side

from generator.build.difference import differences
from generator.build.objects import Object
from generator.model.change import ObjectChange
from generator.review.bootstrap import bootstrap_changes
from generator.review.charts import chart_changes
from generator.review.compare import compare
from generator.review.component_versions import version_changes
from generator.review.judging import judge
from generator.review.report import rules
from generator.review.standing import Standing

FOLDER = Path(__file__).parents[1] / "changes"
CASES = [
    pytest.param(case, id=f"{file.stem}: {case['name']}")
    for file in sorted(FOLDER.glob("*.yaml"))
    for case in yaml.safe_load(file.read_text())
]
LABELS = "clusters/one/bootstrap/nodes/labels.list"


def objects(given: Any) -> list[Object]:
    """Return the objects of one side: one manifest, a list of them, or nothing."""
    listed = given if isinstance(given, list) else [given] if given else []
    return [Object(one, one.pop("application", "some"), "some.yaml") for one in listed]


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
    form = case.get("form")
    if form is None:
        return differences(objects(case.get("old")), objects(case.get("new")))
    if form == "cluster":
        sides = [clusters(case.get(which, {})) for which in ("old", "new")]
        both = compare(side(sides[0]), side(sides[1]), {*sides[0], *sides[1]})
        return [change for one in both for change in one.changes]
    old, new = (Standing(side(FORMS[form](case.get(which))), "one") for which in ("old", "new"))
    return [*version_changes(old, new), *chart_changes(old, new), *bootstrap_changes(old, new)]


@pytest.mark.parametrize("case", CASES)
def test_a_change_means_what_is_said(case: dict[str, Any]) -> None:
    first = judge(changes(case), rules())[0]
    meaning = first.meanings[0]
    found = {"effect": str(meaning.effect), **({"code": meaning.rule.code} if meaning.rule else {})}
    assert found == case["expect"], meaning
    assert meaning.rule is None or "{" not in meaning.rule.reason + meaning.rule.instead


def test_each_code_is_one_rule() -> None:
    codes = [rule.code for rule in rules()]
    assert sorted(set(codes)) == sorted(codes)


INFRASTRUCTURE = sorted(rule.code for rule in rules() if "GEN-CHG-200" <= rule.code < "GEN-CHG-400")


@pytest.mark.parametrize("code", INFRASTRUCTURE)
def test_a_rule_of_the_infrastructure_has_a_case_and_a_near_miss(code: str) -> None:
    cases = yaml.safe_load((FOLDER / f"{code}.yaml").read_text())
    assert {case["expect"].get("code") == code for case in cases} == {True, False}
