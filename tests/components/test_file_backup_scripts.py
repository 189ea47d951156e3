"""The scripts that back buckets up into a folder, with a real MinIO and files: what they carry, what they refuse."""

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bucketpair import READ, await_ready
from filedbackup import Filed
from minioserver import Server

pytestmark = pytest.mark.real
ODD = (
    "a/one",
    "a/two",
    'odd "<&>" k\\y é +%41',
    "sp ace+plus",
    "long/" + "/".join(["n" * 200] * 4),
    "tail /x",
    "..dots/...",
    "日本/テスト",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("minio") / "data")
    await_ready(server)
    yield server
    server.stop()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return f"b{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"


@pytest.fixture
def site(server: Server, tmp_path: Path, name: str) -> Iterator[Filed]:
    site = Filed(server, tmp_path, name)
    yield site
    site.client.forget()


def filled(site: Filed, count: int, size: int = 20) -> None:
    """Have so many objects in the bucket, of so many bytes."""
    folder = site.folder / "many"
    for number in range(count):
        file = folder / f"d{number % 50}" / f"{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number:0{size}}")
    site.mc("mirror", "--quiet", str(folder), f"site/{site.name}")


def content(site: Filed, bucket: str) -> dict[str, int]:
    """Return how large objects of a bucket are, by key."""
    lines = site.mc("--json", "ls", "--recursive", f"site/{bucket}").splitlines()
    return {(one := json.loads(line))["key"]: one["size"] for line in lines}


def rot(site: Filed, key: str) -> Path:
    """Change one byte of what an object held, and neither its size nor its time."""
    (file,) = (site.store / "lists").glob("*.jsonl")
    (sha,) = [one["sha"] for one in map(json.loads, file.read_text().splitlines()) if one["key"] == key]
    path: Path = site.store / "data" / sha[:2] / sha
    was, data = path.stat(), path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    return path


def test_odd_names_and_empty_objects_come_back_as_they_were(site: Filed) -> None:
    for key in ODD:
        site.put(key, f"content of {key}\n")
    (site.folder / "empty").write_bytes(b"")
    beside = "x-amz-meta-who=me;Content-Type=text/x-odd"
    site.mc("cp", "--attr", beside, str(site.folder / "empty"), f"site/{site.name}/empty")
    site.backup()
    before = content(site, site.name)
    said = site.restore("copy", "verify")
    assert f"{len(ODD) + 1} proven by checksum" in said
    assert content(site, f"{site.name}-restored-1") == before
    kept = json.loads(site.mc("--json", "stat", f"site/{site.name}-restored-1/empty"))["metadata"]
    assert (kept["Content-Type"], kept["X-Amz-Meta-Who"]) == ("text/x-odd", "me")


def test_a_name_that_is_the_folder_of_another_is_carried(site: Filed) -> None:
    """What a file system cannot have beside each other, Ceph's gateway has; MinIO takes a folder's own object alone."""
    site.put("a/b", "below\n")
    (site.folder / "empty").write_bytes(b"")
    site.mc("cp", str(site.folder / "empty"), f"site/{site.name}/dir/")
    site.backup()
    assert site.records()[-1]["objects"] == len(content(site, site.name))


def test_it_is_brought_back_as_of_a_time_and_switched(site: Filed) -> None:
    for key in ("gone", "changed", "newer", "same"):
        site.put(key, "first\n")
    site.backup()
    time.sleep(1.1)
    site.mc("rm", f"site/{site.name}/gone")
    site.put("changed", "second\n")
    site.backup(later=2, SHRINK_PERCENT="100")
    first, second = site.records()
    assert (first["objects"], second["objects"], second["read"]) == (4, 3, 1)
    site.restore("copy", "verify", "switch", AT=first["finished"], SWITCH="missing")
    now = {key: site.mc("cat", f"site/{site.name}/{key}") for key in ("gone", "changed", "same")}
    assert now == {"gone": "first\n", "changed": "second\n", "same": "first\n"}  # written since: left
    site.restore("copy", "verify", "switch", AT=first["finished"], SWITCH="all")
    assert site.mc("cat", f"site/{site.name}/changed") == "first\n"
    assert "before the first good backup" in site.restore(code=2, AT="2020-01-01T00:00:00Z")


def test_of_ten_thousand_small_objects_a_killed_run_brings_none_twice(site: Filed) -> None:
    filled(site, 10000)
    site.step("backup.py", "precheck")
    copying, unfinished = site.begin("backup.py", "copy"), site.store / "work/unfinished.jsonl"
    while not unfinished.exists() or not unfinished.stat().st_size:
        time.sleep(0.05)
        assert copying.poll() is None
    copying.send_signal(signal.SIGKILL)
    copying.communicate()
    assert "no good backup" in site.restore(code=2)
    began = time.monotonic()
    said = site.step("backup.py", "copy")
    assert 0 < int(said.split("of which ")[1].split()[0]) < 10000
    site.backup("verify", "record", "keep")
    assert time.monotonic() - began < 60
    (record,) = site.records()
    assert (record["objects"], record["read"]) == (10000, 10000)  # what the killed one brought is read as well
    assert not list((site.store / "work").glob("*.part"))


def test_a_run_that_was_ended_after_its_copy_is_not_brought_anew(site: Filed) -> None:
    filled(site, 20)
    site.step("backup.py", "precheck")
    site.step("backup.py", "copy")
    site.since += 1
    site.step("backup.py", "precheck")
    assert "20 objects, of which 0 were read" in site.step("backup.py", "copy")
    site.backup("verify", "record", "keep")
    assert site.records()[0]["read"] == 20


def test_what_a_node_that_went_down_left_half_written_is_a_hint_and_no_more(site: Filed) -> None:
    filled(site, 20)
    site.step("backup.py", "precheck")
    site.step("backup.py", "copy")
    (file,) = (site.store / "lists").glob("*.jsonl")
    first, second, *_ = file.read_text().splitlines(keepends=True)
    file.unlink()
    (site.store / "work/unfinished.jsonl").write_text(f"{first}{chr(0) * 4096}{second}")
    (site.store / "work/fresh").write_text(f"{chr(0) * 4096}\n")
    site.since += 1
    site.step("backup.py", "precheck")
    assert "20 objects, of which 19 were read" in site.step("backup.py", "copy")
    site.backup("verify", "record", "keep")


def test_one_clock_that_is_ahead_removes_nothing(site: Filed) -> None:
    site.put("one", "1\n")
    site.since -= 40 * 86400
    for days in (0, 20, 20):
        site.backup(later=days * 86400)
    kept = len(site.records())
    site.since += 1000 * 86400  # the API server's clock
    site.step("backup.py", "keep")
    assert len(site.records()) == kept
    ahead = "import time; was = time.time; time.time = lambda: was() + 1e8\n"
    (site.scripts / "backup.py").write_text(ahead + (site.scripts / "backup.py").read_text())
    site.since -= 1000 * 86400
    site.step("backup.py", "keep")
    assert len(site.records()) == kept


def test_what_rots_is_found_set_aside_and_brought_anew(site: Filed) -> None:
    for key in ("one", "two"):
        site.put(key, f"content of {key}\n")
    site.backup()
    path = rot(site, "one")
    assert "not as it was written, or gone: one" in site.step("drill.py", "prove", code=2)
    assert "not as it was written" in site.restore("copy", code=2)
    site.since += 1
    site.step("backup.py", "precheck")
    site.step("backup.py", "copy")
    said = site.step("backup.py", "verify", code=2, ROUNDS="1")
    assert "1 files of nas are not as they were written" in said
    assert "look at its disks" in site.last_words()
    assert len(site.records()) == 1
    assert not path.exists()
    site.backup(later=1, ROUNDS="1")
    assert path.exists()
    site.step("drill.py", "prove")


def test_what_a_server_lays_beside_it_is_left_alone(site: Filed) -> None:
    site.put("one", "1\n")
    site.backup()
    (content,) = (site.store / "data").glob("*/*")
    beside = [site.store / "data/@eaDir/thumb", content.with_name(".nfs00000001"), content.with_name("notes")]
    for file in beside:
        file.parent.mkdir(exist_ok=True)
        file.touch()
    site.backup(later=1, ROUNDS="1")
    assert all(file.exists() for file in (content, *beside))


def test_within_the_rounds_each_file_is_read_once(site: Filed) -> None:
    for number in range(12):
        site.put(f"k{number}", f"{number}\n")
    site.backup()
    read = 0
    for _ in range(3):
        site.backup(later=1, ROUNDS="3")
        read += site.records()[-1]["read"]
    assert read == 12


def test_old_states_go_after_their_days_and_what_others_hold_stays(site: Filed) -> None:
    site.put("kept", "kept\n")
    site.put("old", "old\n")
    now = site.since
    site.since = now - 40 * 86400
    site.backup()
    site.mc("rm", f"site/{site.name}/old")
    site.since = now - 35 * 86400
    site.backup(SHRINK_PERCENT="100")
    assert len(list((site.store / "data").glob("*/*"))) == 2
    site.since = now
    site.backup()
    assert len(site.records()) == 2  # now, and the newest of before: how it was thirty days ago
    assert len(list((site.store / "data").glob("*/*"))) == 1


def test_a_source_that_shrank_is_not_recorded(site: Filed) -> None:
    filled(site, 10)
    site.backup()
    site.mc("rm", "--recursive", "--force", f"site/{site.name}/d1", f"site/{site.name}/d2", f"site/{site.name}/d3")
    site.since += 1
    assert "the source shrank by more than 20 %" in site.step("backup.py", "precheck", code=2)
    site.mc("rb", "--force", f"site/{site.name}")
    assert "NoSuchBucket" in site.step("backup.py", "precheck", code=2)
    assert len(site.records()) == 1


@pytest.mark.parametrize("given", ["20 %", "", "-1", "²"])
def test_what_is_no_number_is_refused_before_anything_is_copied(site: Filed, given: str) -> None:
    said = site.step("backup.py", "precheck", code=2, SHRINK_PERCENT=given)
    assert f"shrink-percent is a whole number, not {given}" in said


def begun_again(site: Filed) -> None:
    """Have a run that was good, and another one begun when all objects were written anew."""
    filled(site, 50)
    site.backup()
    site.mc("rm", "--recursive", "--force", f"site/{site.name}")
    filled(site, 50, 30)
    site.since += 1
    site.step("backup.py", "precheck")


def test_a_source_that_is_emptied_while_it_is_copied_is_not_recorded(site: Filed) -> None:
    begun_again(site)
    site.mc("rm", "--recursive", "--force", f"site/{site.name}")
    site.step("backup.py", "copy")
    said = site.step("backup.py", "verify", code=2)
    assert "shrank by more than 20 % since the largest backup of the seven days up to the last one (50 objects" in said
    assert len(site.records()) == 1


# Says of each object that is read what a server says that has it no more.
GONE = """
import objects
def gone(self, bucket, key): raise objects.Refused(404, "{code}", "gone")
objects.S3.open = gone
"""


@pytest.mark.parametrize(("code", "ends", "words"), [("NoSuchBucket", 2, "NoSuchBucket: gone"), ("", 1, "404: gone")])
def test_a_bucket_that_goes_while_it_is_copied_is_not_taken_for_objects_that_went(
    site: Filed, code: str, ends: int, words: str
) -> None:
    begun_again(site)
    was = (site.scripts / "backup.py").read_text()
    (site.scripts / "backup.py").write_text(GONE.format(code=code) + was)
    assert words in site.step("backup.py", "copy", code=ends)
    (site.scripts / "backup.py").write_text(GONE.format(code="NoSuchKey") + was)
    site.step("backup.py", "copy")
    assert "shrank by more than 20 %" in site.step("backup.py", "verify", code=2)
    assert len(site.records()) == 1


def noted(site: Filed, days_ago: float, objects: int) -> None:
    """Write the record of a run of so many objects that began so many days ago."""
    began = time.gmtime(time.time() - days_ago * 86400)
    told = {"objects": objects, "bytes": 0, "mayShrink": 20, "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", began)}
    (site.store / "records" / time.strftime("%Y%m%dT%H%M%SZ.json", began)).write_text(json.dumps(told))


def test_a_loss_that_nobody_looked_into_for_a_week_is_refused_still(site: Filed) -> None:
    filled(site, 4)
    site.step("backup.py", "precheck")
    noted(site, 12, 6)
    noted(site, 9, 5)
    assert "(6 objects" in site.step("backup.py", "precheck", code=2)
    noted(site, 4.9, 5)  # 6 were more than a week before this one
    site.step("backup.py", "precheck")


def test_keys_that_are_wrong_are_told_at_once(site: Filed) -> None:
    site.put("one", "1\n")
    for more in ({"SOURCE_ACCESS_KEY": "nobody"}, {"SOURCE_SECRET_KEY": "wrong"}):
        said = site.step("backup.py", "precheck", code=2, **more)
        assert "the keys of the backup's reader are not accepted" in said


def test_a_folder_of_another_backup_is_left_alone(site: Filed, server: Server, tmp_path: Path) -> None:
    site.put("one", "1\n")
    site.backup()
    other = Filed(server, tmp_path / "other", f"{site.name}x", site.target)
    other.client.forget()
    said = other.step("backup.py", "precheck", code=2)
    assert f"holds the backup of cluster ml50, backup {site.name}, source {site.name}" in said


def test_a_list_that_is_not_what_was_proven_is_not_believed(site: Filed) -> None:
    site.put("one", "1\n")
    site.backup()
    (file,) = (site.store / "lists").glob("*.jsonl")
    file.write_text("")
    assert "is not what was written there" in site.restore(code=2)


def test_a_bucket_of_others_is_not_written_to(site: Filed) -> None:
    site.put("one", "1\n")
    site.backup()
    site.mc("mb", f"site/{site.name}-restored-1")
    site.put("stranger", "1\n", f"{site.name}-restored-1")
    assert "holds what is not of this backup, as stranger" in site.restore(code=2)
    assert "is the live bucket" in site.restore(code=2, INTO=site.name)
    assert "InvalidBucketName" in site.restore(code=2, INTO="Not_a_name")
    assert "are left: remove a bucket" in site.restore(code=2, INTO=f"{site.name}-restored-2", ROOM="1")


def test_an_object_in_parts_is_read_back_whole(site: Filed) -> None:
    data = hashlib.shake_256(b"x").digest(20 << 20)
    (site.folder / "large").write_bytes(data)
    site.mc("put", "--part-size", "5MiB", str(site.folder / "large"), f"site/{site.name}/large")
    site.backup()
    site.restore("copy", "verify")
    site.mc("cp", f"site/{site.name}-restored-1/large", str(site.folder / "back"))
    assert (site.folder / "back").read_bytes() == data


@pytest.fixture
def small(server: Server, tmp_path: Path, name: str) -> Iterator[Filed]:
    """A site whose target is a file system of a few MiB."""
    mount = tmp_path / "small"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("nobody may mount here")
    site = Filed(server, tmp_path, name, mount)
    yield site
    site.client.forget()
    subprocess.run(["umount", str(mount)], check=True)


def test_a_full_target_ends_at_once_and_leaves_what_is_there(small: Filed) -> None:
    site = small
    site.put("one", "1\n")
    site.backup()
    filled(site, 12, 1 << 20)
    site.since += 1
    assert "make room first" in site.step("backup.py", "precheck", code=2)
    assert "there is no room where it goes" in site.step("backup.py", "copy", code=2)
    assert "there is no room" in site.last_words()
    assert len(site.records()) == 1
    site.step("drill.py", "prove")


def test_what_a_run_that_was_ended_brought_needs_no_room_again(small: Filed) -> None:
    filled(small, 5, 1 << 20)
    small.step("backup.py", "precheck")
    small.step("backup.py", "copy")
    small.since += 1  # 3 MiB are left, and the source has 5
    small.step("backup.py", "precheck")
    (file,) = (small.store / "lists").glob("*.jsonl")
    file.rename(small.store / "work/unfinished.jsonl")
    small.backup(later=1)
    assert small.records()[0]["objects"] == 5


def test_an_export_that_takes_no_writes_is_told(small: Filed) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small.target)], check=True)
    said = small.step("backup.py", "precheck", code=2)
    assert f"the export must let user and group {os.getuid()} write there" in said


def test_a_reader_needs_no_other_right(site: Filed) -> None:
    policy = site.folder / "policy.json"
    arn = f"arn:aws:s3:::{site.name}"
    statement = {"Effect": "Allow", "Action": READ, "Resource": [arn, f"{arn}/*"]}
    policy.write_text(json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    password = "it's\\a:pass/word@1"
    site.mc("admin", "user", "add", "site", site.name, password)
    site.mc("admin", "policy", "create", "site", site.name, str(policy))
    site.mc("admin", "policy", "attach", "site", site.name, "--user", site.name)
    site.put("one", "1\n")
    site.backup(SOURCE_ACCESS_KEY=site.name, SOURCE_SECRET_KEY=password)
    assert site.records()[0]["objects"] == 1
