"""The schema of the cluster file: complete, tidy, and agreed with the types that decode it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from generator.model.quantity import Quantity
from generator.spec.decode import TEXTS
from generator.spec.reader import read
from generator.spec.schema import FORMATS, schema, text
from generator.spec.words import form

ROOT = Path(__file__).parent.parent.parent
CLUSTERS = sorted((ROOT / "clusters").glob("*/cluster.yaml"))
# What `generator.spec.mistakes` has words for, and what breaks by itself never.
TOLD = {"additionalProperties", "required", "type", "enum", "format", "pattern", "minimum", "maximum", "maxLength"} | {
    "minItems"
}
SILENT = {"$defs", "$ref", "$schema", "default", "description", "items", "properties", "propertyNames", "title"}


def schemas(value: Any, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each schema below, with the key that it is about."""
    yield name, value
    for keyword in ("$defs", "properties"):
        for key, each in value.get(keyword, {}).items():
            yield from schemas(each, key)
    for keyword in ("items", "additionalProperties", "propertyNames"):
        if isinstance(value.get(keyword), dict):
            yield from schemas(value[keyword], name)


ALL = list(schemas(schema()))


def section(name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema()["$defs"][name]
    return found


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema())


def test_its_text_is_stable_and_reads_as_itself() -> None:
    assert text() == text()
    assert json.loads(text()) == json.loads(json.dumps(schema()))
    assert text().endswith(b"}\n")


def test_every_rule_in_it_can_be_told() -> None:
    assert {keyword for _, each in ALL for keyword in each} <= TOLD | SILENT


def test_every_pattern_has_words() -> None:
    patterns = [(name, each) for name, each in ALL if "pattern" in each]
    assert len(patterns) > 50
    for name, each in patterns:
        assert form((name,), each)
        assert "^" not in form((name,), each)


def test_null_is_no_value() -> None:
    assert not [name for name, each in ALL if each.get("type") == "null" or "anyOf" in each]


def test_no_section_takes_unknown_keys() -> None:
    for name, each in schema()["$defs"].items():
        assert each["additionalProperties"] is False, name


@pytest.mark.parametrize(
    ("name", "key", "keys"),
    [
        ("Node", "addresses", ["storage", "ipoib", "bmc"]),
        ("Node", "networks", ["node", "storage", "ipoib", "bmc"]),
        ("Pool", "networks", ["node", "storage", "ipoib", "bmc"]),
    ],
)
def test_maps_with_known_keys_have_those_alone(name: str, key: str, keys: list[str]) -> None:
    found = section(name)["properties"][key]
    assert list(found["properties"]) == keys
    assert found["additionalProperties"] is False


def test_maps_with_keys_of_ones_own_check_their_form() -> None:
    assert section("Spec")["properties"]["pools"]["propertyNames"]["maxLength"] == 63


def test_descriptions_name_fields_as_the_file_does() -> None:
    assert "`dailyChange`" in section("Backup")["description"]
    assert not [name for name, each in ALL if "\n" in each.get("description", "")]


def test_every_section_is_described() -> None:
    assert [name for name, each in schema()["$defs"].items() if not each.get("description")] == []


def test_each_type_of_text_has_a_format_and_a_parser() -> None:
    assert FORMATS.keys() == TEXTS.keys() | {Quantity}


@pytest.mark.parametrize("file", CLUSTERS, ids=lambda file: file.parent.name)
def test_the_reference_clusters_follow_it(file: Path) -> None:
    assert list(Draft202012Validator(schema()).iter_errors(read(file.read_bytes(), "f").value)) == []
