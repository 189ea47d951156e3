"""Many nodes in few words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.model.node_sets import names_of, node_set


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["login"], "login"),
        (["gpu-02", "gpu-01"], "gpu-01, gpu-02"),
        ([f"gpu-{number:02}" for number in range(1, 16)], "gpu-[01-15]"),
        (["a8", "a9", "a10", "a11"], "a[8-11]"),
        (["a08", "a09", "a10", "a12"], "a[08-10], a12"),
        (["a1", "a01", "a2", "a02"], "a01, a1, a02, a2"),
        (["r1n1", "r1n2", "r1n3", "r2n1"], "r1n[1-3], r2n1"),
        (["0", "1", "2"], "[0-2]"),
    ],
)
def test_runs_are_folded(names: list[str], text: str) -> None:
    assert node_set(names) == text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu-[016-018]", ["gpu-016", "gpu-017", "gpu-018"]),
        ("a[8-11]", ["a8", "a9", "a10", "a11"]),
        ("login, b[1-2,5]", ["login", "b1", "b2", "b5"]),
        ("r[1-2]n[08-09]", ["r1n08", "r1n09", "r2n08", "r2n09"]),
        ("a a", ["a", "a"]),
    ],
)
def test_sets_are_unfolded_in_their_order(text: str, names: list[str]) -> None:
    assert names_of(text) == names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "`` is no set of nodes such as gpu-"),
        ("a[1-2", "is no set of nodes"),
        ("a]b", "is no set of nodes"),
        ("a[3-1]", "`.3-1.` of `a.3-1.` is no run of numbers"),
        ("a[x]", "is no run of numbers"),
        ("[1-100000]", "more than 5000 nodes"),
        ("a[1-100]b[1-100]", "more than 5000 nodes"),
        ("a[1-4000],b[1-4000]", "more than 5000 nodes"),
        ("[1]" * 2000, "is no set of nodes"),
    ],
)
def test_what_is_no_set_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        names_of(text)


@given(st.sets(st.from_regex(r"[ab](-?[0-9]{1,3})?", fullmatch=True)))
def test_nothing_is_lost_or_added(names: set[str]) -> None:
    folded = node_set(names)
    assert sorted(names_of(folded) if folded else []) == sorted(names)
