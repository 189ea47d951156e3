"""The drill of a backup against two real MinIO servers: what it proves, and that nothing wrong passes."""

import hashlib
import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bucketpair import COUNTED, Pair, Source, Trusted, await_ready, servers
from minioserver import ROOT_USER, Server

from generator.components.minio.settings import READ, READ_BUCKET

if TYPE_CHECKING:
    import subprocess

__all__ = ["servers"]  # a fixture

pytestmark = pytest.mark.real

ODD = 'odd $(touch x) "<&>" 100% k\\y é'
KEYS = ("a/one", "a/two", "three", ODD)
MIB = 2**20
WRITTEN = dict.fromkeys(("OBJECTS", "BYTES", "PROVEN", "UNKNOWN", "SECONDS_TAKEN", "RATE"), "1") | {
    "STAMP": "20261120T000000Z"
}


class Site(Pair):
    """A backed-up bucket, its backup, and the script that tries it."""

    def __init__(self, source: Source, target: Trusted, folder: Path, name: str) -> None:
        super().__init__(source, target, folder, name)
        self.keys["READER"] = self.keys["TARGET"]
        self.told: dict[str, str] = {}
        for key in KEYS:
            self.put(key, f"content of {key}\n")

    def begin(self, phase: str, **more: str) -> "subprocess.Popen[str]":
        """Begin one phase of the drill; its pod has nothing of the source, and nothing that another left behind."""
        access, secret = self.keys["READER" if phase == "prove" else "TARGET"]
        env = {
            **{k: v for k, v in self.environment().items() if not k.startswith(("SOURCE_", "TARGET_", "SHRINK"))},
            "BACKUP_URL": self.target.url,
            "BACKUP_BUCKET": self.copy,
            "BACKUP_ACCESS_KEY": access,
            "BACKUP_SECRET_KEY": secret,
            "AT": "",
            "SEED": "7",
        }
        return self.script("drill.sh", phase, env | self.told | more)

    def phase(self, phase: str, **more: str) -> tuple[int, str]:
        process = self.begin(phase, **more)
        said, _ = process.communicate(timeout=120)
        return process.returncode, said

    def drill(self, **more: str) -> dict[str, Any]:
        """A whole drill, as the workflow does it; returns its record."""
        code, said = self.phase("prove", **more)
        assert code == 0, said
        work = self.folder / "work"
        names = {one: one.upper() for one in ("stamp", "objects", "bytes", "proven", "unknown", "rate")}
        self.told = {to: (work / name).read_text() for name, to in ({"seconds": "SECONDS_TAKEN"} | names).items()}
        code, said = self.phase("record", **more)
        assert code == 0, said
        self.told = {}
        return self.drills()[-1]

    def drills(self) -> list[dict[str, Any]]:
        prefix = f"target/{self.copy}/_gen/backups/_drills/{self.name}/"
        keys = [json.loads(line)["key"] for line in self.mc("--json", "ls", prefix).splitlines()]
        return [json.loads(self.mc("cat", prefix + key)) for key in keys]

    def fails(self, *words: str, code: int = 2, **more: str) -> str:
        """Try the drill, which must fail and say this; returns all that it said."""
        found, said = self.phase("prove", **more)
        assert found == code, said
        for word in words:
            assert word in said
        assert not self.drills()
        return said


@pytest.fixture
def site(servers: tuple[Server, Server], tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    name = f"d{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"
    await_ready(servers[0])
    return Site(*servers, tmp_path, name)


def everything(site: Site) -> list[str]:
    """Return all that both servers hold, of all times."""
    names = (f"source/{site.name}", f"target/{site.copy}")
    return [line for name in names for line in site.mc("ls", "--recursive", "--versions", name).splitlines()]


def test_a_good_backup_is_proven_and_recorded(site: Site) -> None:
    site.backup()
    made = site.drill()
    assert (made["backup"], made["objects"], made["proven"], made["unknown"]) == (site.name, 4, 4, 0)
    assert made["bytes"] == sum(len(f"content of {key}\n".encode()) for key in KEYS)
    listed = site.mc("--json", "ls", f"target/{site.copy}/_gen/backups/{site.name}/").splitlines()
    assert made["seed"] == 7
    assert re.sub("[-:]", "", made["of"]) + ".json" == json.loads(listed[-1])["key"]
    assert made["secondsPerGiB"] > 0
    assert not list(site.folder.rglob("x"))


def test_what_was_deleted_or_written_since_the_backup_is_no_fault_of_it(site: Site) -> None:
    site.backup()
    time.sleep(2.1)
    site.mc("rm", f"source/{site.name}/a/one")
    site.put("three", "half of the next backup\n", "target")
    site.put("five", "half of the next backup\n", "target")
    assert site.drill()["proven"] == 4


@pytest.mark.parametrize("key", ["three", ODD])
def test_a_copy_that_was_damaged_on_its_way_is_named(site: Site, key: str) -> None:
    time.sleep(1.1)
    site.since = int(time.time())
    assert site.run("mirror")[0] == 0
    site.put(key, f"content OF {key}\n", "target")
    site.more["SAMPLE"] = "0"  # the backup's own sample did not meet it
    code, said = site.run("verify")
    assert code == 0, said
    recorded(site)
    said = site.fails("differs in content: ", "1 objects of the backup that ended at", SAMPLE="50")
    assert ("three" if key == "three" else "odd $(touch x)") in said


def recorded(site: Site) -> None:
    site.more |= {name.upper(): (site.folder / "work" / name).read_text() for name in COUNTED}
    code, said = site.run("record")
    assert code == 0, said


def test_a_copy_that_rotted_on_the_disk_is_named(site: Site) -> None:
    site.backup()
    (part,) = (site.target.folder / site.copy).glob("three/xl.meta")
    data = part.read_bytes()
    assert data.count(b"content of three") == 1
    part.write_bytes(data.replace(b"content of three", b"content OF three"))
    site.fails(f"cannot read backup/{site.copy}/three", code=1)


def test_a_copy_that_went_is_missed_though_the_lot_does_not_fall_on_it(site: Site) -> None:
    site.backup()
    site.mc("rm", "--versions", "--force", f"target/{site.copy}/a/two")
    site.fails("missing: a/two", "1 objects of the backup that ended at", SAMPLE="1")


def test_a_list_that_was_changed_is_not_believed(site: Site) -> None:
    site.backup()
    (site.folder / "other").write_text("three\t17\t2026-01-01T00:00:00\t-\n")
    time.sleep(1.1)
    prefix = f"target/{site.copy}/_gen/backups"
    site.mc("cp", str(site.folder / "other"), f"{prefix}/_lists/{site.name}")
    record = site.mc("--json", "ls", f"{prefix}/{site.name}/")
    key = json.loads(record.splitlines()[-1])["key"]
    text = site.mc("cat", f"{prefix}/{site.name}/{key}")
    time.sleep(1.1)
    site.mc("pipe", f"{prefix}/{site.name}/{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.json", text=text)
    site.fails("is not the list that the backup wrote")


def test_a_backup_of_nothing_is_told(site: Site) -> None:
    site.mc("rm", "--recursive", "--force", f"source/{site.name}")
    site.backup()
    site.fails("is of nothing: no object can be brought back")


def test_no_backup_yet_is_told(site: Site) -> None:
    site.fails("there is no good backup")


def test_a_backup_that_wrote_no_list_is_told(site: Site) -> None:
    site.backup()
    prefix = f"target/{site.copy}/_gen/backups/{site.name}/"
    key = json.loads(site.mc("--json", "ls", prefix).splitlines()[-1])["key"]
    text = site.mc("cat", prefix + key)
    site.mc("pipe", prefix + key, text=text.partition(',"listed"')[0] + "}\n")
    site.fails("wrote no list of its objects", "Run the backup once more")


def test_keys_that_are_not_accepted_any_more_are_told_at_once(site: Site) -> None:
    site.backup()
    site.keys["READER"] = (ROOT_USER, "another-password")
    said = site.fails("the keys of the backup's reader are not accepted")
    assert "another-password" not in said


def test_the_newest_object_and_some_by_lot(site: Site) -> None:
    for number in range(60):
        site.put(f"many/{number:02}", f"number {number}\n")
    time.sleep(1.1)
    site.put("a/newest", "the newest\n")
    site.backup()

    def drawn(seed: int) -> list[str]:
        assert site.phase("prove", SEED=str(seed), SAMPLE="5")[0] == 0
        return [line.split("\t")[0] for line in (site.folder / "work/sample").read_text().splitlines()]

    first, other = drawn(1), drawn(2)
    assert first == drawn(1)
    assert first[0] == other[0] == "a/newest"
    assert len(set(first)) == len(set(other)) == 5
    assert set(first) != set(other)
    met = {key for seed in range(20) for key in drawn(seed)}
    assert len(met) > 40


def test_the_bytes_are_bounded_and_nothing_read_is_no_success(site: Site) -> None:
    site.put("large", "x" * 5000)
    site.backup()
    made = site.drill(SAMPLE_BYTES="4999")
    assert (made["objects"], made["proven"]) == (4, 4)
    code, said = site.phase("prove", SAMPLE_BYTES="3")
    assert code == 2, said
    assert "no object of the backup is so small as 3 bytes and has a checksum" in said


def test_an_object_that_was_uploaded_in_parts_is_proven(site: Site) -> None:
    big = site.folder / "big"
    big.write_bytes(b"some of it" * (2 * MIB))
    site.mc("cp", str(big), f"source/{site.name}/big")
    listed = site.mc("--json", "ls", f"source/{site.name}/big")
    assert json.loads(listed)["etag"].endswith("-2")
    site.backup()
    made = site.drill(SAMPLE_BYTES=str(64 * MIB))
    assert (made["objects"], made["proven"]) == (5, 5)


def in_parts(site: Site, size: str) -> None:
    """Upload an object of 20 MiB into the source in parts of that size."""
    big = site.folder / "big"
    big.write_bytes(b"some of it" * (2 * MIB))
    site.mc("put", "--part-size", size, str(big), f"source/{site.name}/big")


@pytest.mark.parametrize(("size", "parts"), [("7MiB", 3), ("19MiB", 2), ("21MiB", 1)])
def test_parts_of_any_whole_size_are_proven_and_damage_in_them_is_found(site: Site, size: str, parts: int) -> None:
    in_parts(site, size)
    etag = json.loads(site.mc("--json", "ls", f"source/{site.name}/big"))["etag"]
    assert etag.endswith(f"-{parts}") or parts == 1
    site.backup()
    assert site.drill(SAMPLE_BYTES=str(64 * MIB))["proven"] == 5


def test_a_drill_that_could_hold_nothing_against_a_checksum_is_no_good_one(site: Site) -> None:
    time.sleep(1.1)
    in_parts(site, "6000001")
    site.backup()
    site.fails("no object that was brought back could be held", SAMPLE="1", SAMPLE_BYTES=str(64 * MIB))
    made = site.drill(SAMPLE_BYTES=str(64 * MIB))
    assert (made["proven"], made["unknown"]) == (4, 1)


def test_reading_alone_is_enough_to_prove_and_the_source_may_be_gone(site: Site) -> None:
    site.backup()
    site.user("target", *READ_BUCKET, *READ)
    site.keys["READER"] = site.keys["TARGET"]
    site.mc("rb", "--force", f"source/{site.name}")
    code, said = site.phase("prove")
    assert code == 0, said
    code, said = site.phase("record", **WRITTEN)
    assert code == 1, said
    assert "cannot write the record" in said


def test_a_drill_that_was_killed_leaves_nothing_and_is_done_once_more(site: Site) -> None:
    big = site.folder / "big"
    big.write_bytes(b"some of it" * MIB)
    site.mc("cp", str(big), f"source/{site.name}/big")
    site.backup()
    before = everything(site)
    process = site.begin("prove", SAMPLE_BYTES=str(64 * MIB), MC_LIMIT_DOWNLOAD="1MiB")
    time.sleep(4)
    assert process.poll() is None
    process.kill()
    process.communicate(timeout=60)
    assert everything(site) == before
    assert site.drill(SAMPLE_BYTES=str(64 * MIB))["proven"] == 5
    assert len(everything(site)) == len(before) + 1
