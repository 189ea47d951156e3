"""One mistake hides no other: what is not wrong is judged all the same."""

import re
from pathlib import Path
from typing import Any

import pytest
from reference import ROOT

from generator.cli import run
from generator.layout.emit import emit
from generator.repository.cluster_files import examine
from generator.spec.reader import read

MINIMAL = (Path(__file__).parent.parent / "wrong" / "valid" / "minimal.yaml").read_text()

MANY = """\
apiVersion: gen/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  repository: {url: https://git.lab.example.org/clusters.git}
  site: {domain: lab.example.org, timezone: KST}
  kubernetes:
    version: 1.35
    endpoint: {address: "10.10.0.10:6443", by: kube-vip}
    podCIDR: 10.10.0.0/16
    serviceCIDR: 10.96.0.0/33
    maxPods: 9000
  networks:
    cni: cilium
    node: {cidr: 10.10.0.0/24, interfac: eno1}
  pools:
    system: {role: control-plane, hardware: {cpu: 16, memory: 64Gi}}
    cpu: {hardware: {cpu: 32.5, memory: 128Gi}}
  nodes:
    - {name: cp-1, pool: system, address: 10.10.0.11}
    - {name: cp-2, pool: system, address: 10.10.0.12}
    - {name: cp-3, pool: system}
    - {name: cpu-1, pool: cpus, address: 10.10.9.21}
    - cpu-2
  teams:
    - {name: kube-x, quotas: {cpu: {cpus: 1000}}}
"""


def found(text: str) -> list[str]:
    loaded = examine(text.encode(), "f", "lab")
    assert loaded.cluster is None
    placed = [(loaded.document.locate(each)[0], each.code) for each in loaded.findings]
    return [f"{at.line}:{at.column} {code}" for at, code in placed]


def test_mistakes_of_form_and_of_meaning_are_told_together_and_nothing_beside() -> None:
    assert found(MANY) == [
        "6:45 GEN-SITE-017",
        "8:14 GEN-SCHEMA-003",
        "10:14 GEN-NET-004",
        "11:18 GEN-SCHEMA-005",
        "12:14 GEN-SCHEMA-007",
        "15:32 GEN-SCHEMA-001",
        "18:27 GEN-SCHEMA-003",
        "22:7 GEN-SCHEMA-002",
        "23:27 GEN-NODE-008",
        "23:42 GEN-NODE-003",
        "24:7 GEN-SCHEMA-003",
        "26:14 GEN-TEAM-021",
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("    podCIDR: 10.244.0.0/16\n", "", "GEN-SCHEMA-002"),
        ("interface: eno1", "interface: [eno1, eno2]", "GEN-SCHEMA-003"),
        ("address: 10.10.0.11", "address: 10.10.0.1111", "GEN-SCHEMA-005"),
        ("{name: cp-3, pool: system, address: 10.10.0.13}", "", "GEN-SCHEMA-003"),
        ("role: control-plane", "rol: control-plane", "GEN-SCHEMA-001"),
        ("  networks:\n", "  network:\n", "GEN-SCHEMA-001"),
        ("metadata: {name: lab}", "metadata: {name: Lab_1}", "GEN-SCHEMA-006"),
    ],
)
def test_a_mistake_of_form_brings_no_finding_of_meaning(right: str, wrong: str, code: str) -> None:
    assert right in MINIMAL
    one = found(MINIMAL.replace(right, wrong))
    assert [each.split()[1] for each in one] == [code]


@pytest.mark.parametrize(
    ("right", "wrong", "codes"),
    [
        ("name: lab", "name: *name", ["GEN-YAML-010"]),
        ("address: 10.10.0.21", "address: *address", ["GEN-YAML-010"]),
        ("domain: lab.example.org", "domain: lab.example.org, timezone: *zone", ["GEN-YAML-010"]),
        ("{name: cp-3, pool: system, ", "{<<: *node, ", ["GEN-YAML-012", "GEN-YAML-010"]),
    ],
)
def test_what_an_alias_stands_for_is_not_missing(right: str, wrong: str, codes: list[str]) -> None:
    assert right in MINIMAL
    assert [each.split()[1] for each in found(MINIMAL.replace(right, wrong))] == codes


@pytest.mark.parametrize(
    "wrong",
    [
        *({"nodes": "x"}, {"nodes": None}, {"nodes": {}}),
        *({"teams": "x"}, {"storage": "x"}, {"fabric": "x"}, {"gpus": "x"}),
        {"pools.cpu.hardware": "x"},
    ],
)
def test_what_rests_on_a_section_that_cannot_be_read_waits(wrong: dict[str, Any]) -> None:
    value = read((ROOT / "clusters/ml50/cluster.yaml").read_bytes(), "f").value
    ((place, instead),) = wrong.items()
    *way, last = place.split(".")
    holder = value["spec"]
    for step in way:
        holder = holder[step]
    holder[last] = instead
    codes = [each.code for each in examine(emit(value).encode(), "f", "ml50").findings]
    assert codes == ["GEN-SCHEMA-003"]


@pytest.mark.parametrize(
    "text", ["spec: 3\n", "spec: []\nkind: {}\n", "x: 1\n", MINIMAL.replace("  nodes:", "  nodes: 3\n  x:")]
)
def test_a_file_that_is_wrong_all_over_is_only_told_so(text: str) -> None:
    assert all(each.split()[1].startswith("GEN-SCHEMA") for each in found(text))


BROKEN = """\
apiVersion: gen/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  site: {domain: lab.example.org
  kubernetes:
    version: 1.35
\tpodCIDR: 10.244.0.0/16
  networks:
    cni: cillium
    node: {cidr: 10.10.0.0/24, interface: eno1}
  nodes:
    - {name: cp-1, pool: system, address: 10.10.0.11}
    - {name: cp-2, pool: system, address: 10.10.0.12
    - {name: cp-3, pool: system, address: "10.10.0.13}
    - {name: cp-4, pool: system, pool: cpu, address: 10.10.0.14}
    - {name: cp-5, pool: system, address: *address}
"""


def test_what_is_wrong_as_yaml_is_told_together_with_mistakes_of_what_can_be_read() -> None:
    assert found(BROKEN) == [
        "5:9 GEN-YAML-015",
        "7:14 GEN-SCHEMA-003",
        "8:1 GEN-YAML-014",
        "10:10 GEN-SCHEMA-004",
        "14:7 GEN-YAML-015",
        "15:43 GEN-YAML-016",
        "16:34 GEN-YAML-008",
        "17:43 GEN-YAML-010",
    ]


@pytest.mark.parametrize("tab", ["\t", "  \t", "\t  "])
@pytest.mark.parametrize("number", range(4, len(MINIMAL.splitlines())))
def test_a_tab_before_a_line_brings_nothing_but_itself(number: int, tab: str) -> None:
    """What is below the line is not taken for part of what is above it."""
    lines = MINIMAL.splitlines(keepends=True)
    lines[number] = tab + lines[number].lstrip()
    (one,) = found("".join(lines))
    assert one.split()[0].partition(":")[0] == str(number + 1)
    assert one.split()[1] == "GEN-YAML-014"


ML50 = (ROOT / "clusters/ml50/cluster.yaml").read_text()
TYPO = ML50.replace("        gpu-inference: {gpus: 24", "        gpu-infrence: {gpus: 24")
ZONE = "    timezone: "


def codes(text: str) -> tuple[list[str], int]:
    loaded = examine(text.encode(), "f", "ml50")
    assert loaded.cluster is None
    return [each.code for each in loaded.findings], loaded.held


@pytest.mark.parametrize("key", ["foo: 1", "foo: x_y", "ntpp: true"])
def test_a_key_that_is_only_too_much_holds_nothing_back(key: str) -> None:
    assert TYPO != ML50
    assert codes(TYPO.replace(ZONE, f"    {key}\n{ZONE}")) == (["GEN-SCHEMA-001", "GEN-TEAM-001"], 0)


def test_a_key_that_fits_nowhere_is_told_where_both_sections_are_right() -> None:
    """A wrong value of another section is filled in, and no key of a quota or a pool depends on it."""
    assert codes(TYPO.replace("podCIDR: 10.", "podCIDR: 10.x"))[0] == ["GEN-SCHEMA-005", "GEN-TEAM-001"]


def test_what_may_come_of_a_mistake_waits_and_is_counted() -> None:
    """The storage network is not missing: it is there under another name, with a mistake."""
    told, held = codes(ML50.replace("    storage: {cidr:", "    qqzzy: {cidr:"))
    assert told == ["GEN-SCHEMA-001"]  # and not that nodes have addresses in a network that is not there
    assert held > 0


def test_what_would_be_mended_inside_a_mistake_waits() -> None:
    """Its fix could not be made: there is no section to write it into."""
    teams = "  teams:\n    - {name: vision, department: research, quotas: {cpu: {cpus: 1, memory: 1Gi}}}\n"
    told, held = codes(f"{MINIMAL}  scheduling: {{departments: ml}}\n{teams}")
    assert told == ["GEN-SCHEMA-003"]
    assert held > 0


def test_a_check_says_how_many_wait(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cluster.yaml"
    for text, words in ((ML50.replace("    storage: {cidr:", "    qqzzy: {cidr:"), True), (f"{ML50}  foo: 1\n", False)):
        file.write_text(text)
        assert run(["check", str(file)]) == 1
        assert bool(re.search(r" of rules waits? until these are settled\n", capsys.readouterr().out)) == words
