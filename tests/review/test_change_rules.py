"""What each rule says of a change, and of a near miss: `tests/changes/<code>.yaml`.

A case says what stands before and after, `old` and `new`, with what `both` have: objects, or in another `form`:
`release`, a chart that is not vendored; `patches`, those of such a chart; `versions`, of Kubernetes and of components;
`bootstrap`, files for nodes; `cluster`, the nodes of clusters; `files`, some of a repository.
What is expected is the effect of the loudest of what differs, or of the change of the kind that it is `about`; or what
is opened, `opens`: the codes, each with what is gained.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
import yaml
from changecases import FOLDER, cases
from sides import side

from generator.build.difference import differences
from generator.build.objects import Object
from generator.model.change import Beside, ObjectChange
from generator.model.opening import OpeningRule
from generator.repository.sides import Side
from generator.review.bootstrap import bootstrap_changes
from generator.review.charts import chart_changes
from generator.review.compare import compare
from generator.review.component_versions import version_changes
from generator.review.judging import JudgedChange, judge
from generator.review.patches import patch_changes
from generator.review.report import rules
from generator.review.standing import Standing
from generator.review.transitions import CODE, transition_rules

FILES = {file.stem: cases(file) for file in sorted(FOLDER.glob("*.yaml"))}
CASES = [pytest.param(case, id=f"{code}: {case['name']}") for code, found in FILES.items() for case in found]
LABELS = "clusters/one/bootstrap/nodes/labels.list"


def objects(given: Any) -> list[Object]:
    """Return the objects of one side: one manifest, a list of them, or nothing."""
    listed = deepcopy(given if isinstance(given, list) else [given] if given else [])
    return [Object(one, one.pop("application", "some"), "some.yaml") for one in listed]


def by_kind(found: list[Object]) -> dict[str, list[Any]]:
    kinds = {f"{one.group}/{one.kind}" for one in found}
    return {kind: [one.manifest for one in found if f"{one.group}/{one.kind}" == kind] for kind in kinds}


def made(files: Mapping[str, Any]) -> Side:
    """Return a side of these files, whose content is a text, a document, or a list of documents."""
    return side({path: content if isinstance(content, str) else dumped(content) for path, content in files.items()})


def dumped(content: Any) -> str:
    """Write documents as YAML."""
    return yaml.safe_dump_all(content if isinstance(content, list) else [content])


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


def patches(given: Any) -> dict[str, Any]:
    """Return the kustomization of an Application with these patches."""
    place = "overlays/one/some"
    return {f"{place}/kustomization.yaml": {}, f"{place}/custom/kustomization.yaml": {"patches": given or []}}


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


def in_one(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return files of the repository, beside an Application `a` of the cluster `one`, made of the folder `a`."""
    application = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "a"},
        "spec": {"source": {"path": "overlays/one/a"}},
    }
    return {
        "clusters/one/argocd/kustomization.yaml": {"resources": ["a.yaml"]},
        "clusters/one/argocd/a.yaml": application,
        "overlays/one/a/kustomization.yaml": {"components": ["custom"]},
        "overlays/one/a/custom/kustomization.yaml": {
            "apiVersion": "kustomize.config.k8s.io/v1alpha1",
            "kind": "Component",
            **given.get("custom", {}),
        },
        **{path: content for path, content in given.items() if path != "custom"},
    }


FORMS = {"release": release, "patches": patches, "versions": versions, "bootstrap": bootstrap}


def changes(case: Mapping[str, Any]) -> list[ObjectChange]:
    """Return what differs between both sides of a case."""
    form = case.get("form")
    if form is None:
        return differences(objects(case.get("old")), objects(case.get("new")))
    if form in {"cluster", "files"}:
        laid = clusters if form == "cluster" else in_one
        files, others = laid(case.get("old", {})), laid(case.get("new", {}))
        differing = {path for path in {*files, *others} if files.get(path) != others.get(path)}
        both = compare(made(files), made(others), differing)
        return [change for one in both for change in one.changes]
    old, new = (Standing(made(FORMS[form](case.get(which))), "one") for which in ("old", "new"))
    of_charts = (*chart_changes(old, new), *patch_changes(old, new, {"some"}))
    return [*version_changes(old, new), *of_charts, *bootstrap_changes(old, new)]


def judged(case: Mapping[str, Any]) -> list[JudgedChange]:
    """Return what the rules say of a case."""
    old, new = (objects(case.get(which)) if "form" not in case else [] for which in ("old", "new"))
    definitions = [one.manifest for one in new if one.kind == "CustomResourceDefinition"]
    every = (*rules(), *transition_rules(definitions))
    return judge(changes(case), every, Beside(by_kind(old), by_kind(new), frozenset(one.component for one in old)))


@pytest.mark.parametrize("case", CASES)
def test_a_change_means_what_is_said(case: dict[str, Any]) -> None:
    if "opens" in case["expect"]:
        openings = [opening for each in judged(case) for opening in each.opens]
        assert {opening.rule.code: list(opening.gains) for opening in openings} == case["expect"]["opens"]
        return
    meaning = next(one for one in judged(case) if case.get("about") in (None, one.change.kind)).meanings[0]
    found = {"effect": str(meaning.effect), **({"code": meaning.rule.code} if meaning.rule else {})}
    assert found == case["expect"], meaning
    assert meaning.rule is None or "{" not in meaning.rule.reason + meaning.rule.instead


def test_each_code_is_one_rule() -> None:
    codes = [rule.code for rule in rules()]
    assert sorted(set(codes)) == sorted(codes)


@pytest.mark.parametrize("code", sorted({rule.code for rule in rules()} | {CODE}))
def test_each_rule_has_a_file_that_shows_it_and_a_near_miss(code: str) -> None:
    opening = {rule.code for rule in rules() if isinstance(rule, OpeningRule)}
    if code in opening:
        opened = [code in case["expect"].get("opens", ()) for case in FILES.get(code, ())]
        assert {*opened} == {True, False}, f"tests/changes/{code}.yaml: a case in which {code} opens, and a near miss"
        return
    expected = [case["expect"].get("code") for case in FILES.get(code, ())]
    assert code in expected, f"tests/changes/{code}.yaml: no case in which {code} is what counts"
    assert set(expected) != {code} or len({case["expect"]["effect"] for case in FILES[code]}) > 1, "no near miss"
