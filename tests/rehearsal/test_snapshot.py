"""What a twin leaves for the next one: whole, private and bounded, and only for the very same. Twins from snapshots are
in tests/real/test_rehearse.py.
"""

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from reference import ROOT

from generator.rehearsal.twin import snapshot
from generator.rehearsal.twin.snapshot import BLOCK, MOST, keep, load, place

LOG = b"objects" + bytes(4 * BLOCK) + b"more"


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a twin that ran, and let the user's cache be an empty one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(snapshot, "_code", lambda: b"this gen")
    return twin(tmp_path, "ran")


def twin(tmp_path: Path, said: str) -> Path:
    folder = tmp_path / "twins" / said
    files = {"etcd/data/member/wal/0.wal": LOG, "etcd/data/member/wal/0.tmp": b"-", "certificates/apiserver.key": b"k"}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "etcd/data/member/snap").mkdir()
    (folder / "etcd/data/member/snap/db").write_text(said)
    (folder / "admin.kubeconfig").write_text("a token")
    return folder


def at(*of: str) -> Path:
    found = place(one.encode() for one in of)
    assert found
    return found


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def files(folder: Path) -> Iterator[Path]:
    return (one for one in folder.rglob("*") if one.is_file())


def test_what_is_kept_is_what_is_loaded(ran: Path, empty: Path) -> None:
    keep(at("base"), ran, b"note")
    assert load(at("base"), empty) == b"note"
    assert {str(one.relative_to(empty)): one.read_bytes() for one in files(empty)} == {
        "etcd/data/member/wal/0.wal": LOG,
        "etcd/data/member/snap/db": b"ran",
        "certificates/apiserver.key": b"k",
    }


def test_nobody_else_may_read_it_and_room_that_is_only_reserved_is_not_taken(ran: Path) -> None:
    os.umask(os.umask(0))
    keep(at("base"), ran, b"note")
    assert stat.S_IMODE(at("base").parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(at("base").stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) & 0o077 for one in files(at("base")) if one.name != "note.json"} == {0}
    assert (at("base") / "etcd/data/member/wal/0.wal").stat().st_blocks * 512 <= 2 * BLOCK + 4096


def test_nothing_is_loaded_of_what_is_not_the_very_same(
    ran: Path, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(at("base", "etcd"), ran, b"note")
    assert load(at("base", "etc", "d"), empty) is None
    assert load(at("baseetcd"), empty) is None
    monkeypatch.setattr(snapshot, "_code", lambda: b"another gen")
    assert load(at("base", "etcd"), empty) is None
    assert [*empty.iterdir()] == []


def test_gen_itself_is_a_part_of_what_it_is_kept_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "generator" / "rehearsal" / "twin" / "snapshot.py"
    module.parent.mkdir(parents=True)
    module.write_text("one")
    monkeypatch.setattr(snapshot, "__file__", str(module))
    before = snapshot._code()
    (tmp_path / "generator" / "stages.yaml").write_text("a stage")
    after = snapshot._code()
    (tmp_path / "generator" / "stages.yaml").write_text("another stage")
    assert len({before, after, snapshot._code()}) == 3


def test_one_that_is_not_whole_is_never_seen(ran: Path, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal that is ended while it copies, and one that is killed there: the latter tidies nothing up."""
    copied: list[Path] = []

    def ended(source: Path, _target: Path) -> None:
        copied.append(source)
        if len(copied) > 1:
            raise SystemExit(143)

    with monkeypatch.context() as patched:
        patched.setattr(snapshot, "_copy_file", ended)
        with pytest.raises(SystemExit):
            keep(at("base"), ran, b"note")
    assert load(at("base"), empty) is None
    assert [*at("base").parent.iterdir()] == []
    abandoned = at("base").parent / "unfinished-by-a-killed-run"
    abandoned.mkdir()
    keep(at("base"), ran, b"note")
    assert abandoned.exists(), "somebody may be at work there"
    os.utime(abandoned, (0, 0))
    keep(at("other"), ran, b"note")
    assert sorted(at("base").parent.iterdir()) == sorted([at("base"), at("other")])


KEEPS = """
import sys, time
from pathlib import Path
from generator.rehearsal.twin import snapshot
real, copied = snapshot._copy_file, []
def slowly(source, target):
    real(source, target)
    copied.append(source)
    if len(copied) == 2:
        print("two files are copied", flush=True)
        time.sleep(60)
snapshot._copy_file = slowly
snapshot.keep(Path(sys.argv[1]), Path(sys.argv[2]), b"note")
"""


def test_a_rehearsal_that_is_killed_leaves_nothing_that_is_used(ran: Path, empty: Path) -> None:
    command = [sys.executable, "-P", "-c", KEEPS, str(at("base")), str(ran)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout
        assert process.stdout.readline() == "two files are copied\n"
        process.kill()
    assert len([*at("base").parent.rglob("*.wal")]) == 1
    assert load(at("base"), empty) is None
    keep(at("base"), ran, b"another note")
    assert load(at("base"), empty) == b"another note"


def test_a_newer_one_takes_the_place_of_the_older(ran: Path, empty: Path, tmp_path: Path) -> None:
    keep(at("base"), ran, b"note")
    keep(at("base"), twin(tmp_path, "again"), b"another note")
    assert load(at("base"), empty) == b"another note"
    assert (empty / "etcd/data/member/snap/db").read_text() == "again"


def test_one_that_is_replaced_while_it_is_read_is_not_used(
    ran: Path, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data of the one with keys of the other would be no twin."""
    keep(at("base"), ran, b"note")
    real, again = snapshot._copy, twin(tmp_path, "again")

    def replaced(source: Path, target: Path) -> None:
        real(source, target)
        if source == at("base") / "etcd/data":
            monkeypatch.setattr(snapshot, "_copy", real)
            keep(at("base"), again, b"another note")

    monkeypatch.setattr(snapshot, "_copy", replaced)
    assert load(at("base"), empty) is None
    assert [*empty.iterdir()] == []


def test_one_of_which_something_is_missing_is_not_used(ran: Path, empty: Path) -> None:
    keep(at("base"), ran, b"note")
    (at("base") / "certificates/apiserver.key").unlink()
    (at("base") / "certificates").rmdir()
    assert load(at("base"), empty) is None
    assert [*empty.iterdir()] == []


def test_those_that_nobody_used_for_longest_go(ran: Path, empty: Path) -> None:
    names = [str(number) for number in range(MOST)]
    for age, name in enumerate(names):
        keep(at(name), ran, b"note")
        os.utime(at(name), (time.time() - 1000 + age,) * 2)
    load(at("0"), empty)
    keep(at("new"), ran, b"note")
    assert sorted(at("0").parent.iterdir()) == sorted(map(at, ["new", "0", *names[2:]]))
    os.utime(at("0"), (0, 0))
    keep(at("new"), ran, b"note")
    assert not at("0").exists()


def test_without_a_cache_only_time_is_lost(
    ran: Path, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    keep(at("base"), ran, b"note")
    assert load(at("base"), empty) is None
    assert load(None, empty) is None
    keep(None, ran, b"note")
