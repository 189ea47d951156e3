"""Streams of documents, as Kubernetes reads them. The judge of scalars is in tests/real/test_vendor_reading.py."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.build.go_yaml import UnreadableError, numbered
from generator.layout.emit import emit


def values(text: str) -> list[object]:
    return [value for _, value in numbered(text)]


def test_a_key_that_comes_twice_counts_as_it_came_last() -> None:
    assert values("a: 1\nb: 2\na: 3\n") == [{"a": 3, "b": 2}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3: the key `a` is there twice"),
        ("x:\n- {b: 1, 'b': 2}\n", "line 2: the key `b` is there twice"),
        ("5: 1\n'5': 2\n", "line 2: the key `5` is there twice"),
        ("a: 1\n---\nb: 1\nb: 1\n", "line 4: the key `b` is there twice"),
    ],
)
def test_a_key_that_comes_twice_is_refused_where_people_wrote_it(text: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        list(numbered(text, strict=True))


def test_what_is_merged_or_in_another_map_comes_not_twice() -> None:
    text = "a: &x {b: 1}\nc: {<<: *x, b: 2}\nd: [{a: 1}, {a: 1}]\n---\na: 1\n"
    assert [value for _, value in numbered(text, strict=True)] == values(text)


def test_keys_become_text() -> None:
    assert values("on: 1\n5: 2\n'no': 3\n") == [{"true": 1, "5": 2, "no": 3}]


def test_anchors_aliases_and_merges() -> None:
    assert values("a: &x {b: 1, c: 2}\nd: *x\ne: {<<: *x, c: 3}\nf: {<<: [*x, {g: 4}]}\nh: {'<<': 1}\n") == [
        {
            "a": {"b": 1, "c": 2},
            "d": {"b": 1, "c": 2},
            "e": {"b": 1, "c": 3},
            "f": {"b": 1, "c": 2, "g": 4},
            "h": {"<<": 1},
        }
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1\nb: 2\n", "line 2: while parsing a flow sequence, did not find expected"),
        ("ok: 1\n---\na: .inf\n", "line 3: .inf: JSON"),
        ("[" * 50_000, "line 1: more than 200 levels deep"),
        ("&a [*a]", "line 1: there is no finished anchor a"),
        ("a: *b", "line 1: there is no finished anchor b"),
        ("? [a]\n: 1\n", "line 1: a key is no scalar"),
        ("? ~\n: 1\n", "line 1: a key is null"),
        ("a: {<<: 1}", "line 1: `<<` takes maps"),
        ("a: b\nc: \x00", "line 2: control characters are not allowed"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, words: str) -> None:
    with pytest.raises(UnreadableError) as error:
        values(text)
    assert words in str(error.value)


def test_a_bomb_of_aliases_is_refused() -> None:
    text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
    )
    with pytest.raises(UnreadableError, match="line 7: more than 3000000 values"):
        values(text)


@given(st.text(max_size=60))
def test_no_text_ends_in_anything_else(text: str) -> None:
    with contextlib.suppress(UnreadableError):
        values(text)


PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=12)


@given(
    st.recursive(
        PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    )
)
def test_what_gen_writes_reads_as_it_was(value: object) -> None:
    assert values(emit(value)) == [value]


def test_text_that_is_repeated_counts_by_its_length() -> None:
    text = f"a: &a {'x' * 1_000_000}\nb: [{', '.join(['*a'] * 3000)}]\n"
    with pytest.raises(UnreadableError, match="more than 3000000 values"):
        list(numbered(text, strict=False))
