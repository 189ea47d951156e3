"""Sections edited exactly: what is written is read by another reader, and no other line changes."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from test_edit import NODES, changed, independent
from yaml_styles import ITEMS, SCALARS, Styled, styled

from generator.errors import UsageError
from generator.spec.edit_keys import append_item, copy_key, put_value, remove_key

TEXT = """\
spec:   # 여기
  pools:
    # one
    gpu:   # eight
      cpu: 64
      disks: [{use: a}]   # two

    nas: { cpu: 8 }
  empty: {}
  list:
  - a   # first
  - b
  # the end
"""
NAS, DISKS = "nas: { cpu: 8 }", "disks: [{use: a}]   # two"


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("spec", "pools", "gpu", "cpu"), 96, "      cpu: 64\n", "      cpu: 96\n"),
        (("spec", "pools", "gpu", "gpu", "count"), 8, "", "      gpu: {count: 8}\n"),
        (("spec", "pools", "nas", "a", "b"), "64Gi", f"    {NAS}\n", "    nas: { cpu: 8, a: { b: 64Gi } }\n"),
        (("spec", "pools", "gpu", "disks"), ["x"], f"      {DISKS}\n", "      disks: [x]   # two\n"),
        (("spec", "pools", "gpu", "disks", 0, "b"), 2, f"      {DISKS}\n", "      disks: [{use: a, b: 2}]   # two\n"),
        (("spec", "empty", "a"), 1, "  empty: {}\n", "  empty: {a: 1}\n"),
    ],
)
def test_a_value_is_put_where_it_belongs(path: tuple[str | int, ...], value: Any, old: str, new: str) -> None:
    taken, added = changed(TEXT, put_value(TEXT, path, value))
    assert ("".join(taken), "".join(added)) == (old, new)


def test_a_value_keeps_its_quotes() -> None:
    assert put_value("a: 'b'   # c\n", ("a",), "d") == "a: 'd'   # c\n"
    assert put_value("a: {b: 'x'}\n", ("a", "b"), 1) == "a: {b: 1}\n"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (("spec", "pools", "gpu"), "line 4: spec.pools.gpu cannot be edited exactly: the value is more than one line"),
        (("spec", "list", "a"), "what holds it is no section"),
        (("spec", "list", 7), "what holds it is no section"),
        ((), "more than one line"),
    ],
)
def test_what_cannot_be_put_exactly_is_refused_with_its_line(path: tuple[str | int, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        put_value(TEXT, path, {"a": 1})


def test_a_copy_has_the_comments_too() -> None:
    _, added = changed(TEXT, copy_key(TEXT, ("spec", "pools", "gpu"), "gpu-2"))
    assert "".join(added) == "    gpu-2:   # eight\n      cpu: 64\n      disks: [{use: a}]   # two\n"
    _, added = changed(TEXT, copy_key(TEXT, ("spec", "pools", "nas"), "no"))
    assert added == ['    "no": { cpu: 8 }\n']
    with pytest.raises(UsageError, match="written in braces"):
        copy_key(TEXT, ("spec", "pools", "nas", "cpu"), "a")


def test_an_item_is_appended_in_brackets_or_as_a_line() -> None:
    assert changed(TEXT, append_item(TEXT, ("spec", "list"), "c")) == ([], ["  - c\n"])
    more = append_item(TEXT, ("spec", "pools", "gpu", "disks"), {"use": "b"})
    assert changed(TEXT, more)[1] == ["      disks: [{use: a}, {use: b}]   # two\n"]
    with pytest.raises(UsageError, match="not a list"):
        append_item(TEXT, ("spec", "empty"), "c")


@settings(max_examples=300, deadline=None)
@given(styled(), st.sampled_from(["name", "new", "fabric"]), SCALARS | ITEMS, st.integers(0, 3))
def test_putting_changes_this_value_and_no_other(source: Styled, key: str, value: Any, at: int) -> None:
    at %= source.size
    expected = deepcopy(independent(source.text))
    try:
        edited = put_value(source.text, (*NODES, at, key), value)
    except UsageError:
        event("refused")
        return
    expected["spec"]["nodes"][at][key] = value
    assert repr(independent(edited)) == repr(expected)
    assert edited.count("#") >= source.text.count("#") - 1


@settings(max_examples=300, deadline=None)
@given(styled())
def test_copying_adds_lines_only(source: Styled) -> None:
    expected = independent(source.text)
    try:
        longer = copy_key(source.text, ("spec", "nodes"), "copy")
    except UsageError:
        event("refused")
        return
    again = independent(longer)
    assert repr(again["spec"].pop("copy")) == repr(expected["spec"]["nodes"])
    assert repr(again) == repr(expected)
    if source.text.endswith("\n"):
        assert changed(source.text, longer)[0] == []


REMOVABLE = """\
spec:   # 여기
  gpu:
    # above
    strategy: mixed   # why
    cpu: 64
    disks:
    - a   # first
    - b
    last: x
  nas: { a: 1, b: "2" }   # two
  one: {a: 1}
  several: {
    a: 1,   # of a
    b: 2,
    c: 3
  }
"""


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (("gpu", "strategy"), "    strategy: mixed   # why\n", "    # why\n"),
        (("gpu", "cpu"), "    cpu: 64\n", ""),
        (("gpu", "disks"), "    disks:\n    - a   # first\n    - b\n", ""),
        (("gpu", "last"), "    last: x\n", ""),
        (("nas", "a"), '  nas: { a: 1, b: "2" }   # two\n', '  nas: { b: "2" }   # two\n'),
        (("nas", "b"), '  nas: { a: 1, b: "2" }   # two\n', "  nas: { a: 1 }   # two\n"),
        (("one", "a"), "  one: {a: 1}\n", "  one: {}\n"),
        (("several", "a"), "    a: 1,   # of a\n", "    # of a\n"),
        (("several", "b"), "    b: 2,\n", ""),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_key_goes_with_its_line_or_its_place_between_braces(
    path: tuple[str, ...], old: str, new: str, end: str
) -> None:
    text = REMOVABLE.replace("\n", end)
    taken, added = changed(text, remove_key(text, ("spec", *path)))
    assert ("".join(taken), "".join(added)) == (old.replace("\n", end), new.replace("\n", end))


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("a:\n  b: 1\n", ("a", "b"), "line 2: a.b cannot be edited exactly: it is all that its section holds"),
        ("a:\n- b: 1\n  c: 2\n", ("a", 0, "b"), "something else stands on its line"),
        ("a: [1, 2]\n", ("a", 0), "what holds it is no section"),
        ("a: {b: 1,\n  c: 2}\n", ("a", "c"), "the section in braces is written on several lines"),
        ("a: 1\nb: 2\n", ("c",), "there is no such value"),
    ],
)
def test_a_key_that_cannot_go_exactly_is_refused_with_its_line(
    text: str, path: tuple[str | int, ...], words: str
) -> None:
    with pytest.raises(UsageError) as refused:
        remove_key(text, path)
    assert words in str(refused.value)


@settings(max_examples=300, deadline=None)
@given(styled(), st.data())
def test_removing_a_key_takes_nothing_else(source: Styled, data: st.DataObject) -> None:
    expected = independent(source.text)
    nodes = expected["spec"]["nodes"]
    at = data.draw(st.integers(0, len(nodes) - 1))
    key = data.draw(st.sampled_from([*nodes[at]])) if isinstance(nodes[at], dict) and nodes[at] else "none"
    try:
        edited = remove_key(source.text, (*NODES, at, key))
    except UsageError:
        event("refused")
        return
    event("removed")
    del nodes[at][key]
    assert repr(independent(edited)) == repr(expected)
    taken, added = changed(source.text, edited)
    assert all(line.lstrip().startswith(("#", "{", "-")) or "{" in line or "," in line for line in added), added
    assert len(added) <= len(taken)
