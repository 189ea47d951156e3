"""Manifests as people bring them: each file below `tests/wrong/brought/` is wrong in the one way that its first lines
say, and mended as they say; those in `right/` in none.
"""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
import yaml
from documented import of_operators
from reference import ROOT

from generator.build.objects import Built
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


CODES = Codes(explained={}, waivable=frozenset(), looked_for=frozenset())
JUDGES = Judges(rules=True, server=None, schemas=(), codes=CODES, today=date(2026, 1, 1))


@pytest.fixture(scope="module")
def around() -> Built:
    """Return ml50 as it is built, once for all."""
    need_kustomize()
    (whole,) = load(ROOT, ["ml50"])
    assert whole.cluster
    return built_around(ROOT, whole.cluster, JUDGES)


def test_files_are_wrong_in_the_way_that_they_say(around: Built) -> None:
    """As team vision of ml50 brings them, each by itself."""
    judged = {file: judge_brought(brought(file, "vision"), around, JUDGES) for file in FILES}
    assert {file.name: [*told(one)] for file, one in judged.items()} == {file.name: expected(file) for file in FILES}
    assert all(bool(one.found) == (file.parent == FOLDER) for file, one in judged.items())
    without = {file.name for file, one in judged.items() for each in one.findings if not each.fix}
    assert without == {"key-twice.yaml"}


def test_nothing_is_wrong_in_what_teams_are_told_to_write_for_operators(around: Built, tmp_path: Path) -> None:
    """But for definitions that `gen vendor` brings."""
    assert of_operators().keys() == {"TrainJob", "JobSet", "TFJob"}
    for kind, manifest in of_operators().items():
        file = tmp_path / f"{kind}.yaml"
        file.write_text(yaml.safe_dump(manifest))
        found = judge_brought(brought(file, "vision"), around, JUDGES).found
        assert [one.finding.code for one in found] == ["GEN-API-004"], kind
