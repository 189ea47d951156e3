"""Files that YAML can read and that are no cluster files: every mistake, where it stands and what to write instead."""

import json
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from generator import checks
from generator.model.cluster import Cluster
from generator.model.rule import explained
from generator.repository import cluster_files
from generator.repository.cluster_files import examine
from generator.spec import moved, syntax_codes, text_codes, value_codes
from generator.spec.decode import decode, hook
from generator.spec.limit import MOST
from generator.spec.mistakes import explain
from generator.spec.moved import API_VERSIONS, MOVED
from generator.spec.reader import read
from generator.spec.schema import FORMATS, schema

WRONG = Path(__file__).parent.parent / "wrong"
FILES = sorted((WRONG / "schema").glob("*.yaml"))
MINIMAL = (WRONG / "valid" / "minimal.yaml").read_text()
MARK = "# expect: "
OF_READER = (text_codes, syntax_codes, value_codes, moved, cluster_files)

# What no file of a sensible size can show, or no single file.
IN_MEMORY = {"GEN-YAML-004", "GEN-YAML-026", "GEN-SCHEMA-009"}

# One file, wrong all over. Line, column, code.
MANY = """\
apiVersion: v1beta
kind: Cluster
metadata: {name: Lab_1, labels: {true: x, tier: yes, level: 3}}
spec:
  repository: {url: git.example.org}
  site: {domain: lab.example.org, dns: [10.0.0.2, ~], issuer: {kind: acme}}
  kubernetes:
    version: 1.30
    endpoint: {adress: "10.10.0.10:6443", by: kube-vip}
    podCIDR: 10.244.0.0/99
    serviceCIDR: 10.96.0.1/16
    maxPods: 9000
    reserved: {memory: 8GB}
    etcd:
  networks:
    cni: cilium
    node: {cidr: 10.10.0.0/24, interface: eno1, mtu: jumbo}
    bmc: []
  pools:
    CPU: {hardware: {cpu: 32.5, memory: 1.5}}
  nodes:
    - {name: cp-1, pool: cpu, address: 10.10.0.11, fabric: {mlx5_0: 3}}
    - cp-2
    -
    - {name: cp-3, pool: cpu}
  teams: {name: vision}
"""
EXPECTED = """\
1:13 GEN-SCHEMA-004
3:18 GEN-SCHEMA-006
3:34 GEN-YAML-009
3:61 GEN-SCHEMA-003
5:21 GEN-SCHEMA-006
6:51 GEN-SCHEMA-003
6:70 GEN-SCHEMA-004
8:14 GEN-SCHEMA-003
9:16 GEN-SCHEMA-001
10:14 GEN-SCHEMA-005
11:18 GEN-SCHEMA-005
12:14 GEN-SCHEMA-007
13:24 GEN-SCHEMA-005
14:5 GEN-SCHEMA-003
17:54 GEN-SCHEMA-003
18:10 GEN-SCHEMA-003
20:5 GEN-SCHEMA-008
20:27 GEN-SCHEMA-003
20:41 GEN-SCHEMA-003
22:69 GEN-SCHEMA-003
23:7 GEN-SCHEMA-003
24:5 GEN-SCHEMA-003
25:7 GEN-SCHEMA-002
26:10 GEN-SCHEMA-003
"""


def found(text: str | bytes) -> list[str]:
    """Return place and code of every finding, as `gen check` would tell them of cluster lab."""
    loaded = examine(text.encode() if isinstance(text, str) else text, "f", "lab")
    places = [(loaded.document.locate(each)[0], each.code) for each in loaded.findings]
    return [f"{at.line}:{at.column} {code}" for at, code in places]


def told(old: str, new: str) -> tuple[str, str]:
    """Return message and fix of the one finding that a change of the minimal file makes."""
    assert MINIMAL.count(old) == 1
    (finding,) = examine(MINIMAL.replace(old, new).encode(), "f", "lab").findings
    return finding.message, finding.fix


def test_every_ipv4_network_has_a_key_for_ipv6_beside_it() -> None:
    """A fix names it."""
    for section in schema()["$defs"].values():
        keys = section.get("properties", {})
        networks = {key for key, value in keys.items() if value.get("format") == FORMATS[IPv4Network][0]}
        assert {f"{key}6" for key in networks} <= set(keys)


def test_a_text_that_became_a_comment_is_told_as_one() -> None:
    message, fix = told("podCIDR: 10.244.0.0/16", "podCIDR: #10.244.0.0/16")
    assert (message, fix) == (
        "kubernetes.podCIDR is empty",
        '# begins a comment; if it is meant as text, quote it: "#10.244.0.0/16"',
    )
    assert "comment" not in told("podCIDR: 10.244.0.0/16", "podCIDR:  # later")[1]


def expected(file: Path) -> list[str]:
    lines = [line.removeprefix(MARK).split() for line in file.read_text().splitlines() if line.startswith(MARK)]
    return [f"{place} {code}" for code, place in lines]


def test_one_file_with_many_mistakes_has_all_of_them_in_order() -> None:
    assert "".join(f"{each}\n" for each in found(MANY)) == EXPECTED


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_wrong_file_has_exactly_the_findings_it_names(file: Path) -> None:
    assert found(file.read_bytes()) == expected(file)
    assert {each.split()[1] for each in expected(file)} == {"-".join(file.stem.split("-")[:3])}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_finding_shows_text_says_what_and_how_to_mend_it(file: Path) -> None:
    loaded = examine(file.read_bytes(), "f", "lab")
    assert len({repr(each) for each in loaded.findings}) == len(loaded.findings)
    for finding in loaded.findings:
        at, _ = loaded.document.locate(finding)
        assert at.end > at.column
        assert finding.fix
        assert not {*"^$", "None", "True"} & {*finding.message.split(), *finding.fix.split()}


def test_every_code_has_a_wrong_file() -> None:
    files = {path.name for path in WRONG.glob("*/*.yaml")}
    codes = {*explained(OF_READER), *checks.RULES}
    proven = {code for code in codes if any(name.startswith(code) for name in files)}
    assert codes - proven == IN_MEMORY


@pytest.mark.parametrize(
    ("old", "new", "message", "fix"),
    [
        ("gen/v1alpha1", "v1", "apiVersion cannot be `v1`; it may be gen/v1alpha1", "write `gen/v1alpha1`"),
        ("metadata: {name: lab}\n", "", "the file has no `metadata`", "add `metadata: ...`"),
        (
            '"1.35.3"',
            "1.30",
            "kubernetes.version must be text; without quotes YAML reads 1.30 as the number 1.3",
            'write a whole version, as in "1.35.3"',
        ),
        (
            "10.244.0.0/16",
            "10.244.0.0/99",
            "kubernetes.podCIDR: `99` is not a prefix length from 0 to 32",
            "write an IPv4 network, as in 10.0.0.0/24",
        ),
        (
            "10.244.0.0/16",
            "10.244.1.0/16",
            "kubernetes.podCIDR: 10.244.1.0/16 has host bits set",
            "write 10.244.0.0/16",
        ),
        (
            "10.244.0.0/16",
            "fd00::/64",
            "kubernetes.podCIDR: `fd00::/64` is IPv6, and this key is for IPv4 alone",
            "write an IPv4 network, as in 10.0.0.0/24; an IPv6 network beside it goes into `podCIDR6`",
        ),
        (
            "10.244.0.0/16",
            '"10.244.0.0/16,fd00::/64"',
            "kubernetes.podCIDR: `10.244.0.0/16,fd00::/64` holds IPv6, and this key is for IPv4 alone",
            "write an IPv4 network, as in 10.0.0.0/24; an IPv6 network beside it goes into `podCIDR6`",
        ),
        (
            "address: 10.10.0.21",
            "address: fd00::21",
            "nodes[3].address: `fd00::21` is IPv6, and this key is for IPv4 alone",
            "write an IPv4 address, as in 10.0.0.1",
        ),
        (
            "  pools:",
            "  storage:\n  pools:",
            "storage is empty",
            "give it a map, or remove the key",
        ),
        ("cni: cilium", "cni:", "networks.cni is empty", "write calico or cilium"),
        ("cidr: 10.10.0.0/24", "cidr: ~", "networks.node.cidr is empty", "give it text"),
        ("cni: cilium", "cni: Cillium", "networks.cni cannot be `Cillium`; it may be calico or cilium",
         "did you mean `cilium`?"),
        ("cni: cilium", "cni: [cilium]", "networks.cni cannot be a list; it may be calico or cilium",
         "write one of these: calico, cilium"),
        ("memory: 128Gi", "memory: 128 GB",
         "pools.cpu.hardware.memory: `128 GB` is not an amount such as 128, 500m or 1.5Ti", "write 128G"),
        ("memory: 128Gi", "memory: 16Ei", "pools.cpu.hardware.memory: `16Ei` is more than Kubernetes can hold, 8Ei",
         "write an amount as Kubernetes writes it, as in 128, 500m or 1.5Ti"),
        ("memory: 128Gi", "memory: [1]", "pools.cpu.hardware.memory must be text or a whole number, not a list",
         "write an amount as Kubernetes writes it, as in 128, 500m or 1.5Ti"),
        ("cpu: 32,", "cpu: '32',", "pools.cpu.hardware.cpu must be a whole number, not text",
         "write 32, without quotes"),
        ("cpu: 32,", "cpu: many,", "pools.cpu.hardware.cpu must be a whole number, not text", "write a whole number"),
        ("address: 10.10.0.21", "address: 10.10.0.21, labels: {a: true}",
         "nodes[3].labels.a must be text; without quotes YAML reads true as a truth value", 'write "true"'),
        ("address: 10.10.0.21", "address: 10.10.0.21, address6: 'fe80::1%eno1'",
         "nodes[3].address6: `fe80::1%eno1` names an interface of one machine, which means nothing on others",
         "write an IPv6 address, as in fd00::1"),
        ("domain: lab.example.org", "domain: lab.example.org, dns: [~]", "site.dns[0] is empty",
         "give it text, or remove the item"),
        ("  nodes:\n", "  teams: {}\n  nodes:\n", "teams must be a list, not a map", "write []"),
        ("  nodes:\n", "  gitops: []\n  nodes:\n", "gitops must be a map, not a list",
         "write a map, or {} where it is empty"),
        ("  nodes:\n", "  gitops: {admins: 3}\n  nodes:\n", "gitops.admins must be a list, not 3",
         "begin each item with `- `"),
        ("  nodes:\n", "  scheduling: {priorities: {low: 99999999999}}\n  nodes:\n",
         "scheduling.priorities.low must be at most 1000000000; it is 99999999999", "write 1000000000 or less"),
        ("  nodes:\n", "  backups: [[]]\n  nodes:\n", "backups[0] must be a map, not a list",
         "write a map with name, from, to, schedule, size, dailyChange"),
    ],
)  # fmt: skip
def test_a_finding_is_plain(old: str, new: str, message: str, fix: str) -> None:
    assert told(old, new) == (message, fix)


@pytest.mark.parametrize(
    ("given", "message", "fix"),
    [
        ("5", "kubernetes.etcd.backup.everyHours cannot be `5`; it may be 1, 2, 3, 4, 6, 8, 12 or 24",
         "write one of these: 1, 2, 3, 4, 6, 8, 12, 24"),
        ("", "kubernetes.etcd.backup.everyHours is empty", "write 1, 2, 3, 4, 6, 8, 12 or 24, or remove the key"),
    ],
)  # fmt: skip
def test_a_choice_of_numbers_is_told_and_none_of_them_is_guessed(given: str, message: str, fix: str) -> None:
    etcd = f"by: kube-vip}}\n    etcd: {{backup: {{to: {{bucket: etcd}}, everyHours: {given}}}}}"
    findings = examine(MINIMAL.replace("by: kube-vip}", etcd).encode(), "f", "lab").findings
    (about,) = [each for each in findings if "everyHours" in each.message]
    assert (about.message, about.fix, about.edits) == (message, fix, ())


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        ("GPU_2", ["gpu-2"]),
        (" gpu 2", ["gpu-2"]),
        ("gpu-\u200b2", ["gpu-2"]),
        ("g\N{CYRILLIC SMALL LETTER ER}u-2", []),
        ("\N{KELVIN SIGN}2", []),
        ("gpu/2", []),
        ("a/../../x", []),
        ("gpu-2\n[Link]", []),
        ("https://u@gpu-2", []),
    ],
)
def test_no_other_name_is_offered_than_what_was_meant(given: str, offered: list[str]) -> None:
    whole = examine(MINIMAL.replace("cpu-1", json.dumps(given)).encode(), "f", "lab")
    findings = [each for each in whole.findings if each.code == "GEN-SCHEMA-006"]
    assert len(findings) == 1
    assert [edit.value for edit in findings[0].edits] == offered
    assert findings[0].fix.startswith(f"write {offered[0]}" if offered else "write a DNS label")


def test_a_number_too_large_for_any_reader_is_told_once() -> None:
    assert found(MINIMAL.replace("cpu: 32,", "cpu: 123456789012345678901234567890,")) == ["17:27 GEN-YAML-024"]


def test_a_long_value_is_cut_off() -> None:
    message, fix = told("10.244.0.0/16", "10.0.0.0/" + "9" * 9000)
    assert len(message + fix) < 300


def test_empty_keys_in_chart_values_are_a_persons_own_business() -> None:
    text = MINIMAL.replace("  nodes:\n", "  components: {cilium: {values: {affinity: ~}}}\n  nodes:\n")
    cluster = decode(read(text, "f"))
    assert isinstance(cluster, Cluster)
    assert cluster.settings("cilium").values == {"affinity": None}


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("Expected `int`, got `x` - at `$.spec.nodes[0].name`", ("nodes", 0, "name"), "nodes[0].name: Expected `int`"),
        ("Odd - at `$.metadata`", ("metadata",), "metadata: Odd"),
        ("Odd", (), "the file: Odd"),
    ],
)
def test_what_only_msgspec_finds_is_told_in_its_words(text: str, path: Any, message: str) -> None:
    (finding,) = explain(read(MINIMAL, "f"), text, hook)
    assert (finding.code, finding.at) == ("GEN-SCHEMA-009", path)
    assert finding.message.startswith(message)


def floods() -> Iterator[tuple[str, str]]:
    head = "apiVersion: gen/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\nspec:\n"
    yield "equal keys", head + "  a: 1\n" * 100_000
    yield "strange keys", head + "".join(f"  kubernete{number}: 1\n" for number in range(20_000))
    yield "empty items", head + "  nodes:\n" + "  -\n" * 20_000
    yield "strange keys in items", head + "  nodes:\n" + "  - {nam: x, pol: y}\n" * 10_000
    yield "merge conflicts", head + "<<<<<<< x\n" * 100_000


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in floods()])
def test_a_file_that_is_wrong_all_over_is_told_to_a_limit_and_soon(text: str) -> None:
    began = perf_counter()
    loaded = examine(text.encode(), "f", "lab")
    # A second or two; the rest is for tests on all cores with coverage.
    assert perf_counter() - began < 20
    assert len(loaded.findings) == MOST + 1
    assert sum(each.code == "GEN-YAML-026" for each in loaded.findings) == 1


def test_the_limit_itself_is_no_flood() -> None:
    nodes = "".join(f"    - {{name: n-{number}, pool: cpu}}\n" for number in range(MOST))
    # So many nodes do not fit the pod network either.
    assert {each.split()[1] for each in found(MINIMAL + nodes)} == {"GEN-SCHEMA-002", "GEN-NET-007"}
    assert "GEN-YAML-026" in {each.split()[1] for each in found(MINIMAL + nodes + "    - {}\n")}


def test_the_schemas_codes_are_explained_with_what_they_refuse() -> None:
    for code, each in explained(OF_READER).items():
        assert each.code == code
        assert all((each.title, each.why, each.wrong, each.right))


@pytest.mark.parametrize(
    ("value", "fix", "written"),
    [
        (
            "mixed",
            "remove it, and write `gpus: {migStrategy: mixed}` once below `spec`; `gen migrate` does both",
            ["mixed"],
        ),
        ("single", "remove it; `gen migrate` does", []),
        ("none", "remove it; `gen migrate` does", []),
        ("[mixed]", "remove it; `gen migrate` does", []),
    ],
)
def test_a_key_that_moved_is_written_elsewhere_only_where_it_says_something(
    value: str, fix: str, written: list[str]
) -> None:
    gpu = "{model: NVIDIA-A30, count: 4, memory: 24Gi, mig: {strategy: VALUE, profile: all-1g.6gb}}"
    text = MINIMAL.replace("cpu: 32,", f"cpu: 32, gpu: {gpu.replace('VALUE', value)},")
    (finding,) = [each for each in examine(text.encode(), "f", "lab").findings if each.code == "GEN-SCHEMA-010"]
    assert finding.message == "`strategy` is one for the whole cluster now: `gpus.migStrategy`"
    assert finding.fix == fix
    assert [(each.at, each.value) for each in finding.edits if each.do == "put"] == [
        (("gpus", "migStrategy"), one) for one in written
    ]
    assert finding.edits[0].do == "remove"


def test_what_is_said_of_a_key_that_moved_is_what_its_type_says() -> None:
    whole = schema()
    for one in MOVED.values():
        found = whole
        for step in one.at:
            while "$ref" in found:
                found = whole["$defs"][found["$ref"].rpartition("/")[2]]
            found = found["properties"][step]
        assert (sorted(found["enum"]), found["default"]) == (sorted(one.choices), one.default)


def versions(given: str) -> list[str]:
    text = MINIMAL.replace(f"apiVersion: {API_VERSIONS[-1]}", f"apiVersion: {given}")
    return [f"{each.code} {each.message}" for each in examine(text.encode(), "f", "lab").findings]


@pytest.mark.parametrize("newer", ["gen/v1alpha2", "gen/v1beta1", "gen/v1", "gen/v2alpha1"])
def test_a_newer_version_is_told_alone_and_needs_a_newer_gen(newer: str) -> None:
    text = MINIMAL.replace(f"apiVersion: {API_VERSIONS[-1]}", f"apiVersion: {newer}\nfuture: x")
    (finding,) = [one for one in examine(text.encode(), "f", "lab").findings if one.code.startswith("GEN-SCHEMA")]
    assert finding.code == "GEN-SCHEMA-011"
    assert finding.message == f"apiVersion {newer} is newer than gen/v1alpha1, the newest that this gen reads"
    assert finding.fix == "install the gen that wrote it, or a newer one"
    assert not finding.edits


@pytest.mark.parametrize("none", ["v1", "gen/v0", "gen/1", "1", "{a: 1}"])
def test_what_is_no_version_is_a_wrong_value(none: str) -> None:
    assert versions(none)[0].startswith("GEN-SCHEMA-004 ") or versions(none)[0].startswith("GEN-SCHEMA-003 ")


def test_an_older_version_is_told_with_all_that_moved_since(monkeypatch: pytest.MonkeyPatch) -> None:
    # There is none yet: a made-up one.
    monkeypatch.setattr(moved, "API_VERSIONS", ("gen/v0", API_VERSIONS[-1]))
    assert versions("gen/v0") == ["GEN-SCHEMA-011 apiVersion gen/v0 is older than gen/v1alpha1, which this gen reads"]


def test_the_last_version_is_the_one_that_the_types_take() -> None:
    assert schema()["$defs"]["ClusterFile"]["properties"]["apiVersion"]["enum"] == [API_VERSIONS[-1]]
