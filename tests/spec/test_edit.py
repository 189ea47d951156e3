from copy import deepcopy
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from yaml_styles import ITEMS, NAMES, SCALARS, Styled, styled

from generator.errors import UsageError
from generator.spec.edit import insert_items, remove_items, set_value
from generator.spec.reader import read

NODES = ("spec", "nodes")
CLUSTER = """\
# the cluster
spec:
  nodes:
    # first rack
    - {name: gpu-01, rack: r1}   # keep
    - { name: gpu-02, rack: r1 }
    - name: "gpu-03"
      rack: r2

  # the end
  mtu: 9000   # jumbo
  empty:
  flow: [{name: a}]
"""


def independent(text: str) -> Any:
    """Read with another YAML 1.2 reader."""
    return YAML(typ="safe", pure=True).load(text.removeprefix("\ufeff"))


def changed(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the lines that were taken out and put in, between what both begin and end with."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return before, after


def test_an_item_is_written_as_its_flow_neighbour_is() -> None:
    new = insert_items(CLUSTER, NODES, [{"name": "gpu-09", "rack": "r1"}], after=0)
    assert changed(CLUSTER, new) == ([], ["    - {name: gpu-09, rack: r1}\n"])
    new = insert_items(CLUSTER, NODES, [{"name": "gpu-09", "fabric": {"mlx5_0": "ib-leaf-1/1"}}], after=1)
    assert changed(CLUSTER, new) == ([], ["    - { name: gpu-09, fabric: { mlx5_0: ib-leaf-1/1 } }\n"])


def test_an_item_is_written_as_its_block_neighbour_is_and_goes_to_the_end_by_default() -> None:
    new = insert_items(CLUSTER, NODES, [{"name": "gpu-04", "fabric": {"mlx5_0": "ib-leaf-1/1"}, "hcas": ["a", "b"]}])
    lines = ["    - name: gpu-04\n", "      fabric: {mlx5_0: ib-leaf-1/1}\n", "      hcas: [a, b]\n"]
    assert changed(CLUSTER, new) == ([], lines)
    assert new.index("gpu-03") < new.index("gpu-04") < new.index("# the end")


@pytest.mark.parametrize(
    ("index", "lines"),
    [
        (0, ["    - {name: gpu-01, rack: r1}   # keep\n"]),
        (1, ["    - { name: gpu-02, rack: r1 }\n"]),
        (2, ['    - name: "gpu-03"\n', "      rack: r2\n"]),
    ],
)
def test_removing_takes_only_the_lines_of_the_item(index: int, lines: list[str]) -> None:
    assert changed(CLUSTER, remove_items(CLUSTER, NODES, [index])) == (lines, [])


RACKS = """\
spec:
  nodes:
    # rack r1
    - name: a
      rack: r1
      # a's card is new
    - {name: b, rack: r1}
    # rack r2
    - {name: c, rack: r2}
    - {name: d, rack: r2}

    # rack r3
    - {name: e, rack: r3}
    # d-1: broken
    - {name: d-1, rack: r3}
    - {name: f, rack: r3}
  # the end
  mtu: 9000
"""


@pytest.mark.parametrize(
    ("indexes", "gone"),
    [
        ([0], ["    - name: a\n", "      rack: r1\n", "      # a's card is new\n"]),
        ([1], ["    - {name: b, rack: r1}\n"]),
        ([2], ["    - {name: c, rack: r2}\n"]),
        ([3], ["    - {name: d, rack: r2}\n"]),
        ([2, 3], ["    # rack r2\n", "    - {name: c, rack: r2}\n", "    - {name: d, rack: r2}\n"]),
        ([4], ["    # rack r3\n", "    - {name: e, rack: r3}\n"]),
        ([5], ["    # d-1: broken\n", "    - {name: d-1, rack: r3}\n"]),
        ([6], ["    - {name: f, rack: r3}\n"]),
    ],
)
def test_an_item_takes_its_own_comments_along(indexes: list[int], gone: list[str]) -> None:
    assert changed(RACKS, remove_items(RACKS, NODES, indexes)) == (gone, [])


def test_a_comment_stays_with_the_item_that_it_is_about() -> None:
    new = insert_items(RACKS, NODES, [{"name": "z"}], after=0)
    assert "      # a's card is new\n    - name: z\n    - {name: b, rack: r1}\n" in new
    new = insert_items(RACKS, NODES, [{"name": "z"}], after=1)
    assert "    - {name: b, rack: r1}\n    - {name: z}\n    # rack r2\n" in new


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("spec", "mtu"), 1500, "  mtu: 1500   # jumbo\n"),
        (("spec", "mtu"), "9000", '  mtu: "9000"   # jumbo\n'),
        (("spec", "empty"), True, "  empty: true\n"),
        (("spec", "flow", 0, "name"), "no", '  flow: [{name: "no"}]\n'),
        (("spec", "nodes", 2, "name"), "gpu-33", '    - name: "gpu-33"\n'),
        (("spec", "nodes", 2, "name"), "a\n", '    - name: "a\\n"\n'),
        (("spec", "nodes", 0, "rack"), None, "    - {name: gpu-01, rack: null}   # keep\n"),
    ],
)
def test_setting_changes_only_the_value(path: tuple[str | int, ...], value: Any, line: str) -> None:
    assert changed(CLUSTER, set_value(CLUSTER, path, value))[1] == [line]


def test_a_text_without_a_final_line_end_stays_one() -> None:
    text = "spec:\r\n  nodes:\r\n  - name: a"
    longer = insert_items(text, NODES, [{"name": "b"}])
    assert longer == text + "\r\n  - name: b"
    assert remove_items(longer, NODES, [1]) == text
    longer = insert_items(text, NODES, [{"name": "b"}, {"name": "c"}])
    assert remove_items(longer, NODES, [2, 1]) == text
    assert remove_items(longer, NODES, [0, 2]) == "spec:\r\n  nodes:\r\n  - name: b"


REFUSED = {
    "brackets": ("spec:\n  nodes: [{name: a}]\n", "line 2: spec.nodes .* brackets"),
    "absent": ("spec:\n  pools: {}\n", "line 1: spec.nodes .* no such value"),
    "no-list": ("spec:\n  nodes: 3\n", "line 2: spec.nodes .* not a list"),
    "out-of-range": ("spec:\n  nodes:\n  - a: 1\n", "line 2: spec.nodes .* no item 7"),
    "unreadable": ("spec:\n  nodes:\n  - a: 1\n    a: 2\n", "line 4, column 5: the key a is given twice; mend this"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_understood_is_refused_with_its_line(case: str) -> None:
    text, words = REFUSED[case]
    with pytest.raises(UsageError, match=words):
        insert_items(text, NODES, [{"name": "b"}], after=7)
    with pytest.raises(UsageError, match=words):
        remove_items(text, NODES, [7])


def test_the_only_item_is_not_removed() -> None:
    with pytest.raises(UsageError, match=r"line 2: spec\.nodes .* only item"):
        remove_items("spec:\n  nodes:\n  - a: 1\n", NODES, [0])


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a: |\n  text\n", ("a",)),
        ("a: {b: 1}\n", ("a",)),
        ("a:\n  b: 1\n", ("a",)),
        ("a: 1\n", ()),
        ("a: 1\n", ("b",)),
        ("a: {b}\n", ("a", "b")),
    ],
)
def test_a_value_that_is_not_one_scalar_on_one_line_is_not_set(text: str, path: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="cannot be edited exactly"):
        set_value(text, path, "x")


def test_an_edit_that_would_change_another_value_is_refused() -> None:
    text = "spec:\n  nodes:\n  - a: |\n      text"
    with pytest.raises(UsageError, match="too unusual"):
        insert_items(text, NODES, [{"name": "b"}])
    with pytest.raises(UsageError, match="too unusual"):
        remove_items("spec:\n  nodes:\n  - - a\n    - b\n", ("spec", "nodes", 0), [0])


@settings(max_examples=2000, deadline=None)
@given(styled(), ITEMS, st.integers(0, 3))
@example(Styled("spec:\n  nodes:\n  -\n    # - x\n    a: 1\n  - b\n", 2), {"name": "x"}, 0)
def test_inserting_adds_lines_only_and_removing_is_its_inverse(source: Styled, item: dict[str, Any], at: int) -> None:
    at %= source.size
    assert not read(source.text, "f").findings
    try:
        longer = insert_items(source.text, NODES, [item], after=at)
    except UsageError:
        event("refused")
        return
    expected = deepcopy(independent(source.text))
    expected["spec"]["nodes"].insert(at + 1, item)
    assert repr(independent(longer)) == repr(expected)
    if source.text.endswith("\n"):
        assert changed(source.text, longer)[0] == []
    assert remove_items(longer, NODES, [at + 1]) == source.text


@settings(max_examples=500, deadline=None)
@given(styled(), st.integers(0, 3))
def test_removing_takes_whole_lines_and_nothing_else(source: Styled, at: int) -> None:
    at %= source.size
    try:
        shorter = remove_items(source.text, NODES, [at])
    except UsageError:
        event("refused")
        return
    expected = independent(source.text)
    del expected["spec"]["nodes"][at]
    assert repr(independent(shorter)) == repr(expected)
    if source.text.endswith("\n"):
        assert changed(source.text, shorter)[1] == []


@settings(max_examples=500, deadline=None)
@given(styled(), SCALARS | st.text(max_size=9), NAMES | st.just("before"))
def test_setting_a_value_changes_one_line(source: Styled, value: Any, name: str) -> None:
    values = independent(source.text)
    path: tuple[str | int, ...] = ("spec", "before") if name == "before" else (*NODES, 0, name)
    try:
        edited = set_value(source.text, path, value)
    except UsageError:
        event("refused")
        return
    holder = values["spec"] if name == "before" else values["spec"]["nodes"][0]
    holder[path[-1]] = value
    assert repr(independent(edited)) == repr(values)
    assert edited.count("\n") == source.text.count("\n")
