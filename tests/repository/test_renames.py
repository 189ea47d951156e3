"""A cluster that is renamed or copied brings its generated files along: nobody edited them."""

import shutil
from pathlib import Path

import pytest
from reference import ROOT
from toyworld import World

from generator.repository.cluster_files import load
from generator.repository.outcome import Outcome
from generator.repository.render import render

QUEUE = "overlays/{}/queues/clusterqueue-mlperf.yaml"
APPLICATION = "clusters/{}/argocd/application-kueue.yaml"


@pytest.fixture
def place(tmp_path: Path) -> World:
    """A committed repository with one rendered cluster, as in a fresh clone."""
    world = World(tmp_path / "repository")
    world.put("clusters/a30-bench/cluster.yaml", (ROOT / "clusters/a30-bench/cluster.yaml").read_text())
    world.git("init", "-q", "-b", "main")
    rendered(world)
    world.commit("first")
    world.forget()
    return world


def rendered(world: World) -> Outcome:
    return render(world.root, load(world.root), dry_run=False, waiting=print)


def named(world: World, name: str) -> None:
    world.edit(f"clusters/{name}/cluster.yaml", "name: a30-bench", f"name: {name}")


def renamed(world: World, *folders: str) -> None:
    for folder in folders:
        world.git("mv", f"{folder}/a30-bench", f"{folder}/prod")
    named(world, "prod")


def edits(outcome: Outcome) -> list[tuple[str, str]]:
    return [(edit.path, edit.kind) for edit in outcome.edits]


@pytest.mark.parametrize("folders", [("clusters",), ("clusters", "overlays")], ids=" and ".join)
@pytest.mark.parametrize("committed", [False, True])
def test_a_renamed_cluster_is_rendered_anew(place: World, folders: tuple[str, ...], *, committed: bool) -> None:
    renamed(place, *folders)
    if committed:
        place.commit("renamed, and not rendered yet")
    outcome = rendered(place)
    assert (edits(outcome), outcome.notes) == ([], ())
    assert "prod" in place.text(APPLICATION.format("prod"))
    assert (place.root / "overlays/a30-bench/queues").is_dir() == ("overlays" not in folders)
    assert not (place.root / QUEUE.format("a30-bench")).exists()


def test_it_need_not_be_git_that_moves(place: World) -> None:
    for folder in ("clusters", "overlays"):
        (place.root / folder / "a30-bench").rename(place.root / folder / "prod")
    named(place, "prod")
    assert edits(rendered(place)) == []


def test_a_move_before_the_new_name_is_followed(place: World) -> None:
    for folder in ("clusters", "overlays"):
        place.git("mv", f"{folder}/a30-bench", f"{folder}/prod")
    place.commit("moved: such a commit cannot be rendered")
    named(place, "prod")
    place.commit("named")
    outcome = rendered(place)
    assert (edits(outcome), outcome.notes) == ([], ())


def test_a_copied_cluster_is_rendered_anew(place: World) -> None:
    for folder in ("clusters", "overlays"):
        shutil.copytree(place.root / folder / "a30-bench", place.root / folder / "second")
    named(place, "second")
    assert edits(rendered(place)) == []


def test_of_several_clusters_the_one_that_is_most_alike_was_renamed(place: World) -> None:
    place.put("clusters/ml50/cluster.yaml", (ROOT / "clusters/ml50/cluster.yaml").read_text())
    place.put("clusters/aaaa/notes.txt", "no cluster\n")
    rendered(place)
    place.commit("two clusters")
    place.forget()
    renamed(place, "clusters", "overlays")
    assert edits(rendered(place)) == []


def test_an_edit_in_a_moved_file_is_found(place: World) -> None:
    renamed(place, "clusters", "overlays")
    place.edit(QUEUE.format("prod"), "StrictFIFO", "BestEffortFIFO")
    (edit,) = rendered(place).edits
    assert (edit.path, edit.kind) == (QUEUE.format("prod"), "uncommitted")
    assert (str(edit.by_hand).strip(), str(edit.generated).strip()) == (
        "queueingStrategy: BestEffortFIFO",
        "queueingStrategy: StrictFIFO",
    )


@pytest.mark.parametrize("also_committed", [False, True])
def test_an_edit_before_the_move_is_found_at_its_new_place(place: World, *, also_committed: bool) -> None:
    place.edit(QUEUE.format("a30-bench"), "StrictFIFO", "BestEffortFIFO")
    commit = place.commit("by hand")
    renamed(place, "clusters", "overlays")
    if also_committed:
        place.commit("renamed")
    outcome = rendered(place)
    assert edits(outcome) == [(QUEUE.format("prod"), "committed")]
    assert outcome.edits[0].commit == commit


def test_an_edit_in_the_commit_that_moves_is_found(place: World) -> None:
    renamed(place, "clusters", "overlays")
    place.edit(QUEUE.format("prod"), "StrictFIFO", "BestEffortFIFO")
    place.commit("renamed, and more")
    assert edits(rendered(place)) == [(QUEUE.format("prod"), "committed")]


def test_a_file_that_never_was_gens_is_found(place: World) -> None:
    renamed(place, "clusters", "overlays")
    place.put("overlays/prod/queues/notes.txt", "mine\n")
    assert edits(rendered(place)) == [("overlays/prod/queues/notes.txt", "uncommitted")]


def test_a_renamed_cluster_in_a_merge_is_rendered_anew(place: World) -> None:
    place.git("checkout", "-q", "-b", "side")
    place.edit("clusters/a30-bench/cluster.yaml", "queueing: StrictFIFO", "queueing: BestEffortFIFO")
    rendered(place)
    place.commit("another order")
    place.git("checkout", "-q", "main")
    renamed(place, "clusters", "overlays")
    rendered(place)
    place.commit("renamed")
    place.git("merge", "--no-commit", "--no-ff", "side", check=False)
    assert (place.root / ".git/MERGE_HEAD").exists()
    place.forget()
    assert edits(rendered(place)) == []
    assert "BestEffortFIFO" in place.text(QUEUE.format("prod"))


def test_a_commit_with_a_broken_lock_is_noted(place: World) -> None:
    lock = place.text("gen.lock")
    place.put("gen.lock", f"<<<<<<< HEAD\n{lock}=======\n{lock}>>>>>>> side\n")
    place.edit(QUEUE.format("a30-bench"), "StrictFIFO", "BestEffortFIFO")
    place.commit("a bad merge")
    place.put("gen.lock", lock)
    outcome = rendered(place)
    assert edits(outcome) == []
    assert "cannot be told" in outcome.notes[0]
