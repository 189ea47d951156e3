"""Cluster files that are wrong in one way, each with the findings it must have; and files that are right."""

from pathlib import Path

import pytest

from generator.checks import RULES, check
from generator.layout.tree import lay_out
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Position
from generator.spec.decode import decode
from generator.spec.document import Document
from generator.spec.reader import read

FILES = Path(__file__).parent.parent / "wrong"
WRONG = sorted((FILES / "rules").glob("*.yaml"))
VALID = sorted((FILES / "valid").glob("*.yaml"))
MARK = "# expect: "


def findings(file: Path) -> tuple[Document, list[Finding]]:
    document = read(file.read_bytes(), file.name)
    assert not document.findings
    cluster = decode(document)
    assert isinstance(cluster, Cluster), cluster
    return document, check(cluster)


def expected(file: Path) -> list[str]:
    return [line.removeprefix(MARK) for line in file.read_text().splitlines() if line.startswith(MARK)]


def written(finding: Finding, at: Position) -> str:
    return f"{finding.code} {at.line}:{at.column}"


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_a_wrong_file_has_exactly_the_findings_it_names(file: Path) -> None:
    document, found = findings(file)
    assert sorted(written(each, document.locate(each)[0]) for each in found) == sorted(expected(file))


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_a_wrong_file_is_wrong_in_the_way_it_is_named_for(file: Path) -> None:
    _, found = findings(file)
    assert {each.code for each in found} == {"-".join(file.stem.split("-")[:3])}


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_a_finding_shows_text_says_what_and_how_to_mend_it(file: Path) -> None:
    document, found = findings(file)
    for finding in found:
        at, also = document.locate(finding)
        assert at.end > at.column
        assert also != at
        assert also is None or also.end > also.column
        assert finding.fix
        assert not finding.fix.endswith(".")
        assert not finding.message.endswith(".")
        assert "None" not in finding.message + finding.fix


@pytest.mark.parametrize("file", VALID, ids=lambda file: file.stem)
def test_a_right_file_has_no_findings(file: Path) -> None:
    _, found = findings(file)
    assert found == []


@pytest.mark.parametrize("file", VALID, ids=lambda file: file.stem)
def test_a_right_file_is_laid_out(file: Path) -> None:
    cluster = decode(read(file.read_bytes(), file.name))
    assert isinstance(cluster, Cluster)
    assert lay_out(cluster).files


def test_every_rule_has_a_wrong_file() -> None:
    proven = {line.split()[0] for file in WRONG for line in expected(file)}
    assert sorted(set(RULES) - proven) == []
