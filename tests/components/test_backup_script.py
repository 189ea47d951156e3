"""The backup script against two real MinIO servers: what it copies, and that nothing wrong passes."""

import hashlib
import json
import os
import re
import signal
import socket
import time
from pathlib import Path

import pytest
from bucketpair import READ, UNPACKED, WRITE, Pair, await_ready, many, servers
from minioserver import Server

from tools import program

__all__ = ["servers"]  # a fixture

pytestmark = pytest.mark.real


@pytest.fixture
def pair(servers: tuple[Server, Server], tmp_path: Path, request: pytest.FixtureRequest) -> Pair:
    name = f"b{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"
    await_ready(servers[0])
    pair = Pair(*servers, tmp_path, name)
    for key in ("a/one", "a/two", "three", 'odd "<&>" k\\y é'):
        pair.put(key, f"content of {key}\n")
    return pair


def test_a_backup_is_whole_recorded_and_repeatable(pair: Pair) -> None:
    pair.backup()
    assert pair.mc("cat", f'target/{pair.copy}/odd "<&>" k\\y é') == 'content of odd "<&>" k\\y é\n'
    time.sleep(1.1)
    pair.put("four", "new\n")
    pair.put("three", "CONTENT of three\n")  # as long as before
    pair.backup()
    assert pair.mc("cat", f"target/{pair.copy}/three") == "CONTENT of three\n"
    first, second = pair.records()
    assert (first["objects"], second["objects"], second["sampled"]) == (4, 5, 5)
    assert second["bytes"] == first["bytes"] + 4
    assert second["backup"] == pair.name


def test_rights_to_write_and_read_without_deleting_are_enough(pair: Pair) -> None:
    pair.user("source", *READ)
    pair.user("target", *WRITE)
    pair.backup()
    assert [record["objects"] for record in pair.records()] == [4]


def test_an_empty_bucket_is_a_backup_of_nothing(pair: Pair) -> None:
    pair.mc("rm", "--recursive", "--force", f"source/{pair.name}")
    pair.backup()
    assert [record["objects"] for record in pair.records()] == [0]


def test_what_changes_during_the_run_is_counted_and_left_to_the_next(pair: Pair) -> None:
    pair.settle()
    assert pair.run("mirror")[0] == 0
    pair.put("late", "written meanwhile")
    code, said = pair.run("verify")
    assert code == 0, said
    assert "5 objects" in said
    assert "1 changed since" in said


def test_an_object_changed_at_the_source_with_equal_size_is_red(pair: Pair) -> None:
    pair.backup()
    time.sleep(1.1)
    pair.put("three", "CONTENT OF three\n")
    pair.settle()
    code, said = pair.run("verify")
    assert code == 2
    assert "copy is older than its source: three" in said


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("three", None, "missing: three"),
        ("three", "short", "differs in size (17, copy 5): three"),
        ("three", "content OF three\n", "differs in content: three"),
        ('odd "<&>" k\\y é', 'content OF odd "<&>" k\\y é\n', "differs in content: odd"),
    ],
)
def test_a_copy_that_is_not_the_source_is_red(pair: Pair, key: str, text: str | None, expected: str) -> None:
    pair.backup()
    if text is None:
        pair.mc("rm", f"target/{pair.copy}/{key}")
    else:
        pair.put(key, text, "target")
    code, said = pair.run("verify")
    assert code == 2, said
    assert expected in said


def test_a_source_that_dies_during_the_copy_is_red(servers: tuple[Server, Server], pair: Pair) -> None:
    source = servers[0]
    # More than the buffers between two programs hold: what is in them arrives even from the dead.
    pair.put("big", "x" * 120_000_000)
    pair.more["MC_LIMIT_DOWNLOAD"] = "2MiB"
    process = pair.start("mirror")
    time.sleep(2)
    assert process.poll() is None
    source.stop()
    try:
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 1, said
        assert "the copy is not whole" in said
        code, said = pair.run("verify")
        assert code == 1, said
        assert "not whole" in said
    finally:
        source.start()
        await_ready(source)


def test_ten_thousand_objects_are_whole_though_the_copy_is_killed_in_the_middle(pair: Pair) -> None:
    many(archive := pair.folder / "archive.tar", 10_000)
    pair.mc("cp", *UNPACKED, str(archive), f"source/{pair.name}/archive.tar")
    first, place = pair.start("mirror"), pair.target.folder / pair.copy / "many"
    for _ in range(600):
        time.sleep(0.05)
        if place.is_dir() and len(list(place.iterdir())) > 20:
            break
    assert first.poll() is None, "the copy had ended before it was killed"
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=60)
    pair.always["SAMPLE"] = "4"
    pair.backup()
    (record,) = pair.records()
    assert (record["objects"], record["moving"]) == (10_004, 0)
    assert pair.mc("cat", f"target/{pair.copy}/many/99/9999") == "object 9999"


def test_a_target_that_is_down_is_red_at_once(pair: Pair) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        pair.more = {"TARGET_URL": f"https://127.0.0.1:{closed.getsockname()[1]}", "READY_SECONDS": "2"}
        code, said = pair.run("precheck")
    assert code == 1
    assert "not ready" in said


def test_another_word_for_etags_is_refused_before_anything_is_copied(pair: Pair) -> None:
    pair.more["ETAGS"] = "MD5"
    code, said = pair.run("precheck")
    assert (code, "etags is md5 or other, not MD5" in said) == (2, True)


def test_a_target_with_another_ca_is_red(pair: Pair) -> None:
    (pair.folder / "mc/certs/CAs/ca.crt").unlink()
    pair.more["READY_SECONDS"] = "2"
    assert pair.run("precheck")[0] == 1
    assert pair.run("mirror")[0] == 1


@pytest.mark.parametrize(
    ("side", "rights", "phase"),
    [
        ("source", ["s3:GetObject"], "precheck"),
        ("source", ["s3:ListBucket", "s3:GetBucketLocation"], "mirror"),
        ("target", READ, "mirror"),
        ("target", READ, "record"),
        ("target", ["s3:PutObject"], "precheck"),
        ("target", ["s3:PutObject", "s3:GetObject"], "verify"),
    ],
)
def test_a_missing_right_is_red(pair: Pair, side: str, rights: list[str], phase: str) -> None:
    pair.user(side, *rights)
    pair.more |= {"OBJECTS": "1", "BYTES": "1", "MOVING": "0", "SAMPLED": "0", "LISTED": "0"}
    code, said = pair.run(phase)
    assert code == 1, said
    assert "error:" in said


def test_a_right_missing_on_one_object_is_red(pair: Pair) -> None:
    pair.user("source", *READ)
    policy = json.loads((pair.folder / "source.json").read_text())
    deny = {"Effect": "Deny", "Action": ["s3:GetObject"], "Resource": [f"arn:aws:s3:::{pair.name}/a/two"]}
    policy["Statement"].append(deny)
    (pair.folder / "source.json").write_text(json.dumps(policy))
    user = pair.keys["SOURCE"][0]
    pair.mc("admin", "policy", "create", "source", user, str(pair.folder / "source.json"))
    pair.settle()
    pair.run("mirror")
    code, said = pair.run("verify")
    assert code == 2, said
    assert "missing: a/two" in said


def test_a_shrunk_source_is_red_until_somebody_says_that_it_is_meant(pair: Pair) -> None:
    pair.backup()
    pair.mc("rm", f"source/{pair.name}/a/one")
    code, said = pair.run("precheck")
    assert code == 2
    assert "shrank by more than 20 %" in said
    pair.mc("rm", "--recursive", "--force", f"source/{pair.name}")
    assert pair.run("precheck")[0] == 2
    pair.more["SHRINK_PERCENT"] = "100"
    assert pair.run("precheck")[0] == 0


def noted(pair: Pair, days_ago: float, text: str) -> None:
    """Write a text as the record of a run that many days ago."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - days_ago * 86400))
    pair.put(f"_gen/backups/{pair.name}/{stamp}.json", text, "target")


def counted(pair: Pair, days_ago: float, number: int) -> None:
    """Write the record of a run of so many objects."""
    noted(pair, days_ago, f'{{"source":"{pair.name}","objects":{number},"bytes":0}}\n')


def test_a_source_that_shrinks_a_little_each_day_is_red_within_a_week(pair: Pair) -> None:
    counted(pair, 8, 100)
    assert pair.run("precheck")[0] == 2  # the last one counts, however old it is
    counted(pair, 1.5, 4)
    counted(pair, 0.5, 5)
    counted(pair, 0.2, 4)
    assert pair.run("precheck")[0] == 0
    counted(pair, 6.9, 6)
    code, said = pair.run("precheck")
    assert code == 2
    assert "shrank by more than 20 % since the largest backup of the seven days up to the last one (6 objects" in said


def test_a_loss_that_nobody_looked_into_for_a_week_is_red_still(pair: Pair) -> None:
    counted(pair, 12, 6)
    counted(pair, 9, 5)
    assert pair.run("precheck")[0] == 2
    counted(pair, 4.9, 5)  # 6 were more than a week before this one
    assert pair.run("precheck")[0] == 0


def test_a_source_that_was_let_shrink_is_held_to_what_it_was_then(pair: Pair) -> None:
    counted(pair, 2, 100)
    pair.always["SHRINK_PERCENT"] = "100"
    pair.backup()
    del pair.always["SHRINK_PERCENT"]
    pair.backup()
    assert [record["mayShrink"] for record in pair.records() if "backup" in record] == [100, 20]
    pair.mc("rm", f"source/{pair.name}/a/one")
    code, said = pair.run("precheck")
    assert (code, "shrank by more than 20 %" in said) == (2, True)


def test_a_record_that_is_not_ours_is_red(pair: Pair) -> None:
    pair.put(f"_gen/backups/{pair.name}/20260101T000000Z.json", "{}", "target")
    code, said = pair.run("precheck")
    assert code == 1
    assert "what is not a record of ours" in said
    counted(pair, 0.5, 4)
    assert pair.run("precheck")[0] == 0  # the other is older than a week
    counted(pair, 1, 4)
    noted(pair, 0.1, "{}")
    assert pair.run("precheck")[0] == 1


@pytest.mark.parametrize(
    "output",
    [
        '{\n "status": "error",\n "error": {"message": "Failed to copy"}\n}',
        "mc: <ERROR> Unable to list comparison retrying..",
        '{"status":"error","error":{"message":"Overwrite not allowed"}}',
    ],
)
def test_an_error_that_mc_only_prints_is_red(pair: Pair, output: str) -> None:
    (pair.bin / "mc").unlink()
    (pair.bin / "mc").write_text(f"#!{program('bash')}\nprintf '%s\\n' '{output}'\n")
    (pair.bin / "mc").chmod(0o755)
    code, said = pair.run("mirror")
    assert code == 1
    assert "mc reported errors" in said
    assert pair.run("verify")[0] == 1


def test_keys_stand_in_no_command_line_and_no_output(pair: Pair) -> None:
    pair.user("source", *READ)
    pair.user("target", *WRITE)
    secret = pair.keys["TARGET"][1]
    pair.put("big", "x" * 8_000_000)
    pair.more["MC_LIMIT_UPLOAD"] = "2097152"
    process = pair.start("mirror")
    time.sleep(1.5)
    assert process.poll() is None
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert not any(secret.encode() in line for line in lines)
    assert secret not in said


def test_an_unknown_phase_is_a_verdict(pair: Pair) -> None:
    code, said = pair.run("everything")
    assert code == 2
    assert "usage" in said


def test_a_bandwidth_holds_for_all_that_a_copy_brings_together(pair: Pair) -> None:
    for number in range(6):
        pair.file(f"large/{number}", bytes([number]) * 1_000_000)
    pair.settle()
    pair.more = {"MC_LIMIT_UPLOAD": "2000000", "MC_LIMIT_DOWNLOAD": "2000000"}
    began = time.monotonic()
    code, said = pair.run("mirror")
    took = time.monotonic() - began
    # What may come in one second comes at once.
    assert (code, took > 2) == (0, True), (took, said)
    pair.more = {}
    assert pair.run("verify")[0] == 0


@pytest.mark.parametrize("bandwidth", ["fast", "10M", "0", "99999"])
def test_what_is_no_bandwidth_is_a_verdict(pair: Pair, bandwidth: str) -> None:
    pair.more["MC_LIMIT_UPLOAD"] = bandwidth
    code, said = pair.run("precheck")
    assert (code, f"or nothing, not {bandwidth}" in said) == (2, True), said


def test_a_target_without_room_is_a_verdict_whose_words_say_so(pair: Pair) -> None:
    words = pair.folder / "termination"
    words.touch()
    pair.more["termination_log"] = str(words)
    pair.file("large", bytes(2_000_000))
    pair.mc("quota", "set", f"target/{pair.copy}", "--size", "1MiB")
    code, said = pair.run("mirror")
    assert (code, "copied 5 objects" in said) == (2, False), said
    assert words.read_text().startswith("the copy is not whole: there is no room where it goes")
    assert words.read_text().endswith("Bucket quota exceeded")
    pair.mc("quota", "clear", f"target/{pair.copy}")
    pair.settle()
    assert pair.run("mirror")[0] == 0
    pair.mc("quota", "set", f"target/{pair.copy}", "--size", "1")
    words.write_text("")
    code, said = pair.run("verify")
    assert code == 2, said
    assert re.search(r"^cannot write .*there is no room.*Bucket quota exceeded$", words.read_text())


@pytest.mark.parametrize("gone", ["key", "bucket"])
def test_why_a_bucket_cannot_be_listed_is_told_in_words(pair: Pair, gone: str) -> None:
    words = pair.folder / "termination"
    words.touch()
    pair.more["termination_log"] = str(words)
    if gone == "key":
        pair.keys["TARGET"] = ("nobody", "another-password")
        side, why = f"target/{pair.copy}/_gen/backups/", "The Access Key Id you provided does not exist in our records."
    else:
        pair.mc("rb", "--force", f"source/{pair.name}")
        side, why = f"source/{pair.name}", "The specified bucket does not exist"
    code, said = pair.run("precheck")
    assert (code, '"Code":"' in said) == (1, True), said  # all that was said is in the log
    assert words.read_text() == f"the listing of {side} is not whole: cannot list: {why}"


@pytest.mark.parametrize("code", ["XMinioStorageFull", "QuotaExceeded", "SlowDown"])
def test_the_words_of_a_step_are_those_of_mc_over_whatever_lines(pair: Pair, code: str) -> None:
    cause = {"message": f"words of {code}", "error": {"Code": code}}
    text = json.dumps({"status": "error", "error": {"message": "Failed to copy", "cause": cause}}, indent=1)
    (pair.bin / "mc").unlink()
    (pair.bin / "mc").write_text(f"#!{program('bash')}\nprintf '%s\\n' '{text}'\n")
    (pair.bin / "mc").chmod(0o755)
    words = pair.folder / "termination"
    words.touch()
    pair.more["termination_log"] = str(words)
    assert pair.run("mirror")[0] == (1 if code == "SlowDown" else 2)
    assert f"words of {code}" in words.read_text()
