"""Two sides of a repository, compared cluster by cluster."""

from typing import Any

import yaml
from sides import side

from generator.build.objects import ROOT
from generator.model.change import ObjectChange
from generator.review.compare import compare

APP = "overlays/one/app"
RESOURCES = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: "


def named(kind: str, name: str, **more: Any) -> str:
    """Return an object as text."""
    return yaml.safe_dump({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **more})


def application(path: str) -> str:
    """Return an Application as text."""
    spec = {"source": {"path": path}, "project": "p", "destination": {"namespace": "shop"}}
    metadata = {"name": "app", "namespace": "argocd", "annotations": {"argocd.argoproj.io/sync-wave": "3"}}
    return yaml.safe_dump(
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec}
    )


ARGOCD = {
    "clusters/one/argocd/kustomization.yaml": f"{RESOURCES}[app.yaml]\n",
    "clusters/one/argocd/app.yaml": application(APP),
}
CHARTS = "[{name: app, repo: 'https://a', version: '1'}]"
UNVENDORED = {
    **ARGOCD,
    f"{APP}/kustomization.yaml": f"{RESOURCES}[own.yaml, releases]\n",
    f"{APP}/own.yaml": named("ConfigMap", "own"),
    f"{APP}/releases/kustomization.yaml": f"{RESOURCES}[]\nhelmCharts: {CHARTS}\n",
}
VENDORED = {
    **ARGOCD,
    f"{APP}/kustomization.yaml": f"{RESOURCES}[own.yaml, upstream]\n",
    f"{APP}/own.yaml": named("ConfigMap", "own"),
    f"{APP}/upstream/kustomization.yaml": f"{RESOURCES}[service.yaml]\n",
    f"{APP}/upstream/service.yaml": named("Service", "made-by-the-chart", spec={"ports": [{"port": 1}]}),
    f"{APP}/upstream/inputs.yaml": yaml.safe_dump(
        {"releases": [{"name": "app", "chart": {"name": "app", "repository": "https://a", "version": "1"}}]}
    ),
}


def changes(old: dict[str, str], new: dict[str, str]) -> list[ObjectChange]:
    """Return what differs on the one cluster."""
    paths = {path for path in {*old, *new} if old.get(path) != new.get(path)}
    return [change for one in compare(side(old), side(new), paths) for change in one.changes]


def shown(found: list[ObjectChange]) -> list[tuple[str, str, str]]:
    return [(one.on, one.kind, one.name) for one in found]


def test_what_a_chart_made_does_not_come_when_it_is_vendored_nor_go_when_it_no_longer_is() -> None:
    assert shown(changes(UNVENDORED, VENDORED)) == []
    assert shown(changes(VENDORED, UNVENDORED)) == []


def test_what_is_our_own_comes_and_goes_though_charts_are_not_vendored() -> None:
    without = {**VENDORED, f"{APP}/kustomization.yaml": f"{RESOURCES}[upstream]\n"}
    del without[f"{APP}/own.yaml"]
    assert shown(changes(UNVENDORED, without)) == [("removed", "/ConfigMap", "own")]
    assert shown(changes(without, UNVENDORED)) == [("added", "/ConfigMap", "own")]


def test_what_leaves_a_chart_that_is_vendored_on_both_sides_goes() -> None:
    less = {**VENDORED, f"{APP}/upstream/kustomization.yaml": f"{RESOURCES}[]\n"}
    del less[f"{APP}/upstream/service.yaml"]
    assert shown(changes(VENDORED, less)) == [("removed", "/Service", "made-by-the-chart")]


def in_shop(config: str) -> dict[str, str]:
    """Return an Application for the namespace `shop` with one ConfigMap."""
    return {**ARGOCD, f"{APP}/kustomization.yaml": f"{RESOURCES}[own.yaml]\n", f"{APP}/own.yaml": config}


def test_the_namespace_of_the_application_may_be_left_out() -> None:
    said = in_shop(named("ConfigMap", "own"))
    unsaid = in_shop(yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}}))
    assert changes(said, unsaid) == []
    elsewhere = named("ConfigMap", "own").replace("shop", "other")
    assert shown(changes(unsaid, in_shop(elsewhere))) == [
        ("added", "/ConfigMap", "own"),
        ("removed", "/ConfigMap", "own"),
    ]


def patched(image: str, *, charts: dict[str, str] = UNVENDORED) -> dict[str, str]:
    """Return an Application whose chart is patched, in a file of its own."""
    patch = yaml.safe_dump([{"op": "replace", "path": "/spec/image", "value": image}])
    custom = "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n"
    said = charts[f"{APP}/kustomization.yaml"]
    return {
        **charts,
        f"{APP}/kustomization.yaml": f"{said}components: [custom]\n",
        f"{APP}/custom/kustomization.yaml": f"{custom}patches: [{{path: web.yaml, target: {{kind: Deployment}}}}]\n",
        f"{APP}/custom/web.yaml": patch,
    }


def test_a_patch_of_what_is_not_vendored_is_told_with_its_file() -> None:
    (found,) = changes(patched("web:1"), patched("web:2"))
    assert (found.kind, found.name, found.file) == (
        "kustomize/Patches",
        "app/custom/kustomization.yaml",
        f"{APP}/custom/kustomization.yaml",
    )
    ((path, old, new),) = [(field.path, field.old, field.new) for field in found.fields]
    assert path == ("patches[0]", "patch")
    assert ("web:1" in old, "web:2" in new) == (True, True)
    (come,) = changes(UNVENDORED, patched("web:2"))
    assert come.fields[0].new["target"] == {"kind": "Deployment"}


def test_patches_come_and_go_with_their_component() -> None:
    none = {path: text for path, text in patched("web:1").items() if path.startswith("clusters/")}
    for old, new in ((none, patched("web:1")), (patched("web:1"), none)):
        assert "kustomize/Patches" not in {one.kind for one in changes(old, new)}


def test_of_a_patch_of_what_is_vendored_the_objects_tell() -> None:
    found = changes(patched("web:1", charts=VENDORED), patched("web:2", charts=VENDORED))
    assert "kustomize/Patches" not in {one.kind for one in found}


def told(old: dict[str, str], new: dict[str, str]) -> frozenset[str]:
    """Return the Applications of which all that goes is told by itself."""
    paths = {path for path in {*old, *new} if old.get(path) != new.get(path)}
    return compare(side(old), side(new), paths)[0].beside.built - {ROOT}


def test_only_what_was_built_is_told_by_itself() -> None:
    none = {"clusters/one/argocd/kustomization.yaml": f"{RESOURCES}[]\n"}
    charts_alone = {**UNVENDORED, f"{APP}/kustomization.yaml": f"{RESOURCES}[releases]\n"}
    assert told(in_shop(named("ConfigMap", "own")), none) == {"app"}
    assert told(charts_alone, none) == {"app"}
    assert told(in_shop("kind: {"), none) == set()
    left = {path: text for path, text in in_shop(named("ConfigMap", "own")).items() if path.startswith("overlays/")}
    # A folder that stays, and that no Application holds any more, is built for what it held.
    assert told(in_shop(named("ConfigMap", "own")), {**none, **left}) == {"app"}


def test_what_names_no_namespace_goes_with_that_of_its_application() -> None:
    unsaid = in_shop(yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}}))
    other = {**unsaid, "clusters/one/argocd/app.yaml": application(APP).replace("namespace: shop", "namespace: other")}
    found = [one for one in changes(unsaid, other) if one.kind == "/ConfigMap"]
    assert sorted((one.on, one.namespace) for one in found) == [("added", "other"), ("removed", "shop")]
