"""The look of another program at a copy: real rclone, under busybox alone, at two real MinIO servers."""

import hashlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bucketpair import READ, Pair, await_ready
from minioserver import ROOT_PASSWORD, ROOT_USER, Server, asked, certificates

from generator.components.static import read_text
from tools import program

pytestmark = pytest.mark.real

APPLETS = ("awk", "cut", "date", "grep", "head", "mkdir", "sed", "sh", "sort", "tail", "tr", "uniq", "wc")
ODD = ('odd "<&>" k\\y é', "a folder/한글 + &=?;.txt", " - leading", "# five", "= six")
KEYS = ("a/one", "a/two", "three", *ODD)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    folder = tmp_path_factory.mktemp("minio")
    signed = certificates(folder / "certs")
    source, target = Server(folder / "source"), Server(folder / "target", certificates=signed)
    await_ready(source)
    yield source, target
    source.stop()
    target.stop()


@pytest.fixture
def pair(servers: tuple[Server, Server], tmp_path: Path, request: pytest.FixtureRequest) -> Pair:
    made = Pair(*servers, tmp_path, f"c{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}")
    made.more = {"SAMPLE": "0"}
    for key in KEYS:
        made.file(key, f"content of {key}\n".encode())
    made.settle()
    code, said = made.run("mirror")
    assert code == 0, said
    return made


def compare(pair: Pair, percent: int = 100, **more: str) -> tuple[int, str]:
    """Run the script as its pod does; return its code and all that it says."""
    tools = pair.folder / "busybox"
    if not tools.exists():
        tools.mkdir()
        for name in APPLETS:
            (tools / name).symlink_to(program("busybox"))
        (tools / "rclone").symlink_to(program("rclone"))
    (pair.folder / "compare.sh").write_text(read_text("workflows/compare.sh"))
    env = {
        "PATH": str(tools),
        "HOME": str(pair.folder),
        "WORK": str(pair.folder / "compared"),
        "SINCE": str(pair.since),
        "BANDWIDTH": "",
        "COMPARE_PERCENT": str(percent),
        "SOURCE_BUCKET": pair.name,
        "TARGET_BUCKET": pair.copy,
        "SSL_CERT_DIR": str(pair.folder / "mc/certs/CAs"),
        "RCLONE_LOW_LEVEL_RETRIES": "1",  # else what cannot be reached is asked for half a minute
        "termination_log": str(pair.folder / "termination"),
    }
    for side, server in (("SOURCE", pair.source), ("TARGET", pair.target)):
        about = {"TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": server.url}
        keys = {"ACCESS_KEY_ID": ROOT_USER, "SECRET_ACCESS_KEY": ROOT_PASSWORD}
        env |= {f"RCLONE_CONFIG_{side}_{name}": value for name, value in (about | keys).items()}
    (pair.folder / "termination").touch()
    command = [str(tools / "sh"), str(pair.folder / "compare.sh")]
    done = subprocess.run(command, env=env | more, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_a_good_copy_is_found_good_whatever_names_it_has(pair: Pair) -> None:
    pair.put("came since", "later\n")
    pair.put("three", "written since\n")
    code, said = compare(pair)
    assert code == 0, said
    assert f"{len(KEYS) - 1} objects alike in name and size, and {len(KEYS) - 1} that it read whole" in said


def test_other_bytes_of_the_same_size_under_the_same_etag_are_found(pair: Pair) -> None:
    (etag,) = {json.loads(pair.mc("--json", "stat", f"{at}/three"))["etag"] for at in sides(pair)}
    place = (pair.target.address, pair.folder / "mc/certs/CAs/ca.crt")
    forged = {"x-minio-source-replication-request": "true", "x-minio-source-etag": etag}
    body = b"content OF three\n"
    status = asked(place, f"{ROOT_USER}:{ROOT_PASSWORD}", "PUT", f"/{pair.copy}/three", body=body, headers=forged)
    assert status == 200
    assert pair.mc("cat", f"target/{pair.copy}/three") == body.decode()
    assert {json.loads(pair.mc("--json", "stat", f"{at}/three"))["etag"] for at in sides(pair)} == {etag}
    assert pair.run("verify")[0] == 0
    code, said = compare(pair)
    assert (code, "differs in content: three" in said) == (2, True), said
    assert "1 objects in" in (pair.folder / "termination").read_text()


def sides(pair: Pair) -> tuple[str, str]:
    return f"source/{pair.name}", f"target/{pair.copy}"


def test_what_is_missing_or_of_another_size_is_found_and_what_cannot_be_asked_is_no_verdict(pair: Pair) -> None:
    pair.mc("rm", f"target/{pair.copy}/{ODD[0]}")
    pair.put("a/one", "short\n", "target")
    code, said = compare(pair, 1)
    assert code == 2, said
    assert f"is missing, or differs in size: {ODD[0]}" in said
    assert "is missing, or differs in size: a/one" in said
    for more, word in (
        ({"RCLONE_CONFIG_TARGET_SECRET_ACCESS_KEY": "another"}, "rclone could not compare all"),
        ({"SSL_CERT_DIR": "/nowhere"}, "rclone could not compare all"),
        ({"SOURCE_BUCKET": "not-there"}, "rclone cannot list not-there"),
    ):
        code, said = compare(pair, 100, **more)
        assert (code, word in said, "another" in said) == (1, True, False), said


def test_an_object_that_may_not_be_asked_for_is_not_called_different(pair: Pair) -> None:
    arn = f"arn:aws:s3:::{pair.copy}"
    allow = {"Effect": "Allow", "Action": [*READ], "Resource": [arn, f"{arn}/*"]}
    deny = {"Effect": "Deny", "Action": ["s3:GetObject"], "Resource": [f"{arn}/a/two"]}
    policy = pair.folder / "policy.json"
    policy.write_text(json.dumps({"Version": "2012-10-17", "Statement": [allow, deny]}))
    pair.mc("admin", "user", "add", "target", pair.name, "a-secret-of-it")
    pair.mc("admin", "policy", "create", "target", pair.name, str(policy))
    pair.mc("admin", "policy", "attach", "target", pair.name, "--user", pair.name)
    target = "RCLONE_CONFIG_TARGET"
    keys = {f"{target}_ACCESS_KEY_ID": pair.name, f"{target}_SECRET_ACCESS_KEY": "a-secret-of-it"}
    code, said = compare(pair, 100, **keys)
    assert (code, "rclone could not compare all" in said) == (1, True), said


@pytest.mark.parametrize("percent", ["0", "101", "a", "1,2"])
def test_a_share_that_is_none_is_refused(tmp_path: Path, percent: str) -> None:
    script = tmp_path / "compare.sh"
    script.write_text(read_text("workflows/compare.sh"))
    env = {"COMPARE_PERCENT": percent, "WORK": str(tmp_path), "termination_log": "/nowhere"}
    done = subprocess.run(["sh", str(script)], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, f"up to 100, or none, not {percent}" in done.stderr) == (2, True), done.stderr


def test_a_share_is_drawn_by_lot(pair: Pair) -> None:
    for number in range(20):
        pair.put(f"many/{number}", "x")
    pair.settle()
    assert pair.run("mirror")[0] == 0
    code, said = compare(pair, 50)
    assert code == 0, said
    read = int(said.split("in name and size, and ")[1].split()[0])
    assert 0 < read < 20 + len(KEYS)


def test_a_bandwidth_holds_for_both_sides_together(pair: Pair) -> None:
    for number in range(2):
        pair.file(f"large/{number}", bytes([number]) * 1_000_000)
    pair.settle()
    assert pair.run("mirror")[0] == 0
    began = time.monotonic()
    code, said = compare(pair, BANDWIDTH="1500000")
    took = time.monotonic() - began
    assert (code, 1.5 < took < 60) == (0, True), (took, said)
