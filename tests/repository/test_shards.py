"""Which clusters are in which part."""

import pytest

from generator.errors import UsageError
from generator.repository.shards import Shard

NAMES = [f"site-{number:03}" for number in range(1000)]


@pytest.mark.parametrize("of", [1, 2, 7, 64])
def test_each_cluster_is_in_one_part(of: int) -> None:
    parts = [Shard(number, of).mine(NAMES) for number in range(1, of + 1)]
    assert sorted(name for part in parts for name in part) == NAMES
    assert all(part == sorted(part) for part in parts)


def test_parts_of_many_clusters_are_about_as_large() -> None:
    sizes = [len(Shard(number, 8).mine(NAMES)) for number in range(1, 9)]
    assert min(sizes) >= 95
    assert max(sizes) <= 155


def test_another_cluster_moves_none() -> None:
    for number in range(1, 9):
        shard = Shard(number, 8)
        assert [name for name in shard.mine(["aaa", *NAMES]) if name != "aaa"] == shard.mine(NAMES)


def test_the_division_is_the_same_on_every_machine() -> None:
    # Pods of two builds of Python must agree: Python's own hash of a text differs between processes.
    assert Shard(2, 4).mine(NAMES[:10]) == ["site-001", "site-007", "site-008", "site-009"]


def test_a_part_is_read() -> None:
    assert Shard.parse("2/8") == Shard(2, 8)
    assert str(Shard(2, 8)) == "2/8"


@pytest.mark.parametrize("text", ["", "2", "0/8", "9/8", "1/0", "-1/8", "1/8/2", "1 / 8", "a/b", "01/8", "1/100000"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no part of a whole; `--shard 2/8` is the second of eight"):
        Shard.parse(text)
