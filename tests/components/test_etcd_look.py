"""What the pod on each control-plane node tells of the snapshots there: real bash, made-up files."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from generator.components.etcd_backup.install import scripts

NOW = 1_800_000_000


@pytest.fixture
def node(tmp_path: Path) -> Path:
    for name, text in scripts()["data"].items():
        (tmp_path / name).write_text(text)
    (tmp_path / "out").mkdir()
    return tmp_path


def snapshot(node: Path, taken: int, *, size: int = 100, there: int = 100) -> None:
    """Lay a snapshot down that its record says to be so large; `there` is what came of it."""
    when = datetime.fromtimestamp(taken, UTC)
    file = node / "out" / f"{when:%Y%m%dT%H%M%SZ}.json"
    record = {"backup": "etcd", "taken": f"{when:%Y-%m-%dT%H:%M:%SZ}", "keys": 7, "bytes": size, "sha256": "0" * 64}
    file.write_text(json.dumps(record, separators=(",", ":")) + "\n")
    file.with_suffix(".db.age").write_bytes(b"x" * there)


def told(node: Path) -> tuple[int, str]:
    env = {"PATH": "/usr/bin:/bin", "FILES": f"{node}/out", "SAID": f"{node}/said", "NODE": "cp-1", "SINCE": str(NOW)}
    command = ["bash", str(node / "look.sh")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60)
    return int((node / "said/taken").read_text()), done.stdout


def test_the_newest_is_told(node: Path) -> None:
    snapshot(node, NOW - 9000)
    snapshot(node, NOW - 3000)
    assert told(node)[0] == NOW - 3000


def test_a_node_without_any_says_so(node: Path) -> None:
    newest, said = told(node)
    assert newest == 0
    assert "node cp-1 has no whole snapshot: `systemctl status etcd-snapshot` there" in said


def test_what_is_not_whole_does_not_count(node: Path) -> None:
    snapshot(node, NOW - 9000)
    snapshot(node, NOW - 3000, there=99)
    snapshot(node, NOW - 2000)
    max((node / "out").glob("*.db.age")).unlink()
    assert told(node)[0] == NOW - 9000


def test_a_record_that_is_none_does_not_count_and_stops_nothing(node: Path) -> None:
    snapshot(node, NOW - 9000)
    (node / "out/20270115T080000Z.json").write_text("{}")
    (node / "out/20270115T080001Z.json").write_text("")
    assert told(node)[0] == NOW - 9000


def test_a_clock_that_was_ahead_hides_nothing(node: Path) -> None:
    snapshot(node, NOW - 90000)
    snapshot(node, NOW + 90000)
    assert told(node)[0] == NOW - 90000


def test_files_of_a_folder_that_cannot_be_read_are_none(node: Path) -> None:
    (node / "out").rmdir()
    assert told(node)[0] == 0


def drilled(node: Path, **told: str) -> None:
    (node / "out/last-drill").write_text(json.dumps(told | {"counted": 7, "lasted": 9}, separators=(",", ":")) + "\n")


def of_drill(node: Path) -> tuple[int, str, str]:
    _, said = told(node)
    return int((node / "said/worked").read_text()), (node / "said/good").read_text(), said


def moment(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def test_how_the_last_drill_ended_is_told(node: Path) -> None:
    worked, good, said = of_drill(node)
    assert (worked, good) == (0, "none")
    assert "no snapshot of node cp-1 was tried yet" in said
    drilled(node, of="x", result="good", worked=moment(NOW - 90000))
    assert of_drill(node)[:2] == (NOW - 90000, "1")
    drilled(node, of="x", result="bad", worked=moment(NOW - 90000))
    worked, good, said = of_drill(node)
    assert (worked, good) == (NOW - 90000, "0")
    assert "node cp-1 has a snapshot that did not bring etcd back" in said


def test_a_drill_that_never_worked_or_of_a_time_to_come_did_not_work(node: Path) -> None:
    drilled(node, of="x", result="bad", worked="")
    assert of_drill(node)[:2] == (0, "0")
    drilled(node, of="x", result="good", worked=moment(NOW + 90000))
    assert of_drill(node)[:2] == (0, "1")
    (node / "out/last-drill").write_text("")
    assert of_drill(node)[:2] == (0, "none")
