"""An API server's words, read. Every message was said by a real 1.35."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.build.objects import Object
from generator.live.api import Answer
from generator.live.dry_run import refusals
from generator.live.dry_run.refusals import findings, unserved
from generator.model.rule import explained

MANIFEST: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"replicas": -1, "selector": {}, "template": {"spec": {"containers": [{"name": "x", "resource": {}}]}}},
}
ONE = Object(MANIFEST, "", "a.yaml")
TYPED = "failed to create typed patch object (default/a; apps/v1, Kind=Deployment): "


def read(status: int, message: str, **details: Any) -> list[tuple[str, tuple[str | int, ...]]]:
    found = findings(ONE, Answer(status, {"message": message, "details": details}))
    return [(problem.code, problem.at) for problem in found]


@pytest.mark.parametrize(
    ("status", "message", "code", "at"),
    [
        (
            500,
            TYPED + '.spec.template.spec.containers[name="x"].resource: field not declared in schema',
            "GEN-SRV-002",
            ("spec", "template", "spec", "containers", 0, "resource"),
        ),
        (
            500,
            TYPED + ".spec.replicas: expected numeric (int or float), got string",
            "GEN-SRV-003",
            ("spec", "replicas"),
        ),
        (
            403,
            'pods "x" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
            "GEN-SRV-005",
            (),
        ),
        (
            403,
            'deployments.apps "a" is forbidden: User "judge" cannot patch resource "deployments" in API group "apps"',
            "GEN-SRV-007",
            (),
        ),
        (
            500,
            'Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: service "n" not found',
            "GEN-SRV-006",
            (),
        ),
        (400, "invalid object type: /v2, Kind=ConfigMap", "GEN-SRV-010", ()),
    ],
)
def test_words_have_their_code_and_place(status: int, message: str, code: str, at: tuple[str | int, ...]) -> None:
    assert read(status, message) == [(code, at)]


def test_every_unknown_field_is_a_problem_of_its_own() -> None:
    message = (
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field '
        '"spec.replicas", unknown field "spec.selector", unknown field "spec.replicas"'
    )
    assert read(400, message) == [("GEN-SRV-002", ("spec", "replicas")), ("GEN-SRV-002", ("spec", "selector"))]


def test_every_cause_is_a_problem_of_its_own() -> None:
    causes = [
        {"field": "spec.replicas", "message": "Invalid value: -1: must be greater than or equal to 0"},
        {"field": "spec.selector", "message": "Invalid value: {}: field is immutable"},
        {"field": "<nil>", "message": "Invalid value: something of the whole object"},
    ]
    expected = [("GEN-SRV-003", ("spec", "replicas")), ("GEN-SRV-004", ("spec", "selector")), ("GEN-SRV-003", ())]
    assert read(422, 'Deployment.apps "a" is invalid', causes=causes) == expected


def test_that_rules_had_to_wait_is_no_problem_beside_another() -> None:
    """As kube-apiserver 1.35.3 says of Rook's `csi: {cephfs: null}`."""
    waited = {"field": "<nil>", "message": "Invalid value: null: some validation rules were not checked because the "
              "object was invalid; correct the existing errors to complete validation"}  # fmt: skip
    null = {"field": "spec.a", "message": "Invalid value: null"}
    assert len(read(422, "invalid", causes=[null, waited])) == 1
    assert len(read(422, "invalid", causes=[waited])) == 1


@pytest.mark.parametrize(
    ("value", "go"),
    [
        (True, "value.valueUnstructured{Value:true}"),
        ({"a": None}, 'value.valueUnstructured{Value:map[string]interface {}{"a":interface {}(nil)}}'),
        ([1, "a", None], "{[1 a <nil>]}"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_as_in_the_file(value: Any, go: str) -> None:
    one = Object({**MANIFEST, "spec": {"paused": value}}, "", "a.yaml")
    (found,) = findings(one, Answer(500, {"message": f"{TYPED}.spec.paused: expected boolean, got &{go}"}))
    assert found.message == f"spec.paused: expected boolean, got {json.dumps(value)}"
    assert found.at == ("spec", "paused")


def test_a_value_at_a_place_that_is_not_found_keeps_the_servers_words() -> None:
    one = Object({**MANIFEST, "spec": {"other": "not to be told"}}, "", "a.yaml")
    (found,) = findings(one, Answer(500, {"message": f"{TYPED}.spec.paused: expected boolean, got &{{x}}"}))
    assert found.message == "spec.paused: expected boolean, got &{x}"


def test_every_misfit_is_a_problem_of_its_own() -> None:
    message = (
        f"{TYPED}errors:\n  .spec.replicas: expected numeric (int or float), got string\n"
        '  .spec.template.spec.containers[name="x"].resource: field not declared in schema'
    )
    resource = ("spec", "template", "spec", "containers", 0, "resource")
    assert read(500, message) == [("GEN-SRV-003", ("spec", "replicas")), ("GEN-SRV-002", resource)]


@pytest.mark.parametrize(
    ("place", "words", "fix"),
    [
        ("spec.paused", 'Invalid value: "null": spec.paused in body must be of type boolean', "remove it, or give it"),
        ("spec.items[0]", 'Invalid value: "null": must be of type object', "remove it, or give it"),
        ("spec.paused", "Required value", "give it a value that"),
        ("spec.paused.seconds", "Invalid value: 3: too small", "give it a value that"),
        ("spec.replicas", "Invalid value: -1: must not be negative", "give it a value that"),
    ],
)
def test_a_null_may_be_removed_unless_a_value_is_required(place: str, words: str, fix: str) -> None:
    one = Object({**MANIFEST, "spec": {"paused": None, "items": [None], "replicas": -1}}, "", "a.yaml")
    (found,) = findings(one, Answer(422, {"details": {"causes": [{"field": place, "message": words}]}}))
    assert found.code == "GEN-SRV-003"
    assert found.fix.startswith(fix)


def test_a_namespace_that_is_not_there_is_shown_in_the_object() -> None:
    assert read(404, 'namespaces "default" not found', kind="namespaces") == [
        ("GEN-SRV-008", ("metadata", "namespace"))
    ]


@pytest.mark.parametrize("status", [200, 201])
def test_an_accepted_object_has_no_problem(status: int) -> None:
    assert read(status, "") == []


def test_words_are_one_line_and_not_endless() -> None:
    (found,) = findings(ONE, Answer(400, {"message": "a\n\tb" + "c" * 10_000}))
    assert found.message.startswith("a bc")
    assert len(found.message) < 2000


def test_what_is_not_served_is_told_with_what_is() -> None:
    assert unserved(ONE, ["apps/v1beta1", "apps/v2"]).fix == "write it in apps/v2"
    assert "is `Deployment` one of" in unserved(ONE, []).fix


def test_every_code_is_explained_once() -> None:
    assert list(explained([refusals])) == [f"GEN-SRV-{number:03}" for number in range(1, 11)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "spec.replicas", "<nil>", "unknown field"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["message", "details", "causes", "field", "kind", "name"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["message", "details"]), JSON), st.sampled_from([400, 403, 404, 422, 500]))
def test_no_answer_makes_it_raise(body: dict[str, Any], status: int) -> None:
    assert list(findings(ONE, Answer(status, body)))
