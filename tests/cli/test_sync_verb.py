"""What `gen sync` prints while it works, for a terminal and for a log."""

import pytest

from generator.cli.sync import _Shower
from generator.live.sync.arrival import Stage
from generator.live.sync.progress import Progress


def told(capsys: pytest.CaptureFixture[str], *, watched: bool) -> list[str]:
    show = _Shower(watched=watched)
    one = Progress(name="root", wave=0, old="a" * 40)
    for stage, said, confirmed in (
        (Stage.BEGIN, "", ""),
        (Stage.WAIT, "its operation begins", ""),
        (Stage.WAIT, "waiting for a", ""),
        (Stage.WAIT, "waiting for a", ""),
        (Stage.CONFIRM, "waiting for pruning confirmation", ""),
        (Stage.WAIT, "confirmed: old", "now"),
        (Stage.WAIT, "confirmed: old", "now"),
        (Stage.DONE, "", "now"),
    ):
        one.stage, one.said, one.confirmed = stage, said, confirmed
        show(one)
    return [line[10:] for line in capsys.readouterr().err.splitlines()]


def test_a_log_has_a_line_for_each_stage_and_for_what_was_confirmed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.split("root", 1)[1].strip() for line in told(capsys, watched=False)]
    assert lines == [
        "to be synced",
        "under way: its operation begins",
        "waits for a confirmation: waiting for pruning confirmation",
        "under way: confirmed: old",
        "done",
    ]


def test_a_terminal_sees_each_reason_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, watched=True)
    assert sum("waiting for a" in line for line in lines) == 1
    assert len(lines) == 6
