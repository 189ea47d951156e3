"""Fixes that are changes of the file: made, they end their finding and bring no other."""

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from generator.layout.emit import emit
from generator.model.cluster import Spec
from generator.model.finding import Edit, Finding, Position
from generator.model.finding import Path as Steps
from generator.repository.cluster_files import Loaded, examine
from generator.spec.document import BESIDE_SPEC, from_the_top
from generator.spec.reader import read
from generator.spec.repair import edited

FILES = Path(__file__).parent.parent / "wrong"
WRONG = sorted([*(FILES / "rules").glob("*.yaml"), *(FILES / "schema").glob("*.yaml")])
# Words that read as a change of the file.
READS_AS_EDIT = re.compile(
    r"[a-z]\w*: (?!\.\.\.|https://<)\S|did you mean|remove (`\w+`|one|it)\b|\S+ (is|would be) (free|one)$"
    r"|write (`\S+`|\S+)( or (more|less))?$|write .*, without quotes$|keep \w+$"
)


@cache
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


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_each_fix_that_is_an_edit_ends_its_finding_and_brings_no_other(file: Path) -> None:
    one = loaded(file)
    before = told(one)
    for finding in mendable(one):
        mended = after(one, finding)
        now = told(mended)
        assert mended.document.findings == ()
        assert now[key(finding)] < before[key(finding)]
        assert now.total() < before.total(), now - before


def mendable(one: Loaded) -> list[Finding]:
    return [each for each in one.findings if each.edits]


def key(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.message


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_all_edits_of_a_file_together_end_all_their_findings(file: Path) -> None:
    one = loaded(file)
    if edits := mendable(one):
        assert told(after(one, *edits)).total() == len(one.findings) - len(edits)


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_a_fix_that_reads_as_an_edit_is_one(file: Path) -> None:
    for finding in loaded(file).findings:
        if READS_AS_EDIT.match(finding.fix) and not isinstance(finding.at, Position):
            assert finding.edits, finding.fix


def test_a_node_that_takes_the_endpoints_address_is_moved_and_not_the_endpoint() -> None:
    (finding,) = loaded(FILES / "rules/GEN-K8S-005.yaml").findings
    assert finding.edits == (Edit("put", ("nodes", 3, "address"), "10.10.0.14"),)


def test_the_port_that_is_offered_is_on_the_leaf_of_the_rail() -> None:
    (finding,) = loaded(FILES / "rules/GEN-FAB-009-rail.yaml").findings
    assert finding.edits == (Edit("put", ("nodes", 7, "fabric", "mlx5_0"), "ib-leaf-1/4"),)


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_paths_of_edits_begin_as_those_of_findings_do(file: Path) -> None:
    assert {edit.at[0] for edit in edits_of(file)} <= {*BESIDE_SPEC, *Spec.__struct_encode_fields__}


def test_no_key_is_renamed_onto_another_one() -> None:
    renames = {file: [edit for edit in edits_of(file) if edit.do == "rename"] for file in WRONG}
    assert sum(map(len, renames.values())) > 5
    for file, edits in renames.items():
        wanted = [(*edit.at[:-1], edit.value) for edit in edits]
        assert [at for at in wanted if stands(loaded(file).document.value, from_the_top(at))] == []
        assert len(set(wanted)) == len(wanted)


def stands(value: Any, at: Steps) -> bool:
    for step in at[:-1]:
        value = value[step]
    return at[-1] in value


def edits_of(file: Path) -> list[Edit]:
    return [edit for each in loaded(file).findings for edit in each.edits]


def test_a_taint_under_another_name_keeps_its_value() -> None:
    (edit,) = edits_of(FILES / "rules" / "GEN-NODE-022-value.yaml")
    assert edit.value == "lab.example.org/kind=batch:PreferNoSchedule"


def test_no_port_is_offered_twice() -> None:
    offered = [edit.value for edit in edits_of(FILES / "rules" / "GEN-FAB-006-two.yaml")]
    assert offered == ["ib-leaf-1/4", "ib-leaf-1/2"]


def test_no_address_is_offered_where_none_is_free() -> None:
    (one,) = loaded(FILES / "rules" / "GEN-K8S-007-none.yaml").findings
    assert one.fix == "a load balancer's address"


UNDECIDED = (
    "GEN-SITE-015",
    "GEN-NET-026-twice",
    "GEN-NET-026-unused",
    "GEN-DISK-003-other",
    "GEN-K8S-011-own",
    "GEN-K8S-024",
    "GEN-NODE-031-unknown",
    "GEN-NODE-033-node",
)


@pytest.mark.parametrize("name", UNDECIDED)
def test_no_edit_takes_away_what_only_its_writer_can_judge(name: str) -> None:
    assert edits_of(FILES / "rules" / f"{name}.yaml") == []


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("rules/GEN-K8S-021-taken", ["cert-manager"]),
        ("rules/GEN-K8S-021-two", ["cilium"]),
        ("rules/GEN-SITE-011-two", ["web.lab.example.org"]),
        ("rules/GEN-TEAM-021-taken", []),
        ("rules/GEN-BKP-018-two", ["a-name-that-is-longer-than-the-controller-tak"]),
        ("schema/GEN-SCHEMA-008-taken", ["cpu"]),
    ],
)
def test_a_name_is_offered_once_and_only_where_it_is_free(name: str, offered: list[str]) -> None:
    assert [edit.value for edit in edits_of(FILES / f"{name}.yaml")] == offered


def test_an_address_over_tls_keeps_its_path() -> None:
    (edit,) = edits_of(FILES / "rules" / "GEN-SITE-004-path.yaml")
    assert edit.value == "https://watch.example.org/ping/@lab/all"


@pytest.mark.parametrize(
    ("file", "mirror"), [("api", "a.lab.example.org/docker"), ("api-plain", "a.lab.example.org:5000")]
)
def test_where_a_registrys_api_begins_is_taken_out_of_a_mirror(file: str, mirror: str) -> None:
    one = loaded(FILES / "rules" / f"GEN-SITE-015-{file}.yaml")
    assert after(one, *one.findings).document.value["spec"]["site"]["mirrors"][0]["mirror"] == mirror
