"""What tries backups of volumes, with the real restic on a real MinIO: it finds what they lack and writes nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs
from volumebackups import HOME
from volumesite import Site, fill, good, serving

from generator.components.static import read_text
from generator.model.backup import VolumeBackup
from tools import program

pytestmark = pytest.mark.real

GOOD, HINDERED, BAD = 0, 1, 2
WHOLE, DAMAGED, FORGOTTEN, HELD, EMPTY = (
    structs.replace(HOME, name=name) for name in ("whole", "damaged", "forgotten", "held", "empty")
)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving((WHOLE, DAMAGED, FORGOTTEN, HELD, EMPTY)) as made:
        yield made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def place(backup: VolumeBackup) -> str:
    return f"s/{backup.target.bucket}/{backup.prefix}/"


def held(site: Site, backup: VolumeBackup) -> str:
    """Return all that is in a repository, with each version of it."""
    return site.mc("ls", "--recursive", "--versions", place(backup)).stdout


def told(done: "subprocess.CompletedProcess[str]", code: int, said: str) -> None:
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout + done.stderr


def test_a_whole_backup_brings_each_file_back_and_nothing_is_written(site: Site, data: Path, tmp_path: Path) -> None:
    made = fill(data, 20, 30)
    good(site.run(WHOLE, data, "backup"))
    before, work = held(site, WHOLE), tmp_path / "work"
    done = site.drill(WHOLE, work)
    told(done, GOOD, "all are as they were backed up")
    regular = {name: value for name, value in made.items() if name not in {"empty", "latest"}}
    lines = [line.split("  /", 1) for line in done.stdout.splitlines() if "  /" in line]
    assert {name: digest for digest, name in lines} == regular
    assert (work / "files").read_text() == str(len(regular))
    assert int((work / "bytes").read_text()) == sum((data / name).stat().st_size for name in regular)
    assert float((work / "rate").read_text()) > 0
    assert held(site, WHOLE) == before


@pytest.mark.parametrize("given", ["all", "", "-1"])
def test_what_is_no_number_is_refused_before_anything_is_read(site: Site, tmp_path: Path, given: str) -> None:
    told(site.drill(WHOLE, tmp_path, SAMPLE=given), BAD, f"FAILED: sample is a whole number, not {given}\n")


def test_a_sample_of_no_file_is_refused_before_anything_is_read(site: Site, tmp_path: Path) -> None:
    told(
        site.drill(WHOLE, tmp_path, SAMPLE="0"), BAD, "FAILED: sample is 0: a drill that reads no file proves nothing\n"
    )


def test_a_sample_is_the_newest_file_and_others_by_lot(site: Site, data: Path, tmp_path: Path) -> None:
    fill(data, 21, 30)
    last = data / "run-1" / "last"
    last.write_text("newest")
    os.utime(last, (time.time() + 60, time.time() + 60))
    good(site.run(WHOLE, data, "backup"))
    drawn = []
    for seed in ("1", "1", "2"):
        done = site.drill(WHOLE, tmp_path / "work", SAMPLE="4", SAMPLE_BYTES=str(2**20), SEED=seed)
        told(done, GOOD, "brought 4 files back")
        drawn.append([line.split("  /")[1] for line in done.stdout.splitlines() if "  /" in line])
    assert drawn[0] == drawn[1] != drawn[2]
    assert {one[0] for one in drawn} == {"run-1/last"}
    assert "checkpoint.pt" not in drawn[0]
    told(site.drill(WHOLE, tmp_path / "work", SAMPLE_BYTES="0"), BAD, "none of 33 files has 1 to 0 bytes")


def test_a_pack_that_was_damaged_silently_is_found(site: Site, data: Path, tmp_path: Path) -> None:
    """As many bytes as before: no listing shows it, and the next backup goes well."""
    fill(data, 22, 5)
    good(site.run(DAMAGED, data, "backup"))
    told(site.drill(DAMAGED, tmp_path / "work"), GOOD, "all are as they were backed up")
    listed = map(json.loads, site.mc("--json", "ls", "--recursive", f"{place(DAMAGED)}data/").stdout.splitlines())
    largest = max(listed, key=lambda one: one["size"])
    pack, name = tmp_path / "pack", f"{place(DAMAGED)}data/{largest['key']}"
    assert site.mc("cp", name, str(pack)).returncode == 0
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 1
    pack.write_bytes(content)
    assert site.mc("cp", str(pack), name).returncode == 0
    good(site.run(DAMAGED, data, "backup"))
    told(site.drill(DAMAGED, tmp_path / "again"), BAD, "FAILED: restic found damage in the repository")
    assert not (tmp_path / "again" / "of").exists()


def test_what_was_taken_out_is_missed(site: Site, data: Path, tmp_path: Path) -> None:
    fill(data, 23, 5)
    good(site.run(FORGOTTEN, data, "backup"))
    later = str(int(time.time()) + 3 * 86400)
    good(site.restic(FORGOTTEN, "backup", "--host", "volsync", "--time", "2099-01-01 00:00:00", str(data)))
    told(site.drill(FORGOTTEN, tmp_path / "work", SINCE=later), BAD, "FAILED: the newest of 1 backups is of ")
    snapshot = json.loads(good(site.restic(FORGOTTEN, "snapshots", "--json")))[
        0
    ]  # the other is of a clock that was ahead
    good(site.restic(FORGOTTEN, "forget", snapshot["id"]))
    told(site.drill(FORGOTTEN, tmp_path / "work"), BAD, "FAILED: the repository holds no backup")


def test_nothing_is_no_backup(site: Site, tmp_path: Path) -> None:
    told(site.drill(EMPTY, tmp_path / "work"), BAD, "FAILED: there is no repository at s3:https://")
    good(site.restic(EMPTY, "init"))
    told(site.drill(EMPTY, tmp_path / "work"), BAD, "FAILED: the repository holds no backup")
    (tmp_path / "folders" / "run-1").mkdir(parents=True)
    good(site.restic(EMPTY, "backup", "--host", "volsync", str(tmp_path / "folders")))
    told(site.drill(EMPTY, tmp_path / "work"), BAD, "holds no file")


def test_a_password_or_a_key_that_opens_nothing_is_told_at_once(site: Site, data: Path, tmp_path: Path) -> None:
    fill(data, 24, 2)
    good(site.run(WHOLE, data, "backup"))
    work = tmp_path / "work"
    told(site.drill(WHOLE, work, RESTIC_PASSWORD="another"), BAD, "FAILED: RESTIC_PASSWORD is not the one")
    told(site.drill(WHOLE, work, AWS_SECRET_ACCESS_KEY="another"), BAD, "FAILED: the keys are not accepted")
    access, secret = site.key(HELD).split(":")
    theirs = {"AWS_ACCESS_KEY_ID": access, "AWS_SECRET_ACCESS_KEY": secret}
    told(site.drill(WHOLE, work, **theirs), BAD, "FAILED: the keys are not accepted, or may not read")


def test_who_takes_out_old_backups_is_waited_for_and_who_was_killed_is_not(
    site: Site, data: Path, tmp_path: Path
) -> None:
    fill(data, 25, 20)
    good(site.run(HELD, data, "backup"))
    env = site.mover(HELD, data)
    command = [program("restic"), "--cacert", str(site.ca), "--limit-download", "50", "check", "--read-data"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if site.mc("ls", f"{place(HELD)}locks/").stdout.strip():
                break
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = held(site, HELD)
    told(site.drill(HELD, tmp_path / "work"), HINDERED, "cannot go on: the repository is held by ")
    told(site.drill(HELD, tmp_path / "work", GIVEN_UP="0"), GOOD, "all are as they were backed up")
    assert held(site, HELD) == before


def test_a_drill_that_was_killed_leaves_nothing_and_is_begun_anew(site: Site, data: Path, tmp_path: Path) -> None:
    fill(data, 26, 60)
    good(site.run(WHOLE, data, "backup"))
    before, work = held(site, WHOLE), tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-u", "-c", read_text("volsync/drill.py.txt")]
    env = site.drilled(WHOLE, work)
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout
    for line in process.stdout:
        if "  /" in line:
            os.killpg(process.pid, signal.SIGKILL)
            break
    process.wait()
    process.stdout.close()
    assert held(site, WHOLE) == before
    told(site.drill(WHOLE, work), GOOD, "all are as they were backed up")
