from pathlib import Path

import pytest
from toyworld import NODES, World

from generator.errors import UsageError
from generator.repository.plan import Change
from generator.repository.record import Record


def record_of(world: World) -> Path:
    return world.root / ".git/gen/written.json"


def test_both_contents_are_known_until_all_is_written(world: World) -> None:
    changes = [Change("a", b"old", b"new"), Change("b", b"gone", None), Change("c", None, b"made")]
    record = Record.load(world.root)
    record.expect(changes)
    under_way = Record.load(world.root)
    known = [("a", b"old"), ("a", b"new"), ("b", b"gone"), ("c", b"made")]
    assert all(under_way.knows(*pair) for pair in known)
    assert not under_way.knows("a", b"made")
    record.settle()
    done = Record.load(world.root)
    assert [done.knows(*pair) for pair in known] == [False, True, False, True]


def test_what_was_recorded_before_is_put_back(world: World) -> None:
    record = Record.load(world.root)
    record.expect([Change("a", None, b"new")])
    record.restore()
    assert not record_of(world).exists()
    record.expect([Change("a", None, b"first")])
    record.settle()
    record = Record.load(world.root)
    record.expect([Change("a", b"first", b"second")])
    record.restore()
    assert not Record.load(world.root).knows("a", b"second")
    assert Record.load(world.root).knows("a", b"first")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1}', b"\xff"])
def test_a_broken_record_counts_as_none(world: World, content: bytes) -> None:
    world.render()
    record_of(world).parent.mkdir(exist_ok=True)
    record_of(world).write_bytes(content)
    assert not Record.load(world.root).exists
    world.nodes("a")
    assert not world.render().edits
    assert Record.load(world.root).knows(NODES, (world.root / NODES).read_bytes())


def test_outside_of_git_nothing_is_known(folder: World) -> None:
    record = Record.load(folder.root)
    record.expect([Change("a", None, b"new")])
    record.settle()
    record.restore()
    assert not record.exists
    assert not Record.load(folder.root).knows("a", b"new")


def test_a_record_that_cannot_be_written_stops_the_write(world: World) -> None:
    (world.root / ".git/gen").write_text("in the way")
    world.nodes("a")
    before = world.text(NODES)
    with pytest.raises(
        UsageError, match=r"written\.json: cannot be written: .*; without it gen cannot tell hand edits"
    ):
        world.render()
    assert world.text(NODES) == before
    assert not list(world.root.rglob(".gen-*"))
