import json
import math
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from generator.spec.scalars import in_range, inline, resolve

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.sampled_from(["yes", "Off", "y", "N", "1e3", "12e03", "0o777", "08", "1:30", "~", "=", "<<", "2001-12-14"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[(text, None) for text in ("", "~", "null", "Null", "NULL")],
        *[(text, True) for text in ("true", "True", "TRUE")],
        *[(text, False) for text in ("false", "False", "FALSE")],
        *[(text, text) for text in ("yes", "no", "on", "off", "Yes", "NO", "y", "n", "tRUE", "nULL")],
        *[("0777", 777), ("0o777", 511), ("0x1F", 31), ("08", 8), ("-12", -12), ("+12", 12)],
        *[("1e3", 1000.0), ("1.30", 1.3), (".5", 0.5), ("5.", 5.0), ("-1E-2", -0.01), ("-.5", -0.5)],
        *[(".inf", math.inf), ("+.INF", math.inf), ("-.Inf", -math.inf)],
        *[(text, text) for text in ("1:30", "1_000", "0b101", "2001-12-14", "1.35.3", "-", "+", ".", "...", "1e")],
        *[(text, text) for text in ("-0x1F", "0o8", "0xG", "1 ", "1\n", "\u0661", "1\u0661", "e3", ".e3", "--1")],
        ("9" * 4001, math.inf),
    ],
)
def test_a_plain_scalar_means_what_yaml_1_2_says(text: str, value: Any) -> None:
    found = resolve(text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_not_a_number_is_one(text: str) -> None:
    assert math.isnan(float(resolve(text) or 0))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 2**64, -(2**63) - 1])
def test_what_other_readers_cannot_hold_is_out_of_range(value: float) -> None:
    assert not in_range(value)


@pytest.mark.parametrize("value", [0, 2**64 - 1, -(2**63), 1.5, True, None, "9" * 99])
def test_everything_else_is_in_range(value: Any) -> None:
    assert in_range(value)


@given(st.from_regex(r"[-+]?[0-9a-fox.e+-]{1,8}", fullmatch=True))
def test_numbers_are_those_of_an_independent_reader(text: str) -> None:
    value = resolve(text)
    if isinstance(value, int | float) and in_range(value):
        assert YAML(typ="safe", pure=True).load(f"a: {text}")["a"] == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("gpu-01", "gpu-01"),
        ("10.10.0.1", "10.10.0.1"),
        ("10.10.0.0/22", "10.10.0.0/22"),
        ("/dev/nvme0n1", "/dev/nvme0n1"),
        ("ib-leaf-1/1", "ib-leaf-1/1"),
        ("1.30", '"1.30"'),
        ("no", '"no"'),
        ("", '""'),
        ("a b", '"a b"'),
        ("a\u2028\x85", '"a\\u2028\\u0085"'),
        ({"name": "a", "n": [1, None, True]}, '{name: a, "n": [1, null, true]}'),
        ({}, "{}"),
        (1e16, "1.0e+16"),
        (1e-07, "1.0e-07"),
        (1.5e300, "1.5e+300"),
    ],
)
def test_a_value_is_written_plainly_where_that_is_safe(value: Any, text: str) -> None:
    assert inline(value) == text


@settings(max_examples=500, deadline=None)
@given(VALUES, st.sampled_from(["", " "]))
def test_what_is_written_is_read_alike_by_yaml_1_1_and_1_2(value: Any, padding: str) -> None:
    text = f"- {inline(value, padding=padding)}\n"
    written = json.dumps([value])
    assert json.dumps(YAML(typ="safe", pure=True).load(text)) == written
    assert json.dumps(yaml.load(text, Loader=yaml.CSafeLoader)) == written
