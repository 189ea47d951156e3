import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from toyworld import CLUSTER, NODES, TOTAL, World

from generator.errors import UsageError
from generator.repository.git_folder import GitFolder, locate
from generator.repository.history import History, Snapshot


def place_of(world: World) -> GitFolder:
    place = locate(world.root)
    assert place is not None
    return place


@pytest.fixture
def history(world: World) -> Iterator[History]:
    with History(place_of(world)) as opened:
        yield opened


def test_a_snapshot_reads_its_commit_and_not_the_disk(world: World, history: History) -> None:
    assert history.head is not None
    snapshot = Snapshot(history, history.head)
    before = world.text(CLUSTER).encode()
    world.nodes("z")
    assert snapshot.read(CLUSTER) == before
    assert snapshot.read("clusters/toy") is None
    assert snapshot.read("no such file") is None
    assert snapshot.files("clusters") == [CLUSTER]
    assert snapshot.files("nowhere") == []


def test_bytes_are_read_as_they_are(world: World) -> None:
    content = bytes(range(256)) * 300 + b"\r\n\r\n"
    (world.root / "binary").write_bytes(content)
    head = world.commit("binary")
    with History(place_of(world)) as history:
        assert history.read(head, "binary") == content


def test_names_are_taken_literally(world: World) -> None:
    world.put("a*", "1\n")
    star = world.commit("star")
    world.put("ab", "2\n")
    head = world.commit("other")
    with History(place_of(world)) as history:
        assert history.touched(head, "a*") == star
        assert history.touched(head, "a?") is None
        assert history.parents(head) == [star]
        assert history.author(head) == "Ann"


def test_a_name_with_a_line_end_is_read_and_does_not_disturb_the_next(world: World) -> None:
    world.put("a\nb", "1\n")
    head = world.commit("odd")
    with History(place_of(world)) as history:
        assert history.read(head, "a\nb") == b"1\n"
        assert history.read(head, "c\nd") is None
        assert history.read(head, CLUSTER) == world.text(CLUSTER).encode()


def test_nothing_is_taken_from_a_git_that_ends_within_an_object(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    script = 'if [ "$1" = cat-file ]; then read name; echo "$name blob 9"; printf short; echo died >&2; else exit 1; fi'
    world.put("bin/git", f"#!/bin/sh\n{script}\n")
    (world.root / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{world.root}/bin:{os.environ['PATH']}")
    with History(place_of(world)) as history, pytest.raises(UsageError, match=r"Git cannot read .*: died$"):
        history.content("0" * 40)


def test_commits_are_compared_without_reading_the_index(world: World) -> None:
    before = world.git("rev-parse", "HEAD")
    world.put("a", "1\n")
    (world.root / CLUSTER).chmod(0o755)
    after = world.commit("more")
    (world.root / ".git/index").write_bytes(b"no index")
    with History(place_of(world)) as history:
        assert history.differing(before, after) == {"a", CLUSTER}


def test_a_merge_touches_only_what_it_combined(world: World) -> None:
    world.git("checkout", "-q", "-b", "side")
    world.put(TOTAL, "side\n")
    side = world.commit("side")
    world.git("checkout", "-q", "main")
    world.put(NODES, "main\n")
    main = world.commit("main")
    world.git("merge", "-q", "-m", "merge", "side")
    with History(place_of(world)) as history:
        assert history.head is not None
        assert (history.touched(history.head, TOTAL), history.touched(history.head, NODES)) == (side, main)


def test_before_the_first_commit_there_is_no_head(folder: World) -> None:
    folder.git("init", "-q")
    with History(place_of(folder)) as history:
        assert history.head is None
        assert history.others() is None


def test_a_shallow_clone_is_cut_off_where_it_ends(world: World, tmp_path: Path) -> None:
    for number in range(3):
        world.put("file", str(number))
        world.commit("more")
    world.git("clone", "-q", "--depth", "2", world.root.as_uri(), str(tmp_path / "shallow"))
    with History(place_of(World(tmp_path / "shallow"))) as history:
        assert history.head is not None
        assert not history.cut_off(history.head)
        assert history.cut_off(history.parents(history.head)[0])


def test_a_revert_under_way_has_no_other_side(world: World) -> None:
    for total in ("1", "2"):
        world.put(TOTAL, total)
        world.commit(total)
    world.git("revert", "HEAD~1", check=False)
    with History(place_of(world)) as history:
        assert history.others() == []


def test_a_damaged_repository_is_a_plain_message(world: World) -> None:
    head = world.git("rev-parse", "HEAD")
    (world.root / f".git/objects/{head[:2]}/{head[2:]}").unlink()
    with History(place_of(world)) as history, pytest.raises(UsageError, match=r"Git cannot read the repository: fatal"):
        history.touched(head, NODES)


def test_a_repository_that_vanishes_is_a_plain_message(world: World) -> None:
    with History(place_of(world)) as history:
        (world.root / ".git").rename(world.root / "gone")
        with pytest.raises(UsageError, match=f"Git cannot read {NODES} at"):
            history.read(str(history.head), NODES)


def test_what_only_looks_like_a_git_folder_is_a_plain_message(tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git").write_text("gitdir: odd\n")
    with pytest.raises(UsageError, match="is not a Git folder that can be read"):
        History(place_of(World(tmp_path)))


def test_sha256_names_are_refused(folder: World) -> None:
    folder.git("init", "-q", "--object-format=sha256")
    folder.commit("first")
    with pytest.raises(UsageError, match="SHA-256"):
        History(place_of(folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another user")
def test_another_users_repository_is_refused_with_the_way_out(world: World) -> None:
    for path in (world.root, world.root / ".git"):
        os.chown(path, 65534, 65534)
    with pytest.raises(UsageError, match=r"belongs to another user.*git config --global --add safe\.directory"):
        History(place_of(world))


def test_without_git_the_message_names_it(world: World) -> None:
    code = (
        "from pathlib import Path; from generator.errors import UsageError\n"
        "from generator.repository.history import History; from generator.repository.git_folder import locate\n"
        "try: History(locate(Path('.')))\n"
        "except UsageError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=world.root,
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "`git` was not found; install it or put it on PATH\n"


def test_a_commit_that_is_not_here_is_looked_for_where_it_can_be(world: World) -> None:
    with History(place_of(world)) as history:
        with pytest.raises(UsageError, match="there is no remote to fetch another from"):
            history.commit("abc1234")
        world.git("remote", "add", "upstream", "nowhere")
        with pytest.raises(UsageError, match=r"`git fetch --all --tags` may bring it; .* upstream/NAME"):
            history.commit("abc1234")
