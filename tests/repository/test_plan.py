import os
import signal
from pathlib import Path

import pytest
from toyworld import files

from generator.errors import UsageError
from generator.repository.plan import Owned, Plan, plan
from generator.repository.vendored import on_disk

OWNED = Owned(folders=("overlays/toy", "base"), files=("gen.lock",), kept=("overlays/*/*/custom/*",))


def put(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(path.encode())


def tree(*paths: str) -> dict[str, bytes]:
    return {path: path.encode() for path in paths}


def kinds(planned: Plan) -> dict[str, str]:
    return {change.path: change.kind for change in planned.changes}


def test_what_stands_is_compared_with_what_should_stand(tmp_path: Path) -> None:
    put(tmp_path, "base/same", "base/longer", "base/shorter", "base/stale", "gen.lock", "README.md", "overlays/ml50/x")
    wanted = tree("base/same", "base/new") | {"base/longer": b"base/longer, now", "base/shorter": b"b"}
    planned = plan(tmp_path, wanted, {}, OWNED)
    assert kinds(planned) == {
        "base/longer": "update",
        "base/new": "create",
        "base/shorter": "update",
        "base/stale": "delete",
        "gen.lock": "delete",
    }
    assert planned.unchanged == 1
    assert list(kinds(planned)) == sorted(kinds(planned))
    assert (planned.changes[0].old, planned.changes[0].new) == (b"base/longer", b"base/longer, now")


def test_a_file_made_once_is_made_where_nothing_stands(tmp_path: Path) -> None:
    put(tmp_path, "overlays/toy/app/custom/kustomization.yaml", "base/notes")
    once = {"overlays/toy/app/custom/kustomization.yaml": b"other", "base/notes": b"other", ".gitattributes": b"x"}
    assert kinds(plan(tmp_path, {}, once, OWNED)) == {".gitattributes": "create"}


def test_what_is_kept_is_neither_changed_nor_deleted(tmp_path: Path) -> None:
    put(tmp_path, "overlays/toy/app/custom/patch.yaml", "overlays/toy/app/custom/deep/er", "overlays/toy/app/old")
    (tmp_path / "overlays/toy/app/custom/empty").mkdir()
    planned = plan(tmp_path, {}, {}, OWNED)
    assert kinds(planned) == {"overlays/toy/app/old": "delete"}
    assert planned.empty == ()


def test_without_patterns_nothing_is_kept(tmp_path: Path) -> None:
    put(tmp_path, "base/old")
    assert kinds(plan(tmp_path, {}, {}, Owned(folders=("base", "base/sub", "base")))) == {"base/old": "delete"}


def test_what_a_killed_run_left_is_found_and_is_no_change(tmp_path: Path) -> None:
    left = {"base/.gen-1~", "overlays/toy/app/custom/.gen-22~", ".gen-3~", "schemas/.gen-4~"}
    put(tmp_path, *left, "base/.gen-x~", "gen.lock")
    (tmp_path / "base/empty/deep").mkdir(parents=True)
    wanted = tree("gen.lock", "schemas/s.json", "base/.gen-x~")
    planned = plan(tmp_path, wanted, tree("overlays/toy/app/custom/kustomization.yaml"), OWNED)
    assert set(planned.temporaries) == left
    assert len(planned.temporaries) == len(left)
    assert planned.empty == ("base/empty/deep",)
    assert set(kinds(planned).values()) == {"create"}


def test_planning_changes_nothing(tmp_path: Path) -> None:
    put(tmp_path, "base/a", "base/.gen-1~")
    before = files(tmp_path)
    plan(tmp_path, tree("base/b"), tree("once"), OWNED)
    assert files(tmp_path) == before


@pytest.mark.parametrize("link", ["base", "base/app", "overlays", "schemas"])
def test_a_folder_linked_out_of_the_repository_is_refused(tmp_path: Path, link: str) -> None:
    (tmp_path / "outside/toy").mkdir(parents=True)
    root = tmp_path / "root"
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(tmp_path / "outside")
    wanted = tree("base/app/a", "overlays/toy/app/a", "schemas/a")
    with pytest.raises(UsageError, match=f"^{link}: (a link leads outside|is a link)"):
        plan(root, wanted, {}, OWNED)
    assert files(tmp_path) == {}


def test_a_stale_file_behind_a_link_out_of_the_repository_is_not_deleted(tmp_path: Path) -> None:
    put(tmp_path, "outside/precious")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/base").symlink_to(tmp_path / "outside")
    with pytest.raises(UsageError, match=f"base: a link leads outside the repository, to {tmp_path}/outside"):
        plan(tmp_path / "root", {}, {}, OWNED)


@pytest.mark.parametrize("target", ["../gen.lock", "nothing", "/etc/hostname"])
def test_a_link_in_a_files_place_is_refused(tmp_path: Path, target: str) -> None:
    put(tmp_path, "gen.lock")
    (tmp_path / "base").mkdir()
    (tmp_path / "base/a").symlink_to(target)
    for wanted in (tree("base/a", "gen.lock"), tree("gen.lock")):
        with pytest.raises(UsageError, match="base/a: is a link, but gen writes plain files; remove it"):
            plan(tmp_path, wanted, {}, OWNED)


def test_links_inside_the_repository_and_in_custom_are_the_users(tmp_path: Path) -> None:
    put(tmp_path, "overlays/toy/one/custom/patch", "elsewhere/base/a", "outside/shared/x")
    root = tmp_path / "overlays/.."
    (tmp_path / "overlays/toy/two").mkdir()
    (tmp_path / "overlays/toy/two/custom").symlink_to("../one/custom")
    (tmp_path / "overlays/toy/one/custom/shared").symlink_to(tmp_path / "outside")
    (tmp_path / "base").symlink_to("elsewhere/base")
    planned = plan(root, {"base/a": b"new"}, tree("overlays/toy/two/custom/patch"), OWNED)
    assert kinds(planned) == {"base/a": "update"}


def test_a_folder_in_a_files_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "base/a").mkdir(parents=True)
    with pytest.raises(UsageError, match="base/a: is a folder, but a file belongs here; move it away"):
        plan(tmp_path, tree("base/a"), {}, OWNED)


@pytest.mark.parametrize("path", ["base/app/deep/a", "base/app/a"])
def test_a_file_in_a_folders_place_is_refused(tmp_path: Path, path: str) -> None:
    put(tmp_path, "base/app")
    with pytest.raises(UsageError, match="base/app: is a file, but a folder belongs here; move it away"):
        plan(tmp_path, tree(path), {}, OWNED)


def test_a_file_in_an_owned_folders_place_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "base")
    with pytest.raises(UsageError, match="base: is a file, but a folder belongs here"):
        plan(tmp_path, {}, {}, OWNED)


@pytest.mark.parametrize("name", [b"line\nbreak", b"\xff"])
def test_a_name_that_cannot_be_shown_is_refused(tmp_path: Path, name: bytes) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / os.fsdecode(name)).touch()
    with pytest.raises(UsageError, match="the name cannot be shown"):
        plan(tmp_path, {}, {}, OWNED)


def test_an_empty_repository_plans_only_creations(tmp_path: Path) -> None:
    assert kinds(plan(tmp_path, tree("base/a"), tree("b"), OWNED)) == {"b": "create", "base/a": "create"}


@pytest.mark.parametrize("path", ["a/../../b", "../b", "a//b", "a/./b", "/b", "a/", "..", "."])
def test_a_path_that_leads_out_is_a_mistake_of_ours(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="no path within a repository"):
        plan(tmp_path, {path: b"x"}, {}, Owned())
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_in_a_files_place_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    os.mkfifo(tmp_path / "base/a")
    # What waits is interrupted: the default of this signal would end the tests.
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("waited for the pipe"))
    signal.alarm(5)
    try:
        with pytest.raises(UsageError, match="base/a: is a named pipe or a device, but gen writes plain files"):
            plan(tmp_path, tree("base/a"), {}, OWNED)
        assert on_disk(tmp_path)("base/a") is None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_script_without_its_run_bit_is_to_change(tmp_path: Path) -> None:
    put(tmp_path, "base/notes")
    script, wanted = tmp_path / "base/run.sh", {"base/run.sh": b"#!/bin/sh\n", "base/notes": b"base/notes"}
    script.write_bytes(b"#!/bin/sh\n")
    assert kinds(plan(tmp_path, wanted, {}, OWNED)) == {"base/run.sh": "update"}
    script.chmod(0o755)
    assert kinds(plan(tmp_path, wanted, {}, OWNED)) == {}
    # Whether other files could be run is nobody's business here.
    (tmp_path / "base/notes").chmod(0o755)
    assert kinds(plan(tmp_path, wanted, {}, OWNED)) == {}
