"""`gen vendor`: what it tells without a program or a server."""

import pytest
from reference import ROOT

from generator.cli import run


def test_what_is_not_locked_is_told_in_one_order(capsys: pytest.CaptureFixture[str]) -> None:
    run(["vendor", "--check", "--cluster", "ml50", "-C", str(ROOT), "snapshot-controller"])
    told = [line.split()[1] for line in capsys.readouterr().err.splitlines() if "is not in gen.lock yet" in line]
    assert len(told) > 5
    assert told == sorted(told)
