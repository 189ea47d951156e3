"""Charts' documents as objects."""

from typing import Any

import pytest
from chartworld import release
from hypothesis import given
from hypothesis import strategies as st

from generator.components.component import protect
from generator.upstream.documents import SourcedDocument
from generator.upstream.split import Part, split

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "b"}}


def parted(*values: Any, chart: bool = True, **decisions: Any) -> Part:
    return split(
        [SourcedDocument("toy/a.yaml", value) for value in values],
        "chart toy 1",
        release("x", **decisions) if chart else None,
    )


def hooked(hook: str, manifest: dict[str, Any] = MAP) -> dict[str, Any]:
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": {"helm.sh/hook": hook, "helm.sh/x": "y"}}}


def secret(**content: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, **content}


def made(part: Part) -> list[dict[str, Any]]:
    assert not part.findings, part.findings
    return [item.manifest for item in part.items]


def test_a_private_key_in_a_config_map_is_refused_and_not_repeated() -> None:
    body = "MIIEow" + "A" * 20
    key = "-----BEGIN " + f"PRIVATE KEY-----\n{body}\n"
    (finding,) = parted({**MAP, "data": {"tls.key": key, "a": "how -----BEGIN PRIVATE KEY----- begins"}}).findings
    assert "holds a private key in tls.key" in finding.message
    assert body not in finding.message + finding.fix


def test_lists_are_opened_at_every_depth() -> None:
    inner = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [MAP, None]}
    assert made(parted(None, {"apiVersion": "v1", "kind": "List", "items": [inner, MAP]})) == [MAP, MAP]


def test_null_fields_go_at_every_depth_and_null_items_stay() -> None:
    data = {"a": None, "b": [None, {"c": None, "d": ""}], "e": {}, "f": {"g": None}}
    assert made(parted({**MAP, "data": data, "x": None})) == [
        {**MAP, "data": {"b": [None, {"d": ""}], "e": {}, "f": {}}}
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1], "a document is no map but list"),
        ("text", "a document is no map but str"),
        ({"kind": "A"}, "without a usable apiVersion and kind"),
        ({"apiVersion": "v1", "kind": "../A", "metadata": {"name": "a"}}, "without a usable apiVersion and kind"),
        ({**MAP, "metadata": {}}, "ConfigMap without a usable name: None"),
        ({**MAP, "metadata": None}, "ConfigMap without a usable name: None"),
        ({**MAP, "metadata": {"generateName": "a-"}}, "without a usable name"),
        ({**MAP, "metadata": {"name": "../../etc/a"}}, "without a usable name: '../../etc/a'"),
        ({**MAP, "metadata": {"name": ".."}}, "without a usable name"),
        ({**MAP, "metadata": {"name": "a\nb"}}, "without a usable name"),
        ({**MAP, "metadata": {"name": "a", "namespace": 5}}, "ConfigMap a without a usable namespace: 5"),
        ({**MAP, "metadata": {"name": "a", "namespace": 0}}, "without a usable namespace: 0"),
        ({**MAP, "metadata": {"name": "a", "namespace": ["b"]}}, "without a usable namespace: ['b']"),
        ({**MAP, "metadata": {"name": "a", "namespace": "../../b"}}, "without a usable namespace: '../../b'"),
        ({**MAP, "metadata": {"name": "a", "namespace": "b\n"}}, "without a usable namespace"),
        ({**CRD, "metadata": {"name": "a", "namespace": "../b"}}, "without a usable namespace: '../b'"),
        ({**MAP, "metadata": {"name": "a/../b"}}, "without a usable name: 'a/../b'"),
        ({"apiVersion": "v1", "kind": "List", "items": []}, "there is no object in it"),
    ],
)
def test_what_is_no_object_is_refused_with_its_template(value: Any, words: str) -> None:
    part = parted(value)
    assert not part.items
    assert words in part.findings[0].message
    assert part.findings[0].message.startswith("chart toy 1: ")
    assert part.findings[0].message.endswith((" (toy/a.yaml)", "no object in it"))


@pytest.mark.parametrize("space", [None, "", "a", "a-1", "9" * 63])
def test_a_namespace_that_kubernetes_takes_is_taken(space: str | None) -> None:
    assert len(made(parted({**MAP, "metadata": {"name": "a:b.c", "namespace": space}}))) == 1


def test_tests_are_always_dropped() -> None:
    assert made(parted(*map(hooked, ("test", "test-success", "test-failure, test")))) == []


def test_a_test_that_is_more_than_a_test_needs_a_decision() -> None:
    assert "is a hook (test,post-install)" in parted(hooked("test,post-install")).findings[0].message


@pytest.mark.parametrize(("hook", "wave"), [("pre-install", "-1"), ("post-install,post-upgrade", "1")])
def test_a_plain_hook_gets_a_wave_and_loses_what_helm_reads(hook: str, wave: str) -> None:
    found = made(parted(hooked(hook), hooks={"a": "plain"}))
    assert found[0]["metadata"]["annotations"] == {"helm.sh/x": "y", "argocd.argoproj.io/sync-wave": wave}


def test_a_crd_is_a_crd_even_as_a_hook() -> None:
    part = parted(hooked("crd-install", CRD))
    (found,) = part.definitions
    assert found.manifest == protect({**CRD, "metadata": {"name": "b", "annotations": {"helm.sh/x": "y"}}})
    assert not part.items


def test_a_hook_that_is_a_secret_needs_both_decisions() -> None:
    value = hooked("pre-install", secret(data={"a": "eA=="}))
    assert "Secret a would be made" in parted(value, hooks={"a": "plain"}).findings[0].message
    assert "data" not in made(parted(value, hooks={"a": "plain"}, secrets={"a": "placeholder"}))[0]
    assert made(parted(value, hooks={"a": "drop"})) == []


@pytest.mark.parametrize("content", [{"data": {"a": "eA=="}}, {"stringData": {"a": "x"}}, {}])
def test_a_placeholder_holds_nothing(content: dict[str, Any]) -> None:
    assert made(parted(secret(type="Opaque", **content), secrets={"a": "placeholder"})) == [secret(type="Opaque")]


def test_a_placeholder_for_tls_keeps_the_keys_that_the_api_server_wants() -> None:
    value = secret(type="kubernetes.io/tls", data={"tls.crt": "eA==", "tls.key": "eA==", "ca.crt": "eA=="})
    assert made(parted(value, secrets={"a": "placeholder"}))[0]["data"] == {"tls.crt": "", "tls.key": ""}


def test_a_manifest_may_bring_an_empty_secret_and_no_other() -> None:
    assert made(parted(secret(), chart=False)) == [secret()]
    assert "Secret a would be made" in parted(secret(data={"a": "eA=="}), chart=False).findings[0].message
    assert "Secret a would be made" in parted(secret()).findings[0].message


def test_a_secret_of_a_manifest_goes_as_its_component_declares_it_in_its_namespace() -> None:
    there = {**secret(data={"a": "eA=="}), "metadata": {"name": "a", "namespace": "toys"}}
    document = [SourcedDocument("", there)]
    assert made(split(document, "manifest x", secrets={"toys/a": "drop"})) == []
    assert "data" not in made(split(document, "manifest x", secrets={"toys/a": "placeholder"}))[0]
    (finding,) = split(document, "manifest x", secrets={"a": "drop", "others/a": "drop"}).findings
    assert finding.fix == (
        "declare it: `secrets: [{name: a, keys: [a]}]` below the component in `extras`, whose `namespace` is toys"
    )
    assert not split([SourcedDocument("", MAP)], "manifest x", secrets={"toys/a": "drop"}).notes


def test_a_decision_on_what_is_not_there_is_noted() -> None:
    part = parted(MAP, hooks={"old": "drop"}, secrets={"older": "drop"})
    assert part.notes == (
        "chart toy 1 has no hook old: its decision is not needed any more",
        "chart toy 1 has no Secret older: its decision is not needed any more",
    )


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["apiVersion", "kind", "metadata", "name", "items", "annotations"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(ANY)
def test_nothing_makes_it_raise(value: Any) -> None:
    assert isinstance(parted(value), Part)


def labelled(kind: str, **content: Any) -> dict[str, Any]:
    labels = {"app": "a", "helm.sh/chart": "toy-1", "app.kubernetes.io/version": "1"}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": kind.lower(), "labels": labels}, **content}


def test_labels_that_name_a_version_go_from_objects_and_templates() -> None:
    deployment = labelled("Deployment", spec={"template": {"metadata": labelled("Pod")["metadata"]}})
    (found,) = made(parted(deployment))
    assert found["metadata"]["labels"] == {"app": "a"}
    assert found["spec"]["template"]["metadata"]["labels"] == {"app": "a"}
    (crd,) = parted({**CRD, "metadata": {"name": "b", "labels": {"helm.sh/chart": "toy-1"}}}, MAP).definitions
    assert "labels" not in crd.manifest["metadata"]


@pytest.mark.parametrize(
    "selector", [{"helm.sh/chart": "toy-1"}, {"matchExpressions": [{"key": "helm.sh/chart", "operator": "Exists"}]}]
)
def test_a_label_that_something_selects_by_stays(selector: dict[str, Any]) -> None:
    found = made(parted(labelled("ConfigMap"), labelled("Service", spec={"selector": selector})))
    assert [one["metadata"]["labels"] for one in found] == [{"app": "a", "helm.sh/chart": "toy-1"}] * 2
