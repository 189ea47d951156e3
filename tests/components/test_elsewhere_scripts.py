"""The scripts of backups whose bucket is at a service elsewhere: a MinIO of other people, and a gateway of Ceph."""

import hashlib
import json
import socket
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bucketpair import Pair, Trusted
from minioserver import ROOT_USER, Server
from test_drill_script import Site as Drill
from test_restore_script import Site as Restore
from test_restore_script import later

from generator.components.static import read_text
from tools import program

if TYPE_CHECKING:
    from cephgateway import Gateway

pytest_plugins = ["cephgateway"]
pytestmark = pytest.mark.real

MIB = 2**20
ODD = ('odd "<&>" 100% k\\y é', "a folder/한글 + &=?.txt")
REGION = "eu-central-1"
GIVEN = [
    "s3:GetBucketLocation",
    "s3:GetBucketVersioning",
    "s3:ListBucket",
    "s3:ListBucketVersions",
    "s3:GetObject",
    "s3:GetObjectVersion",
    "s3:PutObject",
    "s3:AbortMultipartUpload",
]
"""What docs/operations.md asks a service for."""


@pytest.fixture(params=("minio", "ceph"))
def sides(request: pytest.FixtureRequest, ends: "tuple[Gateway, Server]") -> "tuple[Trusted, Trusted]":
    """Return the live side, and what is elsewhere."""
    gateway, server = ends
    return (gateway, server) if request.param == "minio" else (server, gateway)


ONE = pytest.mark.parametrize("sides", ["minio"], indirect=True)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return f"e{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"


@pytest.fixture
def pair(sides: tuple[Trusted, Trusted], tmp_path: Path, name: str) -> Pair:
    made = elsewhere(Pair(*sides, tmp_path, name))
    for key in ("a/one", "three", *ODD):
        made.put(key, f"content of {key}\n")
    return made


def elsewhere(made: Pair) -> Pair:
    """Have the scripts take the target for a service elsewhere, with keys of which no more is asked than needed."""
    made.always = {"PLACE": "offsite", "MC_REGION": REGION}
    if isinstance(made.target, Server):
        made.user("target", *GIVEN)
    return made


def test_a_backup_is_whole_recorded_and_repeatable(pair: Pair) -> None:
    big = pair.in_parts("in parts", 40, "16MiB")
    pair.file("empty", b"")
    pair.backup()
    for key in ODD:
        assert pair.mc("cat", f"target/{pair.copy}/{key}") == f"content of {key}\n"
    pair.mc("cp", f"target/{pair.copy}/in parts", str(pair.folder / "back"))
    assert (pair.folder / "back").read_bytes() == big.read_bytes()
    code, said = pair.run("mirror")
    assert (code, "copied 0 objects" in said) == (0, True), said
    assert pair.records()[0]["objects"] == 2 + len(ODD) + 2


@ONE
def test_a_damaged_copy_is_red(pair: Pair) -> None:
    pair.backup()
    pair.put("three", "content OF three\n", "target")
    code, said = pair.run("verify")
    assert (code, "differs in content: three" in said) == (2, True), said


def test_a_bucket_without_versions_is_refused_before_anything_is_copied(pair: Pair) -> None:
    pair.copy = f"{pair.name}-plain"
    pair.mc("mb", f"target/{pair.copy}")
    pair.keys["TARGET"] = pair.keys["SOURCE"]
    code, said = pair.run("precheck")
    assert code == 2, said
    assert f"bucket {pair.copy} of offsite keeps no old versions" in said


@ONE
def test_keys_that_are_not_accepted_end_it_and_are_not_told(pair: Pair) -> None:
    pair.keys["TARGET"] = (ROOT_USER, "another-password")
    code, said = pair.run("precheck")
    assert (code, f"bucket {pair.copy} of offsite does not answer" in said) == (1, True), said
    assert "another-password" not in said


@ONE
def test_a_service_that_is_silent_ends_it_in_time(pair: Pair) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        pair.more = {"TARGET_URL": f"https://127.0.0.1:{silent.getsockname()[1]}", "READY_SECONDS": "3"}
        began = time.monotonic()
        code, said = pair.run("precheck")
    assert (code, "does not answer within 3 s" in said) == (1, True), said
    assert time.monotonic() - began < 15


def test_the_drill_proves_what_is_there(sides: tuple[Trusted, Trusted], tmp_path: Path, name: str) -> None:
    site = Drill(*sides, tmp_path, name)
    elsewhere(site)
    site.keys["READER"] = site.keys["TARGET"]
    site.in_parts("eight", 20, "8MiB")
    site.backup()
    made = site.drill(SAMPLE_BYTES=str(64 * MIB))
    assert (made["objects"], made["proven"], made["unknown"]) == (5, 5, 0)


def test_a_point_in_time_comes_back_and_is_switched(sides: tuple[Trusted, Trusted], tmp_path: Path, name: str) -> None:
    site = Restore(*sides, tmp_path, name)
    elsewhere(site)
    site.backup()
    site.at = later()
    site.put("three", "CONTENT of three\n")
    site.backup()
    site.mc("rm", f"source/{site.name}/a/one")
    site.switch = "all"
    said = site.restore()
    assert "copied 1 older versions" in said
    assert site.read(site.into, "three") == site.read(site.name, "three") == "content of three\n"
    assert site.read(site.name, "a/one") == "content of a/one\n"


def test_a_snapshot_is_brought_there_and_an_older_one_does_not_replace_it(pair: Pair) -> None:
    files = pair.folder / "files"
    files.mkdir()
    for stamp in ("20261120T000000Z", "20261121T000000Z"):
        snapshot(files, stamp)
    assert upload(pair, files).returncode == 0
    stored = pair.folder / "said/stored"
    of_the_21st = stored.read_text()
    assert datetime.fromtimestamp(int(of_the_21st), UTC) == datetime(2026, 11, 21, tzinfo=UTC)
    stored.unlink()
    (files / "20261121T000000Z.json").unlink()
    done = upload(pair, files)
    assert done.returncode == 0, done
    assert stored.read_text() == of_the_21st  # what is there, and not what this node has
    assert "a newer one than 20261120T000000Z of node cp-1 is there" in done.stdout
    assert pair.mc("cat", f"target/{pair.copy}/etcd/snapshot") == "snapshot of 20261121T000000Z"
    assert pair.mc("cat", f"target/{pair.copy}/etcd/keys.age") == "keys of 20261121T000000Z"
    assert len(pair.records()) == 1


def test_an_answer_that_is_none_lets_no_older_snapshot_replace_a_newer(pair: Pair) -> None:
    files, tool = pair.folder / "files", pair.bin / "mc"
    files.mkdir()
    snapshot(files, "20261120T000000Z")
    tool.unlink()
    said = '{"status":"error","error":{"message":"Unable to stat","cause":{"message":"503 Service Unavailable"}}}'
    breaking = f"case \"$*\" in *' stat '*) echo '{said}'; exit 1 ;; esac"
    tool.write_text(f'#!{program("bash")}\n{breaking}\nexec {program("mc")} "$@"\n')
    tool.chmod(0o755)
    done = upload(pair, files)
    assert (done.returncode, "cannot ask for target/" in done.stderr, "wrote" in done.stdout) == (1, True, False), done


def test_a_snapshot_of_a_clock_that_was_ahead_keeps_no_other_away(pair: Pair) -> None:
    files = pair.folder / "files"
    files.mkdir()
    snapshot(files, "20991121T000000Z")
    done = upload(pair, files)
    assert (done.returncode, "node cp-1 has nothing to bring" in done.stderr) == (1, True), done
    pair.mc(
        "cp",
        "--attr",
        "taken=20991121T000000Z",
        f"{files}/20991121T000000Z.db.age",
        f"target/{pair.copy}/etcd/snapshot",
    )
    snapshot(files, "20261121T000000Z")
    assert upload(pair, files).returncode == 0
    assert pair.mc("cat", f"target/{pair.copy}/etcd/snapshot") == "snapshot of 20261121T000000Z"
    assert len(pair.records()) == 1


def snapshot(files: Path, stamp: str) -> None:
    """Lay a snapshot, its keys and what is said of it into a folder, as a node does."""
    data = f"snapshot of {stamp}"
    (files / f"{stamp}.db.age").write_text(data)
    (files / f"{stamp}.keys.age").write_text(f"keys of {stamp}")
    taken = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T00:00:00Z"
    said = {"taken": taken, "sha256": hashlib.sha256(data.encode()).hexdigest()}
    (files / f"{stamp}.json").write_text(json.dumps(said).replace(": ", ":"))


def upload(pair: Pair, files: Path) -> "subprocess.CompletedProcess[str]":
    """Run the script of the pods that bring snapshots and dumps."""
    for each in ("upload.sh", "ready.sh", "client.sh"):
        (pair.folder / each).write_text(read_text(f"workflows/{each}"))
    told = {"FILES": str(files), "ENDING": ".db.age", "KEY": "etcd/snapshot", "FROM": "node cp-1", "LOOK": "there"}
    env = pair.environment() | told | {"MAX_AGE": str(10**9), "SAID": str(pair.folder / "said")}
    command = [str(pair.bin / "bash"), str(pair.folder / "upload.sh")]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


@ONE
def test_the_way_leads_through_a_proxy_where_one_is_named(pair: Pair) -> None:
    with socket.socket() as proxy:
        proxy.bind(("127.0.0.1", 0))
        proxy.listen()
        way = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        pair.more = {
            "TARGET_URL": "https://s3.example.org",
            "HTTPS_PROXY": way,
            "NO_PROXY": ".svc",
            "READY_SECONDS": "2",
        }
        process = pair.start("precheck")
        with proxy.accept()[0] as asked:
            told = asked.recv(200)
        process.communicate(timeout=30)
    assert told.startswith(b"CONNECT s3.example.org:443 ")
