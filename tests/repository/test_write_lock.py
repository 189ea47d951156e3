import errno
import fcntl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from generator.errors import UsageError
from generator.repository.write_lock import exclusive

HOLD = """
import sys
from pathlib import Path
from generator.repository.write_lock import exclusive
with exclusive(Path(sys.argv[1]), print):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(root: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_free_repository_is_held_without_a_word(tmp_path: Path) -> None:
    told: list[str] = []
    for _ in range(2):
        with exclusive(tmp_path, told.append, seconds=0) as lock:
            assert lock.root == tmp_path
    assert told == []


def test_the_second_waits_and_says_so_once(tmp_path: Path) -> None:
    told: list[str] = []
    with held_elsewhere(tmp_path) as other:
        threading.Timer(0.2, other.kill).start()
        with exclusive(tmp_path, told.append):
            assert other.wait(10) != 0
    assert told == [f"{tmp_path}: another gen is writing here; waiting up to 30 seconds"]


def test_the_second_gives_up_in_time(tmp_path: Path) -> None:
    with (
        held_elsewhere(tmp_path),
        pytest.raises(UsageError, match=r"another gen has been writing here for 0\.1 seconds"),
        exclusive(tmp_path, print, seconds=0.1),
    ):
        pytest.fail("two writers at once")


def test_a_failure_while_it_is_held_frees_it(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), exclusive(tmp_path, print):
        raise KeyboardInterrupt
    with exclusive(tmp_path, print, seconds=0):
        pass


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="nowhere: cannot be opened: No such file"),
        exclusive(tmp_path / "nowhere", print),
    ):
        pytest.fail("held nothing")


def test_a_filesystem_without_locks_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with exclusive(tmp_path, print, seconds=0) as lock:
        assert lock.root == tmp_path
