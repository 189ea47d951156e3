"""Standard output that cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from reference import ROOT

from generator.cli import run

FULL = Path("/dev/full")
NO_ROOM = "gen: standard output could not be written: No space left on device\n"


def gen(out: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run `gen` as a program that writes to `out`; return its exit code and what it says on standard error."""
    command = [sys.executable, "-m", "generator", *arguments]
    # Set by whoever runs the tests, it decides when a write fails.
    given = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | environment
    with out.open("r+") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, env=given, cwd=ROOT, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("arguments", [("--help",), ("schema",), ("explain", "GEN-NET-004"), ("check",)], ids=" ".join)
def test_a_full_disk_is_one_line_and_no_bug(arguments: tuple[str, ...]) -> None:
    assert gen(FULL, *arguments) == (2, NO_ROOM)
    assert gen(FULL, *arguments, PYTHONUNBUFFERED="1") == (2, NO_ROOM)


def test_what_can_be_written_is(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    assert gen(tmp_path / "out", "schema") == (0, "")
    assert (tmp_path / "out").read_text().startswith("{")


def test_another_fault_of_the_system_is_a_bug_still(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("generator.cli.check.load", broken)
    assert run(["check"]) == 70
    assert "this is a bug in gen" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [("--help",), ("schema",), ("check",)], ids=" ".join)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_went_away_is_no_finding(arguments: tuple[str, ...], unbuffered: str) -> None:
    """In the shell 141 is what a program ends with that SIGPIPE ended."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-P", "-m", "generator", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
    with os.fdopen(writing, "w") as gone:
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, env=env, cwd=ROOT, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("verb", ["images", "vendor --check"])
def test_what_is_closed_changes_nothing(closed: str, verb: str) -> None:
    command = f'{sys.executable} -m generator {verb} {closed}; echo "code $?" >&9'
    done = subprocess.run(
        ["bash", "-c", f"exec 9>&1; {{ {command}; }} >/dev/null"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout in {f"code {code}\n" for code in range(3)}
    assert "Traceback" not in done.stderr
