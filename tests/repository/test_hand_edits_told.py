"""What is said of hand edits."""

from pathlib import Path

import pytest
from toyworld import NODES, World

from generator.repository.hand_edits import HANDFUL, HandEdit, refusal, refusals


def test_a_refusal_says_what_where_and_both_ways_out() -> None:
    edit = HandEdit(
        path=NODES, kind="committed", commit="0" * 40, author="Ann", line=11, by_hand="a" * 200, generated=None
    )
    assert refusal(edit).splitlines() == [
        f"{NODES}:11: was changed by hand in commit 000000000 by Ann, and gen would overwrite it",
        f"  by hand:   {'a' * 97}...",
        "  generated: (no such line)",
        "  to keep it: move it into overlays/toy/app/custom/ or clusters/toy/cluster.yaml",
        f"  to drop it: run again with `--discard {NODES}`",
    ]


@pytest.mark.parametrize(
    ("path", "home"),
    [
        ("base/app/1.0/a.yaml", "the custom/ folder of an overlay or into the cluster file"),
        ("clusters/toy/argocd/a.yaml", "clusters/toy/argocd/custom/ or clusters/toy/cluster.yaml"),
    ],
)
def test_a_refusal_names_where_an_edit_survives(path: str, home: str) -> None:
    edit = HandEdit(path=path, kind="uncommitted", line=1, by_hand="a", generated="b")
    assert f"to keep it: move it into {home}\n" in refusal(edit)


def uncommitted(*paths: str) -> list[HandEdit]:
    return [HandEdit(path=path, kind="uncommitted", line=3, by_hand="a", generated="b") for path in paths]


def test_a_refusal_of_the_lock_says_what_can_be_done_with_a_lock(world: World) -> None:
    world.edit("gen.lock", "1.0", "1.1")
    (edit,) = world.judge().edits
    keep, drop = refusal(edit).splitlines()[-2:]
    assert keep.startswith("  to keep it: commit it, then run again: digests are taken as they are committed, nothing")
    assert drop == "  to drop it: `git checkout HEAD -- gen.lock`, then run again"
    world.git("checkout", "HEAD", "--", "gen.lock")
    assert not world.judge().edits
    world.put("gen.lock", f"{world.text('gen.lock')}# mine\n")
    world.commit("a comment")
    (edit,) = world.judge().edits
    assert refusal(edit).splitlines()[-2:] == [
        "  to keep it: nothing but digests is kept in this file",
        "  to drop it: run again with `--discard gen.lock`",
    ]


def test_a_handful_of_edits_is_told_one_by_one() -> None:
    edits = uncommitted(*(f"overlays/toy/app/{number}.yaml" for number in range(HANDFUL)))
    assert list(refusals(edits)) == [refusal(edit) for edit in edits]


def test_more_edits_are_folded_into_the_folders_of_their_components() -> None:
    app = [f"overlays/toy/app/{number}.yaml" for number in range(HANDFUL)]
    told = "\n".join(refusals(uncommitted("gen.lock", *app))).splitlines()
    assert told == [
        "gen.lock: 1 changed by hand, and gen would overwrite that; the first is gen.lock:3",
        "overlays/toy/app: 5 changed by hand, and gen would overwrite that; the first is overlays/toy/app/0.yaml:3",
        "  to see them all: run again with `--dry-run --output json`",
        "  to keep them: move them into the custom/ folders of overlays or into cluster files",
        "  to drop them: run again with `--discard gen.lock --discard overlays/toy/app`",
    ]


def test_edits_all_over_the_place_are_folded_higher() -> None:
    of_one = uncommitted(*(f"overlays/toy/app{number}/a.yaml" for number in range(40)))
    assert list(refusals(of_one))[-1].endswith("`--discard overlays/toy`")
    of_many = uncommitted(*(f"overlays/toy{number}/app/a.yaml" for number in range(40)), "base/a/1/a.yaml")
    assert list(refusals(of_many))[-1].endswith("`--discard overlays --discard base`")


def test_folded_edits_of_a_shallow_clone_say_how_to_tell(world: World, tmp_path: Path) -> None:
    world.nodes(*"abcdefghijk")
    world.render()
    world.commit("many")
    world.nodes("a")
    world.commit("cluster file only")
    world.git("clone", "-q", "--depth", "1", world.root.as_uri(), str(tmp_path / "shallow"))
    told = list(refusals(World(tmp_path / "shallow").judge().edits))
    assert any("git fetch --unshallow" in text for text in told)
    assert len(told) < 10
