"""Many nodes in few words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.model.node_sets import node_set


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


def unfolded(text: str) -> list[str]:
    found = []
    for part in text.split(", ") if text else []:
        run = re.fullmatch(r"(.*)\[(\d+)-(\d+)\]", part)
        if run:
            found += [f"{run[1]}{n:0{len(run[2])}}" for n in range(int(run[2]), int(run[3]) + 1)]
        else:
            found.append(part)
    return found


@given(st.sets(st.from_regex(r"[ab](-?[0-9]{1,3})?", fullmatch=True)))
def test_nothing_is_lost_or_added(names: set[str]) -> None:
    assert sorted(unfolded(node_set(names))) == sorted(names)
