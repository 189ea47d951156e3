"""Scripts are written so that they can be run, and stay so."""

import os
from pathlib import Path

import pytest

from generator.layout.lock import Writer
from generator.repository.hand_edits import Verdict, hand_edits
from generator.repository.plan import Owned, plan
from generator.repository.write_lock import exclusive
from generator.repository.writer import write

OWNED = Owned(folders=("base",))
TREE = {"base/run.sh": b"#!/bin/sh\nexit 7\n", "base/notes.md": b"notes\n"}


def rendered(root: Path, tree: dict[str, bytes]) -> list[str]:
    with exclusive(root, print) as held:
        found = plan(held.root, tree, {}, OWNED)
        if all(change.old == change.new for change in found.changes):
            assert hand_edits(held.root, found, lambda _at, _name: None, writer=Writer("1")) == Verdict()
        write(held, found)
    return [change.path for change in found.changes]


def mode(root: Path, path: str) -> int:
    return (root / path).stat().st_mode & 0o777


@pytest.mark.parametrize(("mask", "script", "notes"), [(0o022, 0o755, 0o644), (0o077, 0o700, 0o600)])
def test_a_new_script_may_be_run_by_who_may_read_it(tmp_path: Path, mask: int, script: int, notes: int) -> None:
    before = os.umask(mask)
    try:
        rendered(tmp_path, TREE)
    finally:
        os.umask(before)
    assert (mode(tmp_path, "base/run.sh"), mode(tmp_path, "base/notes.md")) == (script, notes)


def test_a_lost_run_bit_comes_back_and_is_no_edit_of_a_person(tmp_path: Path) -> None:
    rendered(tmp_path, TREE)
    (tmp_path / "base/run.sh").chmod(0o640)
    assert rendered(tmp_path, TREE) == ["base/run.sh"]
    assert mode(tmp_path, "base/run.sh") == 0o750
    assert (tmp_path / "base/run.sh").read_bytes() == TREE["base/run.sh"]
    assert rendered(tmp_path, TREE) == []


def test_a_changed_script_keeps_its_run_bit(tmp_path: Path) -> None:
    rendered(tmp_path, TREE)
    (tmp_path / "base/run.sh").chmod(0o711)
    assert rendered(tmp_path, {**TREE, "base/run.sh": b"#!/bin/sh\nexit 8\n"}) == ["base/run.sh"]
    assert mode(tmp_path, "base/run.sh") == 0o711
