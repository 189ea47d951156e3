from pathlib import Path

import pytest
from toyworld import CLUSTER, CUSTOM, NODES, TOTAL, World, render_at

from generator.layout.lock import Writer
from generator.repository import own_code
from generator.repository.hand_edits import HandEdit, hand_edits, refusal


def refused(world: World) -> list[tuple[str, str]]:
    return [(edit.path, edit.kind) for edit in world.judge().edits]


def test_first_and_unchanged_rendering_ask_nothing(folder: World) -> None:
    assert folder.judge().edits == ()
    folder.render()
    assert folder.judge() == folder.judge()
    assert folder.plan().changes == ()


def test_a_rendering_in_step_with_head_is_not_an_edit(world: World) -> None:
    world.nodes("a", "b", "m", "t")
    verdict = world.render()
    assert (verdict.edits, verdict.notes) == ((), ())
    assert "total: 32" in world.text(TOTAL)


def test_a_committed_edit_is_found_with_its_author(world: World) -> None:
    world.edit(NODES, "gpus: 8", "gpus: 4")
    commit = world.commit("by hand")
    world.nodes("a", "b", "m", "t")
    (edit,) = world.render().edits
    assert edit == HandEdit(
        path=NODES,
        kind="committed",
        commit=commit,
        author="Ann",
        line=11,
        by_hand="  gpus: 4",
        generated="  gpus: 8",
    )
    assert "gpus: 4" in world.text(NODES)


def test_a_committed_edit_is_found_below_later_commits(world: World) -> None:
    world.edit(NODES, "gpus: 8", "gpus: 4")
    commit = world.commit("by hand")
    world.put("README.md", "unrelated\n")
    world.commit("unrelated")
    world.nodes("a", "b", "m", "t")
    world.commit("cluster file only")
    assert [edit.commit for edit in world.judge().edits] == [commit]


def test_an_edit_is_found_below_a_commit_that_changed_another_place(world: World) -> None:
    world.edit(NODES, "gpus: 8", "gpus: 4")
    commit = world.commit("by hand")
    world.nodes("a", "m", "t", "z")
    edited = world.text(NODES)
    extra = "z:\n  kind: node\n  name: z\n  gpus: 8\n---\n"
    head, mark, tail = edited.rpartition("---\n")
    world.put(NODES, f"{head}{mark}{extra}{tail.replace('total: 24', 'total: 32')}")
    world.commit("a squashed pull request")
    assert [edit.commit for edit in world.judge().edits] == [commit]


def test_a_file_that_lags_behind_the_cluster_file_is_not_an_edit(world: World) -> None:
    for names in ("abmt", "abcmt"):
        world.nodes(*names)
        world.commit("cluster file only")
    verdict = world.render()
    assert (verdict.edits, verdict.notes) == ((), ())


def test_a_deleted_line_is_an_edit(world: World) -> None:
    world.edit(NODES, "  gpus: 8\n", "")
    world.commit("by hand")
    assert refused(world) == [(NODES, "committed")]


def test_an_uncommitted_edit_is_found(world: World) -> None:
    world.edit(NODES, "gpus: 8", "gpus: 4")
    (edit,) = world.judge().edits
    assert (edit.kind, edit.line, edit.by_hand, edit.generated) == ("uncommitted", 11, "  gpus: 4", "  gpus: 8")


def test_an_edit_after_a_rendering_is_found_although_gen_wrote_the_file(world: World) -> None:
    world.nodes("a", "b", "m", "t")
    world.render()
    world.edit(TOTAL, "total: 32", "total: 1")
    assert refused(world) == [(TOTAL, "uncommitted")]


def test_what_gen_wrote_and_nobody_committed_is_overwritten(world: World) -> None:
    for names in ("abmt", "abcmt", "amt"):
        world.nodes(*names)
        assert not world.render().edits
    assert world.git("status", "--porcelain") == ""


def test_a_strange_file_in_an_owned_folder_is_not_deleted(world: World) -> None:
    world.put("overlays/toy/app/notes.txt", "mine\n")
    assert refused(world) == [("overlays/toy/app/notes.txt", "uncommitted")]
    world.commit("mine")
    (edit,) = world.judge().edits
    assert (edit.kind, edit.by_hand, edit.generated) == ("committed", "mine", None)


def test_a_generated_file_that_is_no_longer_rendered_is_deleted(world: World) -> None:
    tree = world.tree()
    del tree[TOTAL]
    planned = world.plan(tree)
    assert [(change.path, change.kind) for change in planned.changes] == [(TOTAL, "delete")]
    assert hand_edits(world.root, planned, render_at, writer=Writer("1.0")).edits == ()


def test_custom_is_never_questioned(world: World) -> None:
    world.put(CUSTOM, "patches: []\n")
    world.put("overlays/toy/app/custom/patch.yaml", "mine\n")
    assert world.plan().changes == ()


@pytest.mark.parametrize("discard", [[NODES], ["overlays/toy"], ["overlays/toy/app/"]])
def test_discard_drops_an_edit(world: World, discard: list[str]) -> None:
    world.edit(NODES, "gpus: 8", "gpus: 4")
    assert not world.render(discard=discard).edits
    assert "gpus: 4" not in world.text(NODES)


def test_discard_drops_nothing_else(world: World) -> None:
    world.edit(NODES, "gpus: 8", "gpus: 4")
    assert world.render(discard=["overlays/to", f"{NODES}x", TOTAL]).edits


def test_a_discarded_edit_that_comes_back_is_an_edit_again(world: World) -> None:
    edited = world.text(NODES).replace("gpus: 8", "gpus: 4")
    world.put(NODES, edited)
    world.render(discard=[NODES])
    world.put(NODES, edited)
    assert refused(world) == [(NODES, "uncommitted")]


def test_what_another_version_wrote_is_overwritten_with_a_note(world: World) -> None:
    world.edit(NODES, "gpus: 8", "gpus: 4")
    world.commit("by hand, or by 1.0")
    verdict = world.render(version="2.0")
    assert not verdict.edits
    assert any(NODES in note and "another gen wrote" in note for note in verdict.notes)
    assert "gpus: 8" in world.text(NODES)


@pytest.fixture
def source(world: World, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let gen run from source in the very repository that it writes, as its own reference clusters have it."""
    monkeypatch.setattr(own_code, "SOURCE", world.root.resolve() / "generator")
    world.put("generator/model/x.py", "1")
    world.commit("the program")
    return "generator/model/x.py"


@pytest.mark.parametrize("file", ["generator/model/x.py", "generator/model/new.py"])
def test_what_the_source_beside_it_wrote_before_it_changed_is_overwritten_with_a_note(
    world: World, source: str, file: str
) -> None:
    world.edit(NODES, "gpus: 8", "gpus: 4")
    world.commit("by hand, or by the program as it was")
    assert source
    world.put(file, "2")
    verdict = world.render()
    assert not verdict.edits
    assert any(NODES in note and "another gen wrote" in note for note in verdict.notes)
    assert "gpus: 8" in world.text(NODES)


def test_beside_the_source_that_wrote_it_an_edit_stays_one(world: World, source: str) -> None:
    world.put(source, "2")
    world.put("generator/cli/y.py", "2")
    world.commit("another program")
    world.edit(NODES, "gpus: 8", "gpus: 4")
    world.commit("by hand")
    world.put("generator/cli/y.py", "3")
    assert refused(world) == [(NODES, "committed")]
    world.git("reset", "-q", "--hard", "HEAD~1")
    world.forget()
    world.edit(NODES, "gpus: 8", "gpus: 4")
    world.put(source, "3")
    assert refused(world) == [(NODES, "uncommitted")]


def test_a_commit_that_cannot_be_rendered_is_noted(world: World) -> None:
    world.put(CLUSTER, "broken\n")
    world.edit(NODES, "gpus: 8", "gpus: 4")
    world.commit("broken")
    world.nodes("a", "m", "t")
    verdict = world.judge()
    assert not verdict.edits
    assert NODES in verdict.notes[0]


def test_outside_of_git_it_is_said_that_nothing_protects(folder: World) -> None:
    folder.render()
    folder.edit(NODES, "gpus: 8", "gpus: 4")
    verdict = folder.judge()
    assert not verdict.edits
    assert "not a Git repository" in verdict.notes[0]


def test_a_repository_made_after_the_first_rendering_has_no_edits_yet(folder: World) -> None:
    folder.render()
    folder.git("init", "-q")
    folder.nodes("a", "m")
    verdict = folder.render()
    assert not verdict.edits
    assert "nothing was committed yet" in verdict.notes[0]
    folder.edit(NODES, "gpus: 8", "gpus: 4")
    assert refused(folder) == [(NODES, "uncommitted")]


@pytest.mark.parametrize("committed", [False, True])
def test_converted_line_endings_are_no_edit(world: World, *, committed: bool) -> None:
    for path in (NODES, TOTAL):
        (world.root / path).write_bytes((world.root / path).read_bytes().replace(b"\n", b"\r\n"))
    if committed:
        world.commit("converted")
    assert not world.render().edits
    assert "\r" not in (world.root / NODES).read_bytes().decode()


def test_an_emptied_file_is_written_again(world: World) -> None:
    world.put(NODES, "")
    assert not world.render().edits


def test_a_detached_head_is_judged_alike(world: World) -> None:
    world.edit(NODES, "gpus: 8", "gpus: 4")
    world.commit("by hand")
    world.git("checkout", "-q", "--detach")
    assert refused(world) == [(NODES, "committed")]


def test_a_linked_worktree_has_its_own_record(world: World, tmp_path: Path) -> None:
    world.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = World(tmp_path / "side")
    side.nodes("a", "m")
    assert not side.render().edits
    side.nodes("a")
    assert not side.render().edits
    side.edit(NODES, "gpus: 8", "gpus: 4")
    assert refused(side) == [(NODES, "uncommitted")]


def test_a_folder_inside_a_repository_and_a_submodule_are_judged_alike(world: World, tmp_path: Path) -> None:
    outer = World(tmp_path / "outer")
    outer.git("init", "-q", "-b", "main")
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(world.root), "sub")
    module = World(outer.root / "sub")
    inner = World(outer.root / "infra")
    inner.nodes("a", "m", "t")
    inner.render()
    outer.commit("all")
    outer.forget()
    for place in (module, inner):
        for names in ("ab", "am"):
            place.nodes(*names)
            assert not place.render().edits
        place.commit("less")
        place.edit(NODES, "gpus: 8", "gpus: 4")
        place.commit("by hand")
        assert refused(place) == [(NODES, "committed")]


def test_a_shallow_clone_refuses_what_it_cannot_tell(world: World, tmp_path: Path) -> None:
    world.nodes("a", "b", "m", "t")
    world.commit("cluster file only")
    world.git("clone", "-q", "--depth", "1", world.root.as_uri(), str(tmp_path / "shallow"))
    shallow = World(tmp_path / "shallow")
    (nodes, total) = shallow.judge().edits
    assert (nodes.kind, total.kind) == ("unknown", "unknown")
    assert "git fetch --unshallow" in refusal(nodes)
    shallow.git("fetch", "-q", "--unshallow")
    assert not shallow.render().edits
