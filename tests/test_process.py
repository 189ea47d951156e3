"""Programs as they really end."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter, sleep

import pytest

from generator import process
from generator.errors import CommandError, UsageError
from generator.process import halt, run

ECHO = [sys.executable, "-c", "import os, sys; print(os.getcwd(), os.environ.get('WORD'), repr(sys.stdin.read()))"]


def test_a_program_reads_what_it_is_given_and_then_the_end() -> None:
    assert run(["cat"], stdin="one\ntwo") == "one\ntwo"
    assert run(["cat"]) == ""


def test_a_program_that_ends_well_gives_its_output() -> None:
    assert run(["echo", "ü"]) == "ü\n"
    assert run(["true"]) == ""


def test_a_program_that_fails_is_told_with_its_status() -> None:
    with pytest.raises(CommandError, match=r"`false` ended with status 1:\n\(no output\)") as caught:
        run(["false"])
    assert (caught.value.command, caught.value.status, caught.value.output) == (["false"], 1, "")


@pytest.mark.parametrize(
    ("script", "words"),
    [("echo one >&2; echo two; exit 3", "one"), ("echo two; exit 3", "two")],
    ids=["errors", "output where there are none"],
)
def test_a_program_that_fails_is_told_in_its_own_words(script: str, words: str) -> None:
    with pytest.raises(CommandError, match="ended with status 3") as caught:
        run(["sh", "-c", script])
    assert caught.value.output == f"{words}\n"
    assert str(caught.value).endswith(words)


def test_a_program_that_is_killed_has_the_signal_as_status() -> None:
    with pytest.raises(CommandError, match="ended with status -15"):
        run(["sh", "-c", "kill -TERM $$"])


def test_a_program_that_takes_too_long_is_ended() -> None:
    began = perf_counter()
    with pytest.raises(UsageError, match=r"`sleep 60` did not end within 0\.1 seconds"):
        run(["sleep", "60"], timeout=0.1)

    with pytest.raises(UsageError, match=r"did not end within 0\.1 seconds"):
        run(["sh", "-c", "sleep 60; true"], timeout=0.1)
    assert perf_counter() - began < 30


def test_programs_in_threads_end_at_once_when_all_is_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_halted", [])
    began = perf_counter()
    with ThreadPoolExecutor() as pool:
        found = pool.submit(run, ["sleep", "60"])
        while not process._running:
            sleep(0.01)
        halt()
        with pytest.raises(CommandError, match="ended with status -15"):
            found.result()
    with pytest.raises(UsageError, match="`true` was not started: gen is asked to end"):
        run(["true"])
    assert perf_counter() - began < 30
    assert not process._running


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="`no-such-program` was not found; install it or put it on PATH"):
        run(["no-such-program", "x"])


def test_a_file_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_text("#!/bin/sh\n")
    with pytest.raises(UsageError, match=f"`{file}` could not be started: Permission denied"):
        run([str(file)])
    file.chmod(0o755)
    file.write_text("no program at all")
    with pytest.raises(UsageError, match="could not be started: Exec format error"):
        run([str(file)])


def test_a_folder_that_is_not_there_is_not_taken_for_the_program(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"`true` could not be started: there is no folder {tmp_path}/gone"):
        run(["true"], cwd=tmp_path / "gone")


def test_place_and_environment_are_those_given_and_nothing_is_read(tmp_path: Path) -> None:
    assert run(ECHO, cwd=tmp_path, env={"WORD": "x"}) == f"{tmp_path} x ''\n"


def test_output_that_is_no_text_does_not_raise() -> None:
    assert run(["printf", r"a\377b"]) == "a\ufffdb"
