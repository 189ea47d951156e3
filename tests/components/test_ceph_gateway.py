"""The scripts of the backups with a real gateway of Ceph at the live side: it does not answer as MinIO does."""

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bucketpair import Pair
from minioserver import ROOT_USER, Server
from test_compare_script import compare
from test_drill_script import Site as Drill
from test_restore_script import Site as Restore
from test_restore_script import later

if TYPE_CHECKING:
    from collections.abc import Callable

    from cephgateway import Gateway

pytest_plugins = ["cephgateway"]
pytestmark = pytest.mark.real

MIB = 2**20
ODD = ('odd "<&>" 100% k\\y é', "a folder/한글 + &=?.txt", "$(touch x)", "~tilde'quote")


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return f"c{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"


@pytest.fixture
def pair(ends: "tuple[Gateway, Server]", tmp_path: Path, name: str) -> Pair:
    made = Pair(*ends, tmp_path, name)
    for key in ("a/one", "a/two", "three", *ODD):
        made.put(key, f"content of {key}\n")
    return made


@pytest.fixture
def site(ends: "tuple[Gateway, Server]", tmp_path: Path, name: str) -> Restore:
    made = Restore(*ends, tmp_path, name)
    made.backup()
    return made


def test_a_backup_is_whole_recorded_and_repeatable(pair: Pair) -> None:
    big = pair.in_parts("in parts", 64, "16MiB")
    pair.file("empty", b"")
    for number in range(200):
        (pair.folder / f"many/{number:03}").parent.mkdir(exist_ok=True)
        (pair.folder / f"many/{number:03}").write_text(f"number {number}")
    pair.mc("cp", "--recursive", f"{pair.folder}/many", f"source/{pair.name}/")
    pair.backup()
    for key in ODD:
        assert pair.mc("cat", f"target/{pair.copy}/{key}") == f"content of {key}\n"
    assert pair.mc("cat", f"target/{pair.copy}/empty") == ""
    assert "copied 0 objects" in again(pair)
    (first,) = pair.records()[:1]
    assert (first["objects"], first["bytes"] > big.stat().st_size) == (3 + len(ODD) + 2 + 200, True)


def again(pair: Pair) -> str:
    code, said = pair.run("mirror")
    assert code == 0, said
    return said


def test_an_object_changed_at_the_source_with_equal_size_is_red(pair: Pair) -> None:
    pair.backup()
    time.sleep(1.1)
    pair.put("three", "CONTENT OF three\n")
    pair.settle()
    code, said = pair.run("verify")
    assert code == 2
    assert "copy is older than its source: three" in said


@pytest.mark.parametrize("key", ["three", ODD[1]])
def test_a_copy_that_is_not_the_source_is_red(pair: Pair, key: str) -> None:
    pair.backup()
    pair.put(key, f"content OF {key}\n", "target")
    code, said = pair.run("verify")
    assert code == 2, said
    assert "differs in content: " in said


def test_a_bucket_that_goes_leaves_its_backup_whole(ends: "tuple[Gateway, Server]", tmp_path: Path, name: str) -> None:
    site = Drill(*ends, tmp_path, name)
    site.in_parts("in parts", 20, "8MiB")
    site.backup()
    site.mc("rb", "--force", f"source/{site.name}")
    for phase in ("precheck", "mirror"):
        code, said = site.run(phase)
        assert code == 1, said
    made = site.drill(SAMPLE_BYTES=str(64 * MIB))
    assert (made["objects"], made["proven"], made["unknown"]) == (5, 5, 0)


def test_the_drill_proves_each_way_of_uploading(ends: "tuple[Gateway, Server]", tmp_path: Path, name: str) -> None:
    site = Drill(*ends, tmp_path, name)
    for key, size in (("five", "5MiB"), ("eight", "8MiB"), ("nineteen", "19MiB")):
        site.in_parts(key, 20, size)
    site.file("empty", b"")
    site.backup()
    made = site.drill(SAMPLE_BYTES=str(256 * MIB))
    assert (made["objects"], made["proven"], made["unknown"]) == (8, 8, 0)


def wrong(pair: Pair, _: "Gateway") -> None:
    pair.keys["SOURCE"] = (ROOT_USER, "another-password")


def unknown(pair: Pair, _: "Gateway") -> None:
    pair.keys["SOURCE"] = ("nobody-knows-it", "another-password")


def suspended(pair: Pair, source: "Gateway") -> None:
    keys = (f"key-{pair.name}", "another-password")
    source.user(pair.name, *keys)
    source.run("radosgw-admin", "user", "suspend", f"--uid={pair.name}")
    pair.keys["SOURCE"] = keys


def expired(pair: Pair, source: "Gateway") -> None:
    keys = (f"key-{pair.name}", "another-password")
    source.user(pair.name, *keys)
    source.run("radosgw-admin", "key", "rm", f"--uid={pair.name}", f"--access-key={keys[0]}")
    pair.keys["SOURCE"] = keys


KEYS = pytest.mark.parametrize("become", [wrong, unknown, suspended, expired])


@KEYS
def test_keys_that_are_not_accepted_end_a_backup(
    ends: "tuple[Gateway, Server]", pair: Pair, become: "Callable[[Pair, Gateway], None]"
) -> None:
    pair.backup()
    become(pair, ends[0])
    for phase in ("precheck", "mirror", "verify"):
        code, said = pair.run(phase)
        assert code == 1, said
        assert "another-password" not in said
    assert len(pair.records()) == 1


@KEYS
def test_keys_that_are_not_accepted_are_told_before_anything_is_brought_back(
    ends: "tuple[Gateway, Server]", site: Restore, become: "Callable[[Pair, Gateway], None]"
) -> None:
    become(site, ends[0])
    site.keys["RESTORE"] = site.keys["SOURCE"]
    code, said = site.phase("precheck")
    assert code == 2, said
    assert "the keys of the restore are not accepted" in said
    assert "another-password" not in said


def test_what_is_missing_damaged_and_older_comes_back(site: Restore) -> None:
    big, small = (site.in_parts(key, 20, "8MiB").read_bytes() for key in ("in parts", "again"))
    site.file("empty", b"")
    site.backup()
    for key in ("a/one", "in parts", "empty"):
        site.mc("rm", f"source/{site.name}/{key}")
    site.file("again", b"\0" + small[1:])
    site.put("three", "content OF three\n")
    later()
    for key, data in (("three", b"content of three\n"), ("again", small)):  # their copies are younger than the damage
        site.file(key, data, "target")
    later()
    assert site.run("record")[0] == 0
    site.put("a/two", "written since\n")
    site.switch = "missing"
    assert "3 missing objects are back, 2 were replaced, 1 written since" in site.restore()
    for key, data in (("in parts", big), ("again", small), ("three", b"content of three\n"), ("empty", b"")):
        site.mc("cp", f"source/{site.name}/{key}", str(site.folder / "back"))
        assert (site.folder / "back").read_bytes() == data
    assert site.read(site.name, "a/two") == "written since\n"


def test_another_program_compares_what_ceph_holds(pair: Pair) -> None:
    pair.in_parts("in parts", 40, "16MiB")
    pair.settle()
    assert pair.run("mirror")[0] == 0
    code, said = compare(pair)
    assert (code, f"and {4 + len(ODD)} that it read whole" in said) == (0, True), said
    pair.put("three", "content OF three\n", "target")
    code, said = compare(pair)
    assert (code, "differs in content: three" in said) == (2, True), said


def test_a_point_in_time_comes_back(site: Restore) -> None:
    site.at = later()
    site.put("three", "CONTENT of three\n")
    site.backup()
    assert "copied 1 older versions" in site.restore()
    assert site.read(site.into, "three") == "content of three\n"


def test_an_empty_object_does_not_come_back_without_encryption_and_that_is_told(
    ends: "tuple[Gateway, Server]", site: Restore
) -> None:
    """Without TLS the client signs what it sends piece by piece, and Ceph 16 takes no such object that is empty."""
    site.file("empty", b"")
    site.backup()
    assert site.phase("precheck", LIVE_URL=ends[0].plain)[0] == 0
    code, said = site.phase("copy", LIVE_URL=ends[0].plain)
    assert (code, "the copy is not whole" in said) == (1, True), said
    assert site.phase("verify", LIVE_URL=ends[0].plain)[0] == 2
