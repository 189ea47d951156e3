"""What a render names beside its changes."""

from pathlib import Path

import pytest
from reference import ROOT
from toyworld import World

from generator.repository.cluster_files import load
from generator.repository.plan import Change, Plan
from generator.repository.plan_notes import plan_notes
from generator.repository.render import render

CLUSTER = "clusters/a30-bench/cluster.yaml"


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_goes_though_gen_may_not_have_made_it_is_named(tmp_path: Path, *, dry_run: bool) -> None:
    world = World(tmp_path)
    world.put(CLUSTER, (ROOT / CLUSTER).read_text())
    render(world.root, load(world.root), dry_run=False, waiting=print)
    world.put("base/kueue/.gitkeep", "")
    world.put("overlays/a30-bench/kueue/custom/.gen-7~", "mine")
    told = render(world.root, load(world.root), dry_run=dry_run, waiting=print).notes
    # True of a render that is only tried, or refused, too.
    assert [note.split(": ")[0] for note in told] == [
        "a render removes base/kueue/.gitkeep",
        "a render removes overlays/a30-bench/kueue/custom/.gen-7~",
    ]
    assert (world.root / "base/kueue/.gitkeep").exists() == dry_run


def test_of_many_the_first_are_named() -> None:
    changes = tuple(Change(f"base/{number:03}", b"", None) for number in range(12))
    (note,) = plan_notes(Plan(changes=(*changes, Change("base/new", None, b"x")), unchanged=0))
    assert "base/009, and 2 more: empty" in note
    assert "base/010" not in note
