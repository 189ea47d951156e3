"""The YAML writer, judged by PyYAML (YAML 1.1) and ruamel.yaml (YAML 1.2); Kustomize has a file of its own."""

import math
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from nasty import NASTY, WORDS, documents, texts
from ruamel.yaml import YAML

from generator.layout.emit import emit


def alike(one: Any, other: Any) -> bool:
    """Equal in types and in the order of keys as well: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other) and (not isinstance(one, float) or math.copysign(1, one) == math.copysign(1, other))


def read_by_pyyaml(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader)


def read_by_pyyaml_pure(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader)


def read_by_ruamel(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


READERS: list[Callable[[str], Any]] = [read_by_pyyaml, read_by_pyyaml_pure, read_by_ruamel]


@pytest.mark.parametrize("read", READERS)
@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=documents(texts(NASTY), texts(NASTY)))
def test_every_reader_gets_the_value_back(read: Callable[[str], Any], value: Any) -> None:
    assert alike(read(emit(value)), value)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("word", WORDS)
def test_text_stays_text_as_value_key_and_item(read: Callable[[str], Any], word: str) -> None:
    value = {word: {word: word}, "a": [word, [word, {word: [word]}], word], "b": [[[word]]], "c": word}
    assert alike(read(emit(value)), value)
    assert alike(read(emit(word)), word)


@pytest.mark.parametrize(("word", "as_value"), [("yes", True), ("1:30", 90), ("0o7", 7), ("1_000", 1000)])
def test_the_readers_would_notice_a_missing_quote(word: str, as_value: object) -> None:
    assert as_value in [read(f"{word}\n") for read in READERS]


def test_a_manifest_looks_like_the_yaml_people_write() -> None:
    manifest = {
        "apiVersion": "apps/v1",
        "metadata": {"name": "web", "labels": {}, "annotations": {"app.kubernetes.io/version": "1.30"}},
        "spec": {
            "containers": [
                {"name": "web", "args": ["--port=80", "-v", "a: b"], "env": [], "resources": {"cpu": 0.5}},
                {"name": "sh", "command": ["sh", "-c", "set -e\n\nexec web\n"], "image": "example.org/web:v1"},
            ],
            "matrix": [[1, 2], [[3]], ({"a": None}, True)],
        },
    }
    assert emit(manifest) == (
        "apiVersion: apps/v1\n"
        "metadata:\n"
        "  name: web\n"
        "  labels: {}\n"
        "  annotations:\n"
        '    app.kubernetes.io/version: "1.30"\n'
        "spec:\n"
        "  containers:\n"
        "  - name: web\n"
        "    args:\n"
        "    - --port=80\n"
        "    - -v\n"
        '    - "a: b"\n'
        "    env: []\n"
        "    resources:\n"
        "      cpu: 0.5\n"
        "  - name: sh\n"
        "    command:\n"
        "    - sh\n"
        "    - -c\n"
        "    - |\n"
        "      set -e\n"
        "\n"
        "      exec web\n"
        "    image: example.org/web:v1\n"
        "  matrix:\n"
        "  - - 1\n"
        "    - 2\n"
        "  - - - 3\n"
        "  - - a: null\n"
        "    - true\n"
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\nb", "|-\n  a\n  b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\n", "|+\n  a\n"),
        (" a\nb", "|2-\n   a\n  b"),
        ("\na\n", "|2\n\n  a"),
        ("\ta\nb", r'"\ta\nb"'),
        ("a\u0085\nb", r'"a\u0085\nb"'),
        ("a\r\nb", r'"a\r\nb"'),
        ("a\n  ", r'"a\n  "'),
        ("\n", r'"\n"'),
        ("a\tb", r'"a\tb"'),
        ("\ufeff\u2028\x7f", r'"\ufeff\u2028\u007f"'),
        ('{"a": "it\'s"}', """'{"a": "it''s"}'"""),
        ('a "b" c', 'a "b" c'),
        ("12e03", '"12e03"'),
        ("abc1234", "abc1234"),
        ("y", '"y"'),
        ("N", '"N"'),
        ("yes", '"yes"'),
        ("yesterday", "yesterday"),
        ("v1.35.3", "v1.35.3"),
        ("10.244.0.0/16", "10.244.0.0/16"),
        ("*/5 * * * *", '"*/5 * * * *"'),
        ("x " * 3000 + "x", "x " * 3000 + "x"),
    ],
)
def test_text_is_written_in_the_plainest_safe_way(text: str, written: str) -> None:
    assert emit({"k": text}) == f"k: {written}\n"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1e16, "1.0e+16"),
        (1e-7, "1.0e-07"),
        (2.5e-10, "2.5e-10"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (2**63 - 1, f"{2**63 - 1}"),
    ],
)
def test_numbers_keep_their_type(value: float, written: str) -> None:
    assert emit(value) == f"{written}\n"


class Tier(StrEnum):
    ON = "on"


class Level(IntEnum):
    HIGH = 3


def test_enumerations_are_written_as_their_values() -> None:
    assert emit({Tier.ON: [Tier.ON, Level.HIGH]}) == '"on":\n- "on"\n- 3\n'


@given(documents(texts(NASTY), texts(NASTY)))
def test_equal_values_give_equal_bytes(value: Any) -> None:
    assert emit(value) == emit(deepcopy(value))


def test_keys_stay_in_the_order_given() -> None:
    assert emit({"b": 1, "a": {"d": 2, "c": 3}}) == "b: 1\na:\n  d: 2\n  c: 3\n"


def test_a_part_used_twice_is_written_twice() -> None:
    labels = {"app": "web"}
    assert emit([labels, labels]) == "- app: web\n- app: web\n"


@pytest.mark.parametrize("empty", [{}, [], ()])
def test_the_empty_collections(empty: object) -> None:
    written = "{}" if isinstance(empty, dict) else "[]"
    assert emit(empty) == f"{written}\n"
    assert emit({"a": empty, "b": [empty]}) == f"a: {written}\nb:\n- {written}\n"


@pytest.mark.parametrize(
    "value",
    [math.inf, -math.inf, math.nan, {1, 2}, b"a", object(), datetime(2026, 1, 1, tzinfo=UTC), Path("a"), 1j],
)
def test_what_yaml_cannot_hold_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match="YAML cannot hold"):
        emit({"a": [value]})


@pytest.mark.parametrize("key", [1, None, True, 1.5, ("a",)])
def test_a_key_that_is_not_text_is_a_type_error(key: object) -> None:
    with pytest.raises(TypeError, match="a key must be text"):
        emit({"a": {key: 1}})
