"""Manifests as people bring them: each file below `tests/wrong/brought/` is wrong in the one way that its first lines
say, and mended as they say; those in `right/` in none. They are of team vision of ml50, unless they say `# to: CLUSTER
TEAM`.
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


def place(file: Path) -> tuple[str, str]:
    """Return the cluster and the team that a file is brought to."""
    said = re.search(r"^# to: (\S+) (\S+)$", file.read_text(), re.MULTILINE)
    return (said[1], said[2]) if said else ("ml50", "vision")


PLACES = {file: place(file) for file in FILES}


@pytest.fixture(scope="module")
def around() -> dict[str, Built]:
    """Return clusters as they are built, once for all."""
    need_kustomize()
    found = {}
    for whole in load(ROOT, sorted({name for name, _ in PLACES.values()})):
        assert whole.cluster
        found[whole.cluster.name] = built_around(ROOT, whole.cluster, JUDGES)
    return found


def test_files_are_wrong_in_the_way_that_they_say(around: dict[str, Built]) -> None:
    """Each by itself."""
    judged = {file: judge_brought(brought(file, team), around[name], JUDGES) for file, (name, team) in PLACES.items()}
    assert {file.name: [*told(one)] for file, one in judged.items()} == {file.name: expected(file) for file in FILES}
    assert all(bool(one.found) == (file.parent == FOLDER) for file, one in judged.items())
    without = {file.name for file, one in judged.items() for each in one.findings if not each.fix}
    assert without == {"key-twice.yaml"}


def test_nothing_is_wrong_in_what_teams_are_told_to_write_for_operators(
    around: dict[str, Built], tmp_path: Path
) -> None:
    """But for definitions that `gen vendor` brings."""
    assert of_operators().keys() == {"TrainJob", "JobSet", "TFJob"}
    for kind, manifest in of_operators().items():
        file = tmp_path / f"{kind}.yaml"
        file.write_text(yaml.safe_dump(manifest))
        found = judge_brought(brought(file, "vision"), around["ml50"], JUDGES).found
        assert [one.finding.code for one in found] == ["GEN-API-004"], kind
