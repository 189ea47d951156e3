"""Manifests as people bring them: each file below `tests/wrong/brought/` is wrong in the one way that its first lines
say, and mended as they say; those in `right/` in none.
"""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from reference import ROOT

from generator.repository.cluster_files import load
from generator.rules.judging import Judged, Judges, brought, built_around, judge_brought
from generator.rules.waivers import Codes
from tools import need_kustomize

FOLDER = ROOT / "tests/wrong/brought"
FILES = sorted(FOLDER.rglob("*.yaml"))


def expected(file: Path) -> list[str]:
    return re.findall(r"^# (?:expect|fix): (.*)$", file.read_text(), re.MULTILINE)


def told(one: Judged) -> Iterator[str]:
    for each in sorted(one.found, key=lambda found: found.at):
        about = f"{each.finding.about}: " if each.finding.about else ""
        yield f"{each.finding.code} {each.at.line}:{each.at.column} {about}{each.finding.message}"
        # What YAML does not let read says what is wrong, and no more.
        if each.finding.fix:
            yield each.finding.fix


def test_files_are_wrong_in_the_way_that_they_say() -> None:
    """As team vision of ml50 brings them, each by itself. One test, as the cluster around them is built once."""
    need_kustomize()
    codes = Codes(explained={}, waivable=frozenset(), looked_for=frozenset())
    judges = Judges(rules=True, server=None, schemas=(), codes=codes, today=date(2026, 1, 1))
    (whole,) = load(ROOT, ["ml50"])
    assert whole.cluster
    around = built_around(ROOT, whole.cluster, judges)
    judged = {file: judge_brought(brought(file, "vision"), around, judges) for file in FILES}
    assert {file.name: [*told(one)] for file, one in judged.items()} == {file.name: expected(file) for file in FILES}
    assert all(bool(one.found) == (file.parent == FOLDER) for file, one in judged.items())
    without = {file.name for file, one in judged.items() for each in one.findings if not each.fix}
    assert without == {"key-twice.yaml"}
