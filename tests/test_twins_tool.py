"""The tool that runs tests on twins: all of them are in its groups, and what has no time is told."""

import runpy
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from reference import ROOT

TOOL = ROOT / "tools" / "twins.py"


@pytest.fixture
def twins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the tool's names, with tests of its own: one file for each group."""
    found = runpy.run_path(str(TOOL))
    real = tmp_path / "tests" / "real"
    real.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['twin: of twins']\n")
    globals_of: dict[str, Any] = found["main"].__globals__
    monkeypatch.setitem(globals_of, "ROOT", tmp_path)
    monkeypatch.setitem(globals_of, "OVERRUN", 0.0)
    monkeypatch.setitem(globals_of, "AGAIN", 0.0)
    return globals_of


def write(root: Path, name: str, body: str) -> None:
    text = f"import os, pathlib, time, pytest\n\n@pytest.mark.twin\ndef test_it() -> None:\n    {body}\n"
    (root / "tests" / "real" / f"{name}.py").write_text(text)


def run(twins: dict[str, Any], seconds: float = float("inf"), **groups: int) -> int:
    twins["GROUPS"] = tuple(twins["Group"](each, (name,)) for name, each in groups.items())
    code: int = twins["main"](seconds)
    return code


def test_every_file_of_twins_is_in_one_group() -> None:
    """Or all that it has is in several: the whole installations, a cluster each."""
    marked = {path.stem for path in (ROOT / "tests").rglob("test_*.py") if "pytest.mark.twin\n" in path.read_text()}
    groups = runpy.run_path(str(TOOL))["GROUPS"]
    named = [name for group in groups if not group.only for name in group.files]
    parts = [(*group.files, group.only) for group in groups if group.only]
    assert sorted(parts) == sorted(("test_whole", one.name) for one in (ROOT / "clusters").iterdir())
    assert sorted([*named, "test_whole"]) == sorted(marked)


def test_a_part_of_a_file_runs_alone(tmp_path: Path, twins: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "test_parts", "pass\n\n@pytest.mark.twin\ndef test_other() -> None:\n    assert False")
    twins["GROUPS"] = (twins["Group"](1, ("test_parts",), only="test_it"),)
    assert twins["main"](float("inf")) == 0
    assert "twins: test_parts test_it took" in capsys.readouterr().out


def test_a_fault_fails_twice_and_a_hitch_does_not(
    tmp_path: Path, twins: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "test_good", "pass")
    write(tmp_path, "test_hitch", "p = pathlib.Path('met'); met = p.exists(); p.touch(); assert met")
    assert run(twins, test_good=1, test_hitch=1) == 0
    assert "FAILED: " not in capsys.readouterr().out.replace("FAILED tests", "")
    write(tmp_path, "test_fault", "assert not 'good'")
    assert run(twins, test_good=1, test_fault=1) == 1
    assert "twins: FAILED: test_fault\n" in capsys.readouterr().out


def test_what_judges_the_others_of_its_file_is_tried_again_with_them(tmp_path: Path, twins: dict[str, Any]) -> None:
    write(tmp_path, "test_ordered", "DID.append(1)")
    file = tmp_path / "tests/real/test_ordered.py"
    last = "p = pathlib.Path('met'); met = p.exists(); p.touch(); assert DID and met"
    file.write_text(f"DID = []\n{file.read_text()}\n@pytest.mark.twin\ndef test_last() -> None:\n    {last}\n")
    assert run(twins, 100, test_ordered=101) == 0, "is left out"
    assert not (tmp_path / "met").exists()
    assert run(twins, test_ordered=1) == 0


def test_what_does_not_fit_is_left_out_and_told(
    tmp_path: Path, twins: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("test_long", "test_short"):
        write(tmp_path, name, "pass")
    assert run(twins, 600, test_long=601, test_short=5) == 0
    said = capsys.readouterr().out
    assert "1 passed" in said
    assert said.splitlines()[-1] == "twins: LEFT OUT, no time is left for it: test_long"


def test_what_one_commit_has_no_time_for_comes_first_at_another(twins: dict[str, Any]) -> None:
    groups = [twins["Group"](1, (name,)) for name in "abcd"]
    firsts = [twins["in_turn"](groups, number)[0].name for number in range(8, 12)]
    assert firsts == ["a", "b", "c", "d"]
    assert [one.name for one in twins["in_turn"](groups, 6)] == ["c", "d", "a", "b"]


def test_what_needs_much_of_a_machine_is_begun_by_none_of_the_first(twins: dict[str, Any]) -> None:
    """One of it has its turn after them; two would take the time of all others."""
    groups = [twins["Group"](1, (name,), late=name in "ef") for name in "abcdefgh"]
    turns = [twins["in_turn"](groups, number) for number in range(len(groups))]
    assert [turn[4].name for turn in turns] == [*"efefefef"]
    assert [turn[-1].name for turn in turns] == [*"fefefefe"]
    assert all(sorted(turn) == sorted(groups) for turn in turns)


def test_what_overruns_is_ended_by_an_interrupt(tmp_path: Path, twins: dict[str, Any]) -> None:
    mark = tmp_path / "torn-down"
    script = f"""
import pathlib, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("ready", flush=True)
    time.sleep(300)
finally:
    pathlib.Path("{mark}").touch()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        process.stdout.readline()
        assert twins["_ended"](process, twins["Clock"](0.0)) is None
    assert mark.exists()


OTHER = """
until [ "$(ls -- *.begun 2>/dev/null | wc -l)" -ge 1 ]; do sleep 0.1; done
sleep 3
ls -- *.begun | wc -l >begun-beside
"""


def test_one_runs_at_a_time_beside_other_tests(tmp_path: Path, twins: dict[str, Any]) -> None:
    ended = "while not pathlib.Path('begun-beside').exists(): time.sleep(0.1)"
    names = [f"test_{number}" for number in range(3)]
    for name in names:
        write(tmp_path, name, f"pathlib.Path('{name}.begun').touch()\n    {ended}")
    twins["GROUPS"] = tuple(twins["Group"](1, (name,)) for name in names)
    with subprocess.Popen(["sh", "-c", OTHER], cwd=tmp_path) as other:
        Thread(target=other.wait).start()
        assert twins["main"](60.0, other.pid) == 0
    assert (tmp_path / "begun-beside").read_text().strip() == "1"
    assert len([*tmp_path.glob("*.begun")]) == 3


def test_a_file_without_tests_is_a_failure(tmp_path: Path, twins: dict[str, Any]) -> None:
    (tmp_path / "tests" / "real" / "test_none.py").write_text("")
    assert run(twins, test_none=1) == 1
