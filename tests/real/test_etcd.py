"""Snapshots of a real etcd, and the way back, by the scripts that control-plane nodes get."""

import hashlib
import json
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from etcdsite import Machine, Site, fill, healthy, site

from tools import program

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def one() -> Iterator[Site]:
    """A control plane of one node, with data."""
    with (
        tempfile.TemporaryDirectory(prefix="etcd-", ignore_cleanup_errors=True) as folder,
        site(Path(folder), 1) as made,
    ):
        healthy(made.machines[0])
        fill(made.machines[0], 200)
        yield made


def records(machine: Machine) -> list[dict[str, object]]:
    return [json.loads(file.read_text()) for file in sorted(machine.out.glob("*.json"))]


def held(machine: Machine) -> list[Path]:
    """Return what lies there of snapshots: what a drill found is seen in test_etcd_drill.py."""
    return [file for file in machine.out.iterdir() if file.name != "last-drill"]


def test_a_snapshot_is_taken_proved_and_encrypted(one: Site) -> None:
    (machine,) = one.machines
    done = machine.snapshot()
    assert done.returncode == 0, done.stdout + done.stderr
    record = records(machine)[-1]
    (file,) = machine.out.glob("*.db.age")
    assert record["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert record["node"] == "cp-1"
    assert int(str(record["revision"])) >= 200
    assert b"pod 7" not in file.read_bytes()
    assert b"pod 7" in one.decrypted(machine).read_bytes()
    assert not list((machine.root / "var/lib/etcd-snapshots").glob("work*"))
    assert (file.stat().st_mode & 0o777, file.stat().st_gid) == (0o640, 8737)


LOSES = """#!/bin/sh
case " $* " in *" snapshot status "*) [ -e "$0.lost" ] || { "$CTR" "$@" >/dev/null && touch "$0.lost"; exit; } ;; esac
exec "$CTR" "$@"
"""
"""A `ctr` that misses what a task says which is over at once, the first time."""


def test_an_answer_that_is_lost_is_asked_for_again(one: Site, tmp_path: Path) -> None:
    (machine,) = one.machines
    (tmp_path / "ctr").write_text(LOSES)
    (tmp_path / "ctr").chmod(0o755)
    path = machine.environment["PATH"]
    done = machine.snapshot(PATH=f"{tmp_path}:{path}", CTR=str(shutil.which("ctr")))
    assert (tmp_path / "ctr.lost").exists()
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_keys_of_its_time_lie_beside_a_snapshot_and_encrypted(one: Site) -> None:
    (machine,) = one.machines
    (machine.root / "etc/kubernetes/enc").mkdir()
    (machine.root / "etc/kubernetes/enc/encryption.yaml").write_text("the key of Secrets")
    time.sleep(1.1)
    assert machine.snapshot().returncode == 0
    newest = max(machine.out.glob("*.keys.age"))
    assert newest.name.replace("keys.age", "db.age") == max(machine.out.glob("*.db.age")).name
    assert (newest.stat().st_mode & 0o777, newest.stat().st_gid) == (0o640, 8737)
    plain, sealed = machine.root / "keys.tar", newest.read_bytes()
    subprocess.run([program("age"), "--decrypt", "-i", one.identity, "-o", plain, newest], check=True)
    with tarfile.open(plain) as held:
        assert {"pki/etcd/ca.key", "pki/etcd/server.key", "enc/encryption.yaml"} <= {*held.getnames()}
    assert b"the key of Secrets" not in sealed


def test_the_newest_are_kept_and_what_is_not_whole_goes(one: Site) -> None:
    (machine,) = one.machines
    (machine.out / "20200101T000000Z.db.age").write_text("of a run that was killed")
    (machine.out / "20200101T000000Z.db.age.part").write_text("the same")
    for _ in range(3):
        time.sleep(1.1)
        done = machine.snapshot(KEEP="2")
        assert done.returncode == 0, done.stderr
    names = sorted(file.name for file in held(machine))
    assert [name.split(".", 1)[1] for name in names] == ["db.age", "json", "keys.age"] * 2
    assert len(records(machine)) == 2


def test_a_second_snapshot_in_the_same_second_leaves_the_first_as_it_is(one: Site) -> None:
    (machine,) = one.machines
    alone(machine)
    newest = max(machine.out.glob("*.json"))
    coming = [(datetime.now(UTC) + timedelta(seconds=more)).strftime("%Y%m%dT%H%M%SZ") for more in range(4)]
    for name in set(coming) - {newest.stem}:
        for suffix in (".json", ".db.age"):
            shutil.copy(newest.with_suffix(suffix), machine.out / f"{name}{suffix}")
    there = {file.name: file.stat().st_ino for file in held(machine)}
    done = machine.snapshot()
    assert done.returncode == 0, done.stderr
    assert there.items() < {file.name: file.stat().st_ino for file in held(machine)}.items()


def aged(machine: Machine, *days: int) -> list[str]:
    """Put copies of the newest snapshot beside it as if they were so old; returns all names, the oldest first."""
    newest = max(machine.out.glob("*.json"))
    for number in days:
        name = (datetime.now(UTC) - timedelta(days=number)).strftime("%Y%m%dT%H%M%SZ")
        for suffix in (".json", ".db.age"):
            shutil.copy(newest.with_suffix(suffix), machine.out / f"{name}{suffix}")
    return sorted(file.stem for file in machine.out.glob("*.json"))


def alone(machine: Machine) -> None:
    """Leave the newest snapshot alone."""
    assert machine.snapshot(KEEP="1").returncode == 0


def test_without_room_older_ones_go_and_the_newest_two_stay(one: Site) -> None:
    """Room is short until only so many are left: what is over goes first, and then a new one is taken."""
    (machine,) = one.machines
    alone(machine)
    aged(machine, 4, 3, 2, 1)
    full = f'[ "$(ls {machine.out}/*.json | wc -l)" -gt {{}} ] && free=1000 || free=100000000000'
    machine.put("df", "#!/bin/sh\n" + full.format(3) + "\necho Avail\necho $free\n")
    done = machine.snapshot()
    assert done.returncode == 0, done.stderr
    assert len(records(machine)) == 4
    machine.put("df", "#!/bin/sh\necho Avail\necho 1000\n")
    before = sorted(file.stem for file in machine.out.glob("*.json"))
    for _ in range(2):
        done = machine.snapshot()
        assert done.returncode == 1
        assert "three times that must be free. The newest 2 snapshots stay" in done.stderr
        assert sorted(file.stem for file in machine.out.glob("*.json")) == before[-2:]
        assert len(held(machine)) == 6
    (machine.tools / "df").unlink()


def test_what_is_too_old_goes_also_where_no_new_one_is_taken(one: Site) -> None:
    (machine,) = one.machines
    alone(machine)
    names = aged(machine, 30, 29, 3)
    (machine.tools / "ctr").write_text("#!/bin/sh\nexit 1\n")
    (machine.tools / "ctr").chmod(0o755)
    done = machine.snapshot(KEEP_DAYS="14")
    assert done.returncode == 1
    assert sorted(file.stem for file in machine.out.glob("*.json")) == names[-2:]
    (machine.tools / "ctr").unlink()
    alone(machine)
    names = aged(machine, 32, 31, 30)
    for file in machine.out.glob(f"{names[-1]}*"):
        file.unlink()
    machine.put("ctr", "#!/bin/sh\nexit 1\n")
    assert machine.snapshot(KEEP_DAYS="14").returncode == 1
    (machine.tools / "ctr").unlink()
    assert sorted(file.stem for file in machine.out.glob("*.json")) == names[1:3]
    alone(machine)


def test_what_failed_runs_left_goes_with_the_next_run_also_if_it_fails(one: Site) -> None:
    (machine,) = one.machines
    alone(machine)
    (name,) = [file.stem for file in machine.out.glob("*.json")]
    aged(machine, 1)
    (machine.out / "20200101T000000Z.db.age").write_text("of a run that was killed")
    (machine.out / "20200102T000000Z.db.age.part").write_text("of another")
    (machine.out / "20200103T000000Z.json").write_text("what it was about is gone")
    (short,) = {file for file in machine.out.glob("*.db.age") if file.stem[:4] != "2020"} - {
        machine.out / f"{name}.db.age"
    }
    short.write_bytes(short.read_bytes()[:-1])
    machine.put("ctr", "#!/bin/sh\nexit 1\n")
    done = machine.snapshot()
    (machine.tools / "ctr").unlink()
    assert done.returncode == 1
    assert sorted(file.name for file in held(machine)) == [f"{name}.db.age", f"{name}.json", f"{name}.keys.age"]


def test_a_run_whose_encryption_fails_leaves_nothing(one: Site) -> None:
    (machine,) = one.machines
    before = sorted(held(machine))
    machine.put(
        "age", '#!/bin/sh\nfor word in "$@"; do case $word in *.part) echo half >"$word" ;; esac; done\nexit 1\n'
    )
    done = machine.snapshot()
    (machine.tools / "age").unlink()
    assert "age did not encrypt" in done.stderr
    assert sorted(held(machine)) == before


# Between the script and the real `ctr`: what it does once the snapshot is saved.
AFTER_SAVING = """#!/bin/sh
/usr/bin/ctr "$@" || exit
case "$*" in *"snapshot save"*) {what} ;; esac
"""


def test_a_damaged_snapshot_is_refused_and_nothing_older_goes(one: Site) -> None:
    (machine,) = one.machines
    before = sorted(held(machine))
    file = machine.root / "var/lib/etcd-snapshots/work/new.db"
    for what, why in (
        (f"printf X | dd of={file} bs=1 seek=20000 conv=notrunc 2>/dev/null", "its checksum is not that"),
        (f"truncate --size=8192 {file}", "its checksum is not that"),
    ):
        machine.put("ctr", AFTER_SAVING.format(what=what))
        done = machine.snapshot(KEEP="1")
        (machine.tools / "ctr").unlink()
        assert done.returncode == 1
        assert why in done.stderr
        assert sorted(held(machine)) == before
        assert not file.exists()


def test_a_snapshot_that_etcdutl_does_not_take_is_refused(one: Site) -> None:
    """Its checksum fits: what etcd sent was damaged already."""
    (machine,) = one.machines
    before = sorted(held(machine))
    file = machine.root / "var/lib/etcd-snapshots/work/new.db"
    damage = f"head -c 8192 /dev/zero >{file}; sha256sum {file} | cut -c 1-64 | xxd -r -p >{file}.sum; "
    machine.put("ctr", AFTER_SAVING.format(what=f"{damage} cat {file}.sum >>{file}"))
    done = machine.snapshot()
    (machine.tools / "ctr").unlink()
    assert done.returncode == 1
    assert "etcdutl does not take the snapshot" in done.stderr
    assert sorted(held(machine)) == before


def test_a_run_that_was_killed_leaves_the_next_one_whole(one: Site) -> None:
    (machine,) = one.machines
    plain = machine.root / "var/lib/etcd-snapshots/work"
    machine.put("ctr", AFTER_SAVING.format(what="kill -KILL $PPID"))
    assert machine.snapshot().returncode == -signal.SIGKILL
    (machine.tools / "ctr").unlink()
    assert (plain / "new.db").exists()
    assert plain.stat().st_mode & 0o777 == 0o700
    assert machine.snapshot().returncode == 0
    assert not plain.exists()


def test_two_runs_do_not_meet(one: Site) -> None:
    (machine,) = one.machines
    lock = machine.root / "var/lib/etcd-snapshots/lock"
    with subprocess.Popen(["flock", "--no-fork", str(lock), "sleep", "30"]) as held:
        time.sleep(0.3)
        done = machine.snapshot()
        held.terminate()
    assert done.returncode == 1
    assert "another run is under way" in done.stderr


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        ("recipients", "names nobody who could decrypt"),
        ("manifest", "this is no control-plane node"),
        ("etcd", "is not healthy"),
        ("full", "three times that must be free"),
    ],
)
def test_what_cannot_work_is_said_and_keeps_the_others(one: Site, break_it: str, why: str) -> None:
    (machine,) = one.machines
    before = sorted(held(machine))
    assert before
    away = machine.root / "away"
    moved = {
        "recipients": machine.root / "etc/etcd-snapshot/recipients",
        "manifest": machine.manifests / "etcd.yaml",
    }.get(break_it)
    if moved:
        moved.rename(away)
    if break_it == "etcd":
        assert machine.etcd
        machine.etcd.send_signal(signal.SIGSTOP)
    if break_it == "full":
        machine.put("df", "#!/bin/sh\necho Avail\necho 1000\n")
    try:
        done = machine.snapshot()
    finally:
        if moved:
            away.rename(moved)
        if break_it == "etcd" and machine.etcd:
            machine.etcd.send_signal(signal.SIGCONT)
        (machine.tools / "df").unlink(missing_ok=True)
    assert done.returncode == 1, done.stdout
    assert why in done.stderr
    assert sorted(held(machine)) == before
    healthy(machine)
