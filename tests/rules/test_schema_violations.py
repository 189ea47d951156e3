"""What a JSON Schema has against a value, in the words of the file."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from generator.rules.schema_violations import violations

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


def told(value: Any, schema: Any = KIND) -> list[tuple[str, str]]:
    return [(one.message, one.fix) for one in violations(Draft202012Validator(schema), value)]


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
    assert told({"a": "", "b": "x", "c": {}, **change}) == [(message, "")]


def test_null_is_to_be_removed() -> None:
    assert told({"a": None, "b": "x", "c": None}) == [("a: null is not string", "remove it, or give it a value")]


def test_what_is_no_schema_is_told_as_one() -> None:
    ((message, fix),) = told({}, {"type": 5})
    assert (message.startswith("the schema of its CRD cannot be used"), fix) == (True, "mend the CRD")
