"""What a JSON Schema has against a value, in the words of the file."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from generator.build.manifests import documents, is_manifest
from generator.components.component import Manifest
from generator.layout.tree import lay_out
from generator.model.cluster import Cluster
from generator.rules.schema_violations import Judge, Types
from generator.rules.schemas import built_in, schemas_of

KIND = {
    "type": "object",
    "required": ["a", "b", "c"],
    "properties": {
        "a": {"type": "string"},
        "b": {"enum": ["x", None, False]},
        "c": {"type": ["object", "null"]},
        "d": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"e": {"type": "integer"}}}]},
        "f": {"minimum": 5},
        "g": {"maxItems": 1},
    },
}

TYPES = Types({"$id": "https://example.org/types.json"})


def told(value: Any, schema: Any = KIND) -> list[tuple[str, str]]:
    return [(one.message, one.fix) for one in Judge(schema, TYPES).violations(value)]


@pytest.mark.parametrize(
    ("value", "missing"),
    [({}, ["a", "b", "c"]), ({"a": ""}, ["b", "c"]), ({"a": "", "b": "x"}, ["c"])],
)
def test_a_field_that_is_missing_is_told_once(value: Any, missing: list[str]) -> None:
    assert told(value) == [(f"{field} is missing", f"add `{field}`") for field in missing]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": True}, "a: true is not string"),
        ({"a": {"x": [None, False]}}, 'a: {"x": [null, false]} is not string'),
        ({"c": "x"}, "c: 'x' is not object"),
        ({"b": True}, "b: true is not one of 'x', null, false"),
        ({"b": "y"}, "b: 'y' is not one of 'x', null, false"),
        ({"d": {"e": True}}, "d: true is not integer"),
        ({"f": 3}, "f: 3 is less than the minimum of 5"),
        ({"g": [True, None]}, "g: [true, null] is too long"),
    ],
)
def test_values_are_written_as_in_the_file(change: dict[str, Any], message: str) -> None:
    assert [said for said, _ in told({"a": "", "b": "x", "c": {}, **change})] == [message]


@pytest.mark.parametrize(
    ("types", "value", "fix"),
    [
        ("string", 3, "put it in quotes"),
        (["string", "null"], True, "put it in quotes"),
        ("boolean", "false", "leave the quotes out"),
        ("integer", "-8", "leave the quotes out"),
        (["integer", "null"], "8", "leave the quotes out"),
        ("integer", "${N}", ""),
        ("boolean", "yes", ""),
        ("string", {"x": True}, ""),
        ("object", 3, ""),
    ],
)
def test_quotes_that_lack_or_are_too_many_are_the_fix(types: Any, value: Any, fix: str) -> None:
    assert [said for _, said in told({"x": value}, {"properties": {"x": {"type": types}}})] == [fix]


def test_null_is_to_be_removed() -> None:
    assert told({"a": None, "b": "x", "c": None}) == [("a: null is not string", "remove it, or give it a value")]


@pytest.mark.parametrize(
    ("schema", "value", "messages"),
    [
        ({"type": "string", "enum": ["TCP", "UDP"]}, 5, ["5 is not one of 'TCP', 'UDP'"]),
        ({"enum": [1, 2], "type": "integer"}, "1", ["'1' is not one of 1, 2"]),
        ({"type": "integer", "anyOf": [{"const": 1}, {"const": 2}]}, "1", ["'1' is not integer"]),
        ({"type": "string", "minLength": 3, "pattern": "^a"}, "b", ["'b' is too short", "'b' does not match '^a'"]),
    ],
)
def test_a_value_of_another_type_is_told_once(schema: Any, value: Any, messages: list[str]) -> None:
    found = told({"x": value}, {"properties": {"x": schema}})
    assert [said for said, _ in found] == [f"x: {message}" for message in messages]


def test_what_is_no_schema_is_told_as_one() -> None:
    ((message, fix),) = told({}, {"type": 5})
    assert (message.startswith("the schema of its CRD cannot be used"), fix) == (True, "mend the CRD")


def objects(ml50: Cluster) -> Iterator[Manifest]:
    """Objects as gen writes them, of all kinds that Kubernetes serves."""
    for path, content in lay_out(ml50).files.items():
        if path.startswith(("base/", "overlays/")) and path.endswith(".yaml"):
            yield from (one for one in documents(content) if is_manifest(one))


def changed(value: Any, random: Random) -> Any:
    """Return a value with one thing in it exchanged, left out or added."""
    if isinstance(value, dict) and value and random.random() > 0.2:
        key = random.choice(list(value))
        return {**value, key: changed(value[key], random)}
    if isinstance(value, list) and value and random.random() > 0.2:
        at = random.randrange(len(value))
        return [*value[:at], changed(value[at], random), *value[at + 1 :]]
    if isinstance(value, dict) and value and random.random() > 0.5:
        return {key: each for key, each in value.items() if key != random.choice(list(value))}
    return random.choice([None, True, 1, 1.0, 1.5, -1, 2**63, "", "1", "x-1", [], {}, {"extra": 1}, [{}]])


def test_compiled_code_refuses_what_the_library_with_words_refuses(ml50: Cluster) -> None:
    random, schemas, tried, right = Random(7), schemas_of(35), 0, 0
    for manifest in objects(ml50):
        if not (judge := built_in(schemas, manifest["apiVersion"], manifest["kind"])):
            continue
        for _ in range(5):
            value = changed(manifest, random)
            worded = Draft202012Validator(judge.schema, registry=judge.types.in_words)
            expected = worded.is_valid(value)
            assert (not list(judge.violations(value))) == expected, value
            tried, right = tried + 1, right + expected
    assert (tried > 500, 50 < right < tried - 50) == (True, True)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (["A", "B", "", None], "'A', 'B'"),
        (["", "A", "B"], "'A', 'B'"),
        (["A", "", "B"], "'A', 'B'"),
        (["A", None], "'A', null"),
        ([""], "''"),
        (["", None], "'', null"),
    ],
)
def test_every_value_is_named_but_what_stands_for_the_default(wanted: list[Any], words: str) -> None:
    assert told("C", {"enum": wanted}) == [(f": 'C' is not one of {words}", "")]


def test_a_schema_can_be_one_of_the_types() -> None:
    types = Types({"$id": "https://example.org/own.json", "$defs": {"short": {"maxLength": 1}}})
    judge = Judge({"properties": {"a": types.reference("short")}}, types)
    assert [one.message for one in judge.violations({"a": "xy"})] == ["a: 'xy' is too long"]
