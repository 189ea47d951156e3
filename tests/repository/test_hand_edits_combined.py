import pytest
from toyworld import NODES, World


def refused(world: World) -> list[tuple[str, str]]:
    return [(edit.path, edit.kind) for edit in world.judge().edits]


def branch_with(world: World, branch: str, *nodes: str, edit: tuple[str, str, str] | None = None) -> None:
    """From the first commit, a branch with its own nodes, rendered, and perhaps edited by hand."""
    world.git("checkout", "-q", "-b", branch, "main")
    world.nodes(*nodes)
    assert not world.render().edits
    if edit:
        world.commit(f"{branch}: nodes")
        world.edit(*edit)
    world.commit(branch)
    world.git("checkout", "-q", "main")


def two_branches(world: World) -> None:
    branch_with(world, "one", "a", "g", "m", "t")
    branch_with(world, "two", "a", "m", "r", "t")
    world.git("merge", "-q", "--no-ff", "-m", "one", "one")


def test_two_merged_branches_are_stale_not_edited(world: World) -> None:
    two_branches(world)
    world.git("merge", "-q", "-m", "two", "two")
    assert "total: 32" in world.text(NODES)
    assert not world.render().edits
    assert "total: 40" in world.text(NODES)


@pytest.mark.parametrize("way", [("merge", "--squash", "two"), ("cherry-pick", "two")])
def test_two_branches_without_a_merge_commit_are_stale_not_edited(world: World, way: tuple[str, ...]) -> None:
    two_branches(world)
    world.git(*way)
    world.git("commit", "-q", "--allow-empty", "-m", "two")
    assert "total: 32" in world.text(NODES)
    assert not world.render().edits
    assert "total: 40" in world.text(NODES)


def test_a_rebased_branch_is_stale_not_edited(world: World) -> None:
    two_branches(world)
    world.git("checkout", "-q", "two")
    world.git("rebase", "-q", "main")
    assert not world.render().edits
    assert "total: 40" in world.text(NODES)


@pytest.mark.parametrize(
    "way", [("merge", "--no-edit", "two"), ("merge", "--squash", "two"), ("cherry-pick", "main..two")]
)
def test_an_edit_on_a_branch_is_found_after_it_was_combined(world: World, way: tuple[str, ...]) -> None:
    branch_with(world, "one", "a", "g", "m", "t")
    branch_with(world, "two", "a", "m", "r", "t", edit=(NODES, "first: a", "first: m"))
    world.git("merge", "-q", "--no-ff", "-m", "one", "one")
    world.git(*way)
    world.git("commit", "-q", "--allow-empty", "-m", "two")
    assert "first: m" in world.text(NODES)
    (edit,) = world.render().edits
    assert (edit.path, edit.by_hand, edit.generated) == (NODES, "first: m", "first: a")


def test_an_edit_made_in_a_merge_commit_is_found(world: World) -> None:
    two_branches(world)
    world.git("merge", "-q", "--no-commit", "two")
    world.edit(NODES, "first: a", "first: m")
    merge = world.commit("two, and more")
    assert [edit.commit for edit in world.judge().edits] == [merge]


def conflict(world: World, way: str, *, edit: tuple[str, str] | None = None) -> None:
    """Stop in the middle of combining two branches whose generated files cannot be merged."""
    branch_with(world, "one", "a", "m", "n", "t")
    world.git("checkout", "-q", "-b", "two")
    world.nodes("a", "m", "o", "t")
    world.render()
    if edit:
        world.edit(NODES, *edit)
    world.commit("two")
    world.forget()
    world.git("checkout", "-q", "two" if way == "rebase" else "one")
    world.git(way, "one" if way == "rebase" else "two", check=False)
    assert "<<<<<<<" in world.text(NODES)
    world.nodes("a", "m", "n", "o", "t")


@pytest.mark.parametrize("way", ["merge", "cherry-pick", "rebase"])
def test_conflict_markers_are_overwritten_while_git_combines(world: World, way: str) -> None:
    conflict(world, way)
    assert not world.render().edits
    assert "total: 40" in world.text(NODES)


@pytest.mark.parametrize("way", ["merge", "cherry-pick", "rebase"])
def test_the_other_branchs_edit_is_found_while_git_combines(world: World, way: str) -> None:
    conflict(world, way, edit=("first: a", "first: m"))
    (edit,) = world.render().edits
    assert (edit.path, edit.kind, edit.by_hand) == (NODES, "committed", "first: m")
    assert "<<<<<<<" in world.text(NODES)


def test_a_strange_file_survives_a_merge_under_way(world: World) -> None:
    conflict(world, "merge")
    world.put("overlays/toy/app/notes.txt", "mine\n")
    assert refused(world) == [("overlays/toy/app/notes.txt", "uncommitted")]


def stashed(world: World) -> None:
    """Bring a stash back beside another change of the same file: Git leaves its markers in it."""
    world.nodes("a", "m", "n", "t")
    world.render()
    world.git("stash", "-q")
    world.nodes("a", "m", "o", "t")
    world.render()
    world.commit("o")
    world.git("stash", "pop", check=False)
    assert "<<<<<<<" in world.text(NODES)


def test_markers_that_a_stash_left_are_stale(world: World) -> None:
    stashed(world)
    world.nodes("a", "m", "n", "o", "t")
    assert not world.render().edits


def test_an_edit_beside_markers_that_a_stash_left_is_found(world: World) -> None:
    stashed(world)
    world.edit(NODES, "first: a", "first: z")
    world.nodes("a", "m", "n", "o", "t")
    (edit,) = world.render().edits
    assert (edit.path, edit.kind) == (NODES, "uncommitted")
    assert "first: z" in world.text(NODES)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("=======\n", "mine: 1\n=======\n"),
        ("=======\n", "=======\nmine: 1\n"),
        (">>>>>>> ", "mine: 1\n>>>>>>> "),
        ("=======\n", "mine: 1\n"),
        (">>>>>>> ", "mine: 1\n<<<<<<< x\n=======\n>>>>>>> "),
    ],
)
def test_an_edit_within_markers_that_a_stash_left_is_found(world: World, old: str, new: str) -> None:
    stashed(world)
    world.edit(NODES, old, new)
    world.nodes("a", "m", "n", "o", "t")
    (edit,) = world.render().edits
    assert (edit.path, edit.kind) == (NODES, "uncommitted")
    assert "mine: 1" in world.text(NODES)


def test_an_edit_beside_committed_conflict_markers_is_found(world: World) -> None:
    conflict(world, "merge")
    world.edit(NODES, "first: a", "first: z")
    markers = world.commit("markers and all")
    assert [(edit.kind, edit.commit) for edit in world.render().edits] == [("committed", markers)]


def test_committed_conflict_markers_are_stale(world: World) -> None:
    conflict(world, "merge")
    world.commit("markers and all")
    assert not world.render().edits
    assert "<<<<<<<" not in world.text(NODES)


def test_a_new_file_of_conflict_markers_is_stale(world: World) -> None:
    world.put("overlays/toy/app/new.yaml", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> two\n")
    world.commit("both added it")
    assert not world.judge().edits
