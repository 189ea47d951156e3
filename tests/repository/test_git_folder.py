from pathlib import Path

import pytest
from toyworld import World

from generator.errors import UsageError
from generator.repository.git_folder import GitFolder, locate


def test_outside_of_git_there_is_no_place(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert locate(tmp_path) is None


def test_a_working_tree_and_a_folder_in_it(world: World) -> None:
    assert locate(world.root) == GitFolder(world.root, world.root / ".git", "")
    assert locate(world.root / "overlays/toy") == GitFolder(world.root, world.root / ".git", "overlays/toy/")


def test_it_agrees_with_git_in_a_linked_worktree(world: World, tmp_path: Path) -> None:
    world.git("worktree", "add", "-q", str(tmp_path / "side"))
    place = locate(tmp_path / "side")
    assert place is not None
    assert str(place.git_dir / "gen/written.json") == World(tmp_path / "side").git(
        "rev-parse", "--git-path", "gen/written.json"
    )


def test_a_bare_repository_is_refused(world: World, tmp_path: Path) -> None:
    world.git("clone", "-q", "--bare", str(world.root), str(tmp_path / "bare"))
    with pytest.raises(UsageError, match="bare Git repository"):
        locate(tmp_path / "bare")


@pytest.mark.parametrize("text", ["gitdir: ../nowhere\n", "not a link\n", ""])
def test_a_git_file_that_leads_nowhere_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    with pytest.raises(UsageError, match="does not lead to a Git folder"):
        locate(tmp_path)


def test_a_git_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / ".git").symlink_to(".git")
    with pytest.raises(UsageError, match=r"\.git: cannot be read"):
        locate(tmp_path)
