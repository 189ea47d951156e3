"""What a CRD's schema takes, as the API server reads it: with its defaults, and with what it keeps unknown."""

from pathlib import Path
from typing import Any

import pytest
from manifests import found, manifest
from test_folders_of_others import codes, put

from generator.rules import schemas
from generator.rules.schema_violations import Judge, Types
from generator.rules.structural import closed

TYPES = Types({"$id": "https://example.org/types.json"})
GROUP = {
    "type": "object", "required": ["name", "most"],
    "properties": {"name": {"type": "string"}, "most": {"type": "integer", "default": 9}},
}  # fmt: skip


def told(value: Any, schema: Any) -> list[str]:
    return [one.message for one in Judge(closed(schema), TYPES).violations(value)]


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ({"name": "a"}, []),
        ({"name": "a", "most": None}, []),
        ({"most": 1}, ["name is missing"]),
        ({"name": None}, ["name: null is not string"]),
        ({"name": "a", "most": "x"}, ["most: 'x' is not integer"]),
    ],
)
def test_a_field_with_a_default_need_not_be_there(value: Any, messages: list[str]) -> None:
    """As kube-apiserver 1.35.3 does with KubeRay's `maxReplicas`."""
    assert told(value, GROUP) == messages


def test_a_list_that_keeps_unknown_fields_keeps_those_of_its_items() -> None:
    """As in ECK's Logstash, whose pipelines are what Logstash reads."""
    listed = {"type": "array", "items": {"type": "object", "properties": {"id": GROUP}}}
    value = [{"config.string": "x"}]
    assert told(value, listed) == ["there is no field [0].config.string"]
    keeping = {**listed, "x-kubernetes-preserve-unknown-fields": True}
    assert told(value, keeping) == []
    assert told([{"id": {}}], keeping) == ["[0].id.name is missing"]


def crd(**version: Any) -> Any:
    one = {"name": "v1", "served": True, "storage": True, **version}
    names = {"kind": "Group", "plural": "groups"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [one]}
    made = manifest("CustomResourceDefinition", "apiextensions.k8s.io/v1", name="groups.example.org", spec=spec)
    return made | {"metadata": {"name": "groups.example.org"}}


def schema(**properties: Any) -> Any:
    return {"openAPIV3Schema": {"type": "object", "properties": properties}}


def test_a_status_that_the_server_drops_is_not_judged() -> None:
    shape = schema(spec=GROUP, status={"type": "object", "properties": {"phase": {"type": "string"}}})
    one = manifest("Group", "example.org/v1", spec={"name": "a"}, status={"phase": None})
    assert len(found(schemas.fitting, crd(schema=shape), one)) == 1
    assert found(schemas.fitting, crd(schema=shape, subresources={"status": {}}), one) == []


def test_a_crd_whose_schema_is_patched_judges_nothing_and_one_that_is_whole_wins(tmp_path: Path) -> None:
    one = manifest("Group", "example.org/v1", spec={"name": "a", "free": 1})
    patch = '[{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties"}]'
    put(tmp_path, one=one, crds__made=crd(schema=schema(spec=GROUP)), crds__kustomization={"resources": ["made.yaml"]})
    assert codes(tmp_path) == ["GEN-API-001"]
    target = {"kind": "CustomResourceDefinition"}
    patched = {"resources": ["../crds"], "patches": [{"path": "p.yaml", "target": target}]}
    put(tmp_path, patches__p=patch, patches__kustomization=patched)
    assert codes(tmp_path) == []
    put(tmp_path, all=crd(schema=schema(spec=GROUP)))
    assert codes(tmp_path) == ["GEN-API-001"]
