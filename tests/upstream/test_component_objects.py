"""Objects of one component on their cluster."""

from typing import Any

import pytest
from chartworld import component

from generator.build.kinds import Kinds
from generator.components.component import Patch
from generator.upstream.component_objects import ClusterView, ComponentObjects, component_objects
from generator.upstream.split import Item, Part

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "a", "namespace": "b"},
}
TOY = {"apiVersion": "example.org/v1", "kind": "Toy", "metadata": {"name": "a"}}


def definition(scope: str = "Namespaced", *, serves: bool = True) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.example.org"},
        "spec": {
            "group": "example.org",
            "names": {"kind": "Toy"},
            "scope": scope,
            "versions": [{"name": "v1", "served": serves}],
        },
    }


def settled(*manifests: dict[str, Any], beside: Any = (), complete: bool = True, **more: Any) -> ComponentObjects:
    items = tuple(Item(one, "chart toy 1", f"toy/{index}.yaml") for index, one in enumerate(manifests))
    around = ClusterView(
        kubernetes="1.35.3",
        served=Kinds.at(35).joined(beside),
        namespaces=frozenset({"toy"}),
        complete=complete,
    )
    return component_objects(component(**more), [("toy", Part(items=items))], around)


def metadata(found: ComponentObjects) -> list[dict[str, Any]]:
    assert not found.findings, found.findings
    return [item.manifest["metadata"] for item in found.items]


def test_every_object_gets_the_namespace_it_belongs_to() -> None:
    other = {**MAP, "metadata": {"name": "b", "namespace": "own"}}
    assert metadata(settled(MAP, other, ROLE)) == [
        {"name": "a", "namespace": "toy"},
        {"name": "b", "namespace": "own"},
        {"name": "a"},
    ]
    found = settled(MAP, other, ROLE).found
    assert (found.namespaces, found.kinds) == (("own", "toy"), ("rbac.authorization.k8s.io/ClusterRole",))


def test_the_scope_of_a_custom_kind_is_that_of_its_crd() -> None:
    assert metadata(settled(TOY, beside=[definition()])) == [{"name": "a", "namespace": "toy"}]
    assert metadata(settled(TOY, beside=[definition("Cluster")])) == [{"name": "a"}]


def test_a_kind_that_nothing_serves_is_wrong_only_where_all_is_known() -> None:
    assert "with this cluster's CRDs does not serve (toy/0.yaml)" in settled(TOY).findings[0].message
    assert "does not serve" in settled(TOY, beside=[definition(serves=False)]).findings[0].message
    found = settled(TOY, complete=False)
    assert metadata(found) == [{"name": "a"}]
    assert "Toy a is of example.org/v1, and no CRD that is vendored here serves it" in found.notes[0]


@pytest.mark.parametrize("version", ["policy/v1beta1", "batch/v1beta1", "extensions/v1beta1", "v2"])
def test_what_kubernetes_itself_would_have_to_serve_is_always_wrong(version: str) -> None:
    found = settled({**MAP, "apiVersion": version}, complete=False)
    assert f"is of {version}, which Kubernetes 1.35.3 does not serve" in found.findings[0].message


def test_an_aggregated_api_serves_its_version() -> None:
    service = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "s"}}
    assert settled(TOY, beside=[{**service, "spec": {"group": "example.org", "version": "v1"}}]).findings == ()


def test_a_namespace_of_ours_is_left_to_us_and_another_refused() -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "toy"}}
    assert metadata(settled(space)) == []
    assert "makes the Namespace x" in settled({**space, "metadata": {"name": "x"}}).findings[0].message


def test_the_same_object_twice_is_told_with_both_templates() -> None:
    found = settled(MAP, {**MAP, "metadata": {"name": "a", "namespace": "toy"}})
    assert found.findings[0].message == (
        "ConfigMap toy/a is there twice: toy/0.yaml of chart toy 1, and toy/1.yaml of chart toy 1"
    )
    own = {**MAP, "metadata": {"name": "a", "namespace": "toy"}}
    assert "twice: from gen's own objects, and toy/0.yaml" in settled(MAP, objects=(own,)).findings[0].message


def test_two_objects_that_would_be_one_file_are_refused() -> None:
    colon = [{**ROLE, "metadata": {"name": name}} for name in ("a:b", "a-b")]
    assert "would be one file" in settled(*colon).findings[0].message


@pytest.mark.parametrize("name", ["a", "a|b", "[a]"])
def test_a_patch_finds_its_target_as_kustomize_does(name: str) -> None:
    patch = Patch(target={"version": "v1", "kind": "ConfigMap", "name": name, "namespace": "toy"}, operations=())
    assert settled(MAP, patches=(patch,)).findings == ()


@pytest.mark.parametrize("target", [{"name": "b"}, {"group": "apps"}, {"namespace": "x"}, {"name": "aa"}, {"name": ""}])
def test_a_patch_that_meets_nothing_is_wrong(target: dict[str, str]) -> None:
    patch = Patch(target={"version": "v1", "kind": "ConfigMap", **target}, operations=())
    assert bool(settled(MAP, patches=(patch,)).findings) is bool(next(iter(target.values())))


def test_accounts_in_bindings_get_their_namespace() -> None:
    subjects = [{"kind": "ServiceAccount", "name": "a"}, {"kind": "Group", "name": "g"}, "odd"]
    binding = {**ROLE, "kind": "ClusterRoleBinding", "subjects": subjects}
    found = settled(binding).items[0].manifest["subjects"]
    assert found == [{"kind": "ServiceAccount", "name": "a", "namespace": "toy"}, *subjects[1:]]
