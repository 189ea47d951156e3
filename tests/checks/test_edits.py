"""Fixes that are changes of the file: made, they end their finding and bring no other."""

import re
from collections import Counter
from pathlib import Path

import pytest

from generator.layout.emit import emit
from generator.model.finding import Finding, Position
from generator.repository.cluster_files import Loaded, examine
from generator.spec.document import BESIDE_SPEC
from generator.spec.reader import read
from generator.spec.repair import edited

FILES = Path(__file__).parent.parent / "wrong"
WRONG = sorted([*(FILES / "rules").glob("*.yaml"), *(FILES / "schema").glob("*.yaml")])
# Words that read as a change of the file.
READS_AS_EDIT = re.compile(
    r"[a-z]\w*: (?!\.\.\.|https://<)\S|did you mean|remove (`\w+`|one|it)\b|\S+ (is|would be) (free|one)$"
    r"|write (`\S+`|\S+)( or (more|less))?$|write .*, without quotes$|keep \w+$"
)


def loaded(file: Path) -> Loaded:
    value = read(file.read_bytes(), "f").value
    name = value.get("metadata", {}).get("name", "") if isinstance(value.get("metadata"), dict) else ""
    return examine(file.read_bytes(), "f", name)


def told(one: Loaded) -> Counter[tuple[str, str]]:
    return Counter((each.code, each.message) for each in one.findings)


def after(one: Loaded, *findings: Finding) -> Loaded:
    # Those further down first: what is taken out of a list moves what follows.
    edits = [edit for finding in reversed(findings) for edit in finding.edits]
    value = edited(one.document.value, edits)
    return examine(emit(value).encode(), "f", value.get("metadata", {}).get("name", ""))


CASES = [(file, number) for file in WRONG for number, each in enumerate(loaded(file).findings) if each.edits]


@pytest.mark.parametrize(("file", "number"), CASES, ids=lambda each: each.stem if isinstance(each, Path) else str(each))
def test_a_fix_that_is_an_edit_ends_its_finding_and_brings_no_other(file: Path, number: int) -> None:
    one = loaded(file)
    mended = after(one, one.findings[number])
    before, now = told(one), told(mended)
    assert mended.document.findings == ()
    assert now[key(one.findings[number])] < before[key(one.findings[number])]
    assert now.total() < before.total(), now - before


def key(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.message


@pytest.mark.parametrize("file", sorted({file for file, _ in CASES}), ids=lambda file: file.stem)
def test_all_edits_of_a_file_together_end_all_their_findings(file: Path) -> None:
    one = loaded(file)
    mendable = [each for each in one.findings if each.edits]
    assert told(after(one, *mendable)).total() == len(one.findings) - len(mendable)


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_a_fix_that_reads_as_an_edit_is_one(file: Path) -> None:
    for finding in loaded(file).findings:
        if READS_AS_EDIT.match(finding.fix) and not isinstance(finding.at, Position):
            assert finding.edits, finding.fix


def test_paths_of_edits_begin_as_those_of_findings_do() -> None:
    for file, number in CASES:
        for edit in loaded(file).findings[number].edits:
            assert edit.at[0] != "spec"
            assert edit.at[0] in BESIDE_SPEC or edit.at[0]


@pytest.mark.parametrize(
    ("file", "mirror"), [("api", "a.lab.example.org/docker"), ("api-plain", "a.lab.example.org:5000")]
)
def test_where_a_registrys_api_begins_is_taken_out_of_a_mirror(file: str, mirror: str) -> None:
    one = loaded(FILES / "rules" / f"GEN-SITE-015-{file}.yaml")
    assert after(one, *one.findings).document.value["spec"]["site"]["mirrors"][0]["mirror"] == mirror
