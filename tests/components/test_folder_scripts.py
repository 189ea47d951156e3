"""Snapshots of etcd and dumps of Zabbix in a folder of an NFS export: brought, proven, kept for their days, and back.

All is done by the scripts of the pods, on real files.
"""

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from generator.components.static import read_text

SCRIPTS = {
    "upload.sh": "workflows/upload.sh",
    "folder.sh": "workflows/folder.sh",
    "client.sh": "workflows/client.sh",
    "ready.sh": "workflows/ready.sh",
    "fetch-file.sh": "zabbix_backup/fetch-file.sh",
    "record.sh": "zabbix_backup/record.sh",
}
DAY = 86400


def stamp(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y%m%dT%H%M%SZ")


class Place:
    """What a node or a dump left, and the folder that it goes to."""

    def __init__(self, folder: Path, target: Path | None = None) -> None:
        self.folder, self.target, self.files = folder, target or folder / "target", folder / "files"
        for made in (self.target, self.files, folder / "work"):
            made.mkdir(exist_ok=True)
        for name, path in SCRIPTS.items():
            (folder / name).write_text(read_text(path))
        self.now = int(time.time())
        self.there = self.target / "copies/etcd"

    def take(self, age: int = 60, *, keys: bool = False) -> str:
        """Have one that was taken so many seconds ago."""
        name = stamp(self.now - age)
        content = f"content of {name}".encode()
        (self.files / f"{name}.dump").write_bytes(content)
        if keys:
            (self.files / f"{name}.keys.age").write_bytes(b"keys of " + content)
        taken = datetime.fromtimestamp(self.now - age, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        about = {"taken": taken, "sha256": hashlib.sha256(content).hexdigest()}
        (self.files / f"{name}.json").write_text(json.dumps(about, separators=(",", ":")) + "\n")
        return name

    def run(self, script: str = "upload.sh", **more: str) -> subprocess.CompletedProcess[str]:
        """Run a script as a pod does."""
        env = {
            "PATH": os.environ["PATH"],
            "TARGET": str(self.target),
            "TARGET_BUCKET": "copies",
            "NAME": "etcd",
            "CLUSTER": "ml50",
            "PLACE": "nas",
            "FROM": "node cp-1",
            "LOOK": "look there",
            "FILES": str(self.files),
            "ENDING": ".dump",
            "SINCE": str(self.now),
            "MAX_AGE": "3600",
            "KEEP_DAYS": "14",
            "WORK": str(self.folder / "work"),
            "AT": "",
            "termination_log": str(self.folder / "words"),
            **more,
        }
        (self.folder / "words").write_text("")
        command = ["bash", str(self.folder / script), "folder"]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    def names(self) -> set[str]:
        """Return what the folder holds."""
        return {file.name for file in self.there.iterdir()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_newest_is_brought_with_what_lies_beside_it(place: Place) -> None:
    place.take(600)
    name = place.take(keys=True)
    done = place.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert place.names() == {f"{name}.dump", f"{name}.json", f"{name}.keys.age", "cluster"}
    assert (place.there / f"{name}.dump").read_text() == f"content of {name}"
    assert place.run().returncode == 0  # again


def test_older_states_stay_for_their_days_and_the_newest_for_ever(place: Place) -> None:
    for age in (20 * DAY, 13 * DAY, 60):
        name = place.take(age)
        assert place.run(MAX_AGE=str(40 * DAY)).returncode == 0
    assert len(list(place.there.glob("*.dump"))) == 2
    assert place.run(MAX_AGE=str(40 * DAY), KEEP_DAYS="0").returncode == 0
    assert place.names() == {f"{name}.dump", f"{name}.json", "cluster"}


def test_what_an_ended_run_left_goes_after_its_days(place: Place) -> None:
    place.there.mkdir(parents=True)
    old, new = stamp(place.now - 20 * DAY), stamp(place.now - DAY)
    for name in (f"{old}.dump", f"{old}.dump.part", f"{old}.keys.age", f"{new}.dump.part"):
        (place.there / name).touch()
    name = place.take()
    assert place.run().returncode == 0
    assert place.names() == {f"{name}.dump", f"{name}.json", f"{new}.dump.part", "cluster"}


@pytest.mark.parametrize("ahead", ["node", "API server"])
def test_one_clock_that_is_ahead_removes_nothing(place: Place, ahead: str) -> None:
    for age in (10 * DAY, 60):
        place.take(age)
        assert place.run(MAX_AGE=str(40 * DAY)).returncode == 0
    more = {"SINCE": str(place.now + 1000 * DAY), "MAX_AGE": str(2000 * DAY)}
    if ahead == "node":
        clock = place.folder / "date"
        clock.write_text(
            f'#!/bin/sh\ncase "$*" in +%s) echo {place.now + 1000 * DAY} ;; *) exec /bin/date "$@" ;; esac\n'
        )
        clock.chmod(0o755)
        more = {"PATH": f"{place.folder}:{os.environ['PATH']}"}
    assert place.run(**more).returncode == 0
    assert len(list(place.there.glob("*.dump"))) == 2


def test_a_drill_of_a_dump_is_recorded_beside_it(place: Place) -> None:
    name = place.take()
    assert place.run().returncode == 0
    (place.folder / "work/drill.json").write_text('{"backup":"etcd"}\n')
    done = place.run("record.sh")
    assert (done.returncode, done.stderr) == (0, "")
    (drill,) = (place.there / "_drills").iterdir()
    assert (drill.suffix, drill.read_text()) == (".json", '{"backup":"etcd"}\n')
    assert place.run("fetch-file.sh").returncode == 0
    assert (place.folder / "work/chosen").read_text() == name


def test_an_older_one_does_not_follow_a_newer(place: Place) -> None:
    newest = place.take()
    assert place.run().returncode == 0
    for file in place.files.iterdir():
        file.unlink()
    place.take(900)
    done = place.run(SAID=str(place.folder / "said"))
    assert (done.returncode, "is there" in done.stdout) == (0, True)
    assert place.names() == {f"{newest}.dump", f"{newest}.json", "cluster"}
    assert int((place.folder / "said/stored").read_text()) == place.now - 60  # and not what this node has


def test_when_what_was_brought_was_taken_is_told(place: Place) -> None:
    place.take(900)
    assert place.run(SAID=str(place.folder / "said")).returncode == 0
    assert int((place.folder / "said/stored").read_text()) == place.now - 900


def test_another_cluster_has_a_folder_of_its_own(place: Place) -> None:
    place.take()
    assert place.run().returncode == 0
    done = place.run(CLUSTER="other")
    assert (done.returncode, "holds what is cluster ml50's" in done.stderr) == (2, True)


def test_what_was_damaged_on_its_way_is_no_backup(place: Place) -> None:
    name = place.take()
    (place.files / f"{name}.dump").write_text("other")
    assert place.run().returncode == 1
    assert not place.there.exists()


def test_a_dump_comes_back_as_of_a_time(place: Place) -> None:
    old = place.take(3 * DAY)
    assert place.run(MAX_AGE=str(40 * DAY)).returncode == 0
    new = place.take()
    assert place.run().returncode == 0
    chosen, dump = place.folder / "work/chosen", place.folder / "work/zabbix.dump"
    assert place.run("fetch-file.sh").returncode == 0
    assert (chosen.read_text(), dump.read_text()) == (new, f"content of {new}")
    at = datetime.fromtimestamp(place.now - 2 * DAY, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert place.run("fetch-file.sh", AT=at).returncode == 0
    assert (chosen.read_text(), dump.read_text()) == (old, f"content of {old}")
    assert "no dump was taken by 2020" in place.run("fetch-file.sh", AT="2020-01-01T00:00:00Z").stderr
    (place.there / f"{new}.dump").write_text("rotten")
    done = place.run("fetch-file.sh")
    assert (done.returncode, "is not what its record says" in done.stderr) == (2, True)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Place]:
    """A place whose target is a file system of a few hundred KiB."""
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(mount)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("nobody may mount here")
    yield Place(tmp_path, mount)
    subprocess.run(["umount", str(mount)], check=True)


def test_a_full_target_is_told_and_leaves_no_half(small: Place) -> None:
    small.take(600)
    assert small.run().returncode == 0
    before = small.names()
    name = small.take()
    large = b"x" * (1 << 20)
    (small.files / f"{name}.dump").write_bytes(large)
    about = (small.files / f"{name}.json").read_text()
    old = hashlib.sha256(f"content of {name}".encode()).hexdigest()
    (small.files / f"{name}.json").write_text(about.replace(old, hashlib.sha256(large).hexdigest()))
    done = small.run()
    assert (done.returncode, "there is no room in nas" in done.stderr) == (2, True)
    assert "there is no room in nas" in (small.folder / "words").read_text()
    assert small.names() == before


def test_an_export_that_takes_no_writes_is_told(small: Place) -> None:
    small.take()
    subprocess.run(["mount", "-o", "remount,ro", str(small.target)], check=True)
    done = small.run()
    assert (done.returncode, "the export must let user" in done.stderr) == (2, True)
