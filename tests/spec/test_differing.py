"""Where two versions of a file differ."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.spec.differing import differing

OLD: dict[str, Any] = {
    "kubernetes": {"podCIDR": "10.244.0.0/16", "maxPods": 110},
    "teams": [{"name": "vision", "quota": 8}, {"name": "language", "quota": 4}],
    "dns": ["10.0.0.2", "10.0.0.3"],
}


@pytest.mark.parametrize(
    ("new", "found"),
    [
        (OLD, []),
        (
            OLD | {"kubernetes": {"podCIDR": "10.10.0.0/16", "maxPods": 110}},
            [(("kubernetes", "podCIDR"), {"podCIDR", "10.244.0.0/16", "10.10.0.0/16"})],
        ),
        (OLD | {"kubernetes": {"podCIDR": "10.244.0.0/16"}}, [(("kubernetes",), {"maxPods", "110"})]),
        (OLD | {"teams": [OLD["teams"][1]]}, [(("teams",), {"vision"})]),
        (
            OLD | {"teams": [{"name": "language", "quota": 5}, {"name": "vision", "quota": 8}]},
            [(("teams", 0, "quota"), {"language", "quota", "4", "5"})],
        ),
        (OLD | {"teams": [*OLD["teams"], {"name": "new"}]}, [(("teams", 2), {"new"})]),
        (OLD | {"dns": ["10.0.0.2"]}, [(("dns",), {"dns", "10.0.0.2", "10.0.0.3"})]),
        (OLD | {"backups": [{"name": "x"}]}, [(("backups",), {"backups", "name", "x"})]),
        ({key: value for key, value in OLD.items() if key != "dns"}, [((), {"dns", "10.0.0.2", "10.0.0.3"})]),
    ],
)
def test_each_difference_has_its_place_and_what_is_written_there(new: Any, found: list[Any]) -> None:
    assert [(one.at, set(one.texts)) for one in differing(OLD, new)] == found


def test_what_is_gone_is_told_where_it_stood() -> None:
    new = {"kubernetes": {"podCIDR": "10.244.0.0/16"}, "teams": [{"name": "language"}]}
    assert [one.gone for one in differing(OLD, new) if one.gone] == [
        ("kubernetes", "maxPods"),
        ("teams", 0),
        ("teams", 1, "quota"),
        ("dns",),
    ]


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "a", "b"]), inner, max_size=3),
    max_leaves=8,
)


@given(DATA, DATA)
def test_every_place_is_in_the_new_version(old: Any, new: Any) -> None:
    for one in differing(old, new):
        value = new
        for step in one.at:
            value = value[step]


@given(DATA)
def test_what_is_the_same_differs_nowhere(data: Any) -> None:
    assert [*differing(data, data)] == []
