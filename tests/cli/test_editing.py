"""`gen node` and `gen pool` as a user calls them."""

import re
import shutil
from pathlib import Path

import pytest

from generator.cli import run

ROOT = Path(__file__).parent.parent.parent
FILE = "clusters/ml50/cluster.yaml"
LINE = "    - {name: gpu-16, pool: gpu-inference, address: 10.10.0.116, rack: r3, port: 16}\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository with both reference clusters' files."""
    for name in ("ml50", "a30-bench"):
        (tmp_path / "clusters" / name).mkdir(parents=True)
        shutil.copy(ROOT / f"clusters/{name}/cluster.yaml", tmp_path / f"clusters/{name}/cluster.yaml")
    return tmp_path


def gen(place: Path, *words: str) -> int:
    return run([*words[:2], "-C", str(place), *words[2:]])


def text(place: Path) -> str:
    return (place / FILE).read_bytes().decode()


def test_a_node_comes_and_goes_and_the_gain_is_shown(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = text(place)
    assert gen(place, "node", "add", "gpu-16", "--like", "gpu-15") == 0
    out = capsys.readouterr().out
    assert text(place) == before.replace(
        "    # CPU nodes with Ceph disks\n", f"{LINE}    # CPU nodes with Ceph disks\n"
    )
    assert f"136 + {LINE.strip()}\n" in out
    assert "  GPUs                                        120 -> 128\n" in out
    assert out.endswith(f"wrote {FILE}\nnext: gen render --cluster ml50\n")
    assert gen(place, "node", "remove", "gpu-16") == 0
    assert f"136 - {LINE.strip()}\n" in capsys.readouterr().out
    assert text(place) == before


def test_a_node_comes_with_the_quota_that_it_is_for(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = text(place)
    words = ("node", "add", "gpu-16", "--like", "gpu-15", "--quota")
    assert gen(place, *words, "serving=16") == 1
    assert "teams own 40 GPUs of pool gpu-inference, whose 4 nodes give 32 GPUs" in capsys.readouterr().out
    assert text(place) == before
    assert gen(place, *words, "serving=8") == 0
    node = before.replace("    # CPU nodes with Ceph disks\n", f"{LINE}    # CPU nodes with Ceph disks\n")
    assert text(place) == node.replace("gpu-inference: {gpus: 24, lend: 8}", "gpu-inference: {gpus: 32, lend: 8}")
    assert "of no team" not in capsys.readouterr().out


def test_a_team_is_given_more_of_a_pool(place: Path) -> None:
    before = text(place)
    assert gen(place, "pool", "quota", "gpu-training", "serving=8") == 0
    assert gen(place, "pool", "quota", "cpu", "vision=4", "vision=6") == 0
    last = "        cpu: {cpus: 200, memory: 1Ti}\n"
    after = before.replace(last, f"{last}        gpu-training: {{gpus: 8}}\n")
    # Nodes have nearly nine GiB for each CPU that jobs can have.
    more = "        cpu: {cpus: 410, memory: 3159Gi}\n"
    assert text(place) == after.replace("        cpu: {cpus: 400, memory: 3Ti}\n", more, 1)


def test_memory_that_follows_the_cpus_goes_on_to_follow_them(place: Path) -> None:
    """A number in its place would be all that the team has."""
    follows = text(place).replace("        cpu: {cpus: 400, memory: 3Ti}\n", "        cpu: {cpus: 400}\n", 1)
    (place / FILE).write_text(follows)
    assert gen(place, "pool", "quota", "cpu", "vision=10") == 0
    assert text(place) == follows.replace("        cpu: {cpus: 400}\n", "        cpu: {cpus: 410}\n", 1)


def test_a_dry_run_writes_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = text(place)
    assert gen(place, "node", "add", "gpu-[16-18]", "--like", "gpu-15", "--dry-run") == 1
    assert gen(place, "node", "add", "gpu-16", "--like", "gpu-15", "--dry-run") == 0
    assert f"would write {FILE}" in capsys.readouterr().out
    assert text(place) == before


def test_what_breaks_a_check_is_shown_and_not_written(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = text(place)
    assert gen(place, "node", "add", "x", "--like", "gpu-15", "--address", "10.10.0.131", "--despite-warnings") == 1
    told = capsys.readouterr()
    assert "error GEN-NODE-005: cpu-01 has the address 10.10.0.131 of x" in told.out
    assert f"{FILE} as it would be, " in told.out
    assert not re.search(r"yaml:\d|^ *\d+ \||line \d", told.out, re.MULTILINE), "nobody could look it up"
    assert "would have 3 errors, 0 warnings more: nothing was written\n" in told.err
    assert gen(place, "node", "remove", "cp-3") == 1
    told = capsys.readouterr()
    assert "warning GEN-K8S-002" in told.out
    assert "nothing was written; --despite-warnings writes it all the same" in told.err
    assert text(place) == before
    assert gen(place, "node", "remove", "cp-3", "--despite-warnings") == 0
    assert "name: cp-3" not in text(place)


def test_what_is_wrong_already_is_no_reason(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = place / FILE
    file.write_text(file.read_text().replace("podCIDR: 10.244.0.0/16", "podCIDR: 10.10.0.0/16"))
    assert gen(place, "node", "add", "gpu-16", "--like", "gpu-15") == 0
    assert "GEN-NET-004" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("node", "add", "gpu-16"), "say which node they are like: --like NODE"),
        (("node", "add", "gpu-[16", "--like", "gpu-15"), "`gpu-[16` is no set of nodes such as gpu-[01-15]"),
        (("node", "add", "gpu-16", "--like", "gpu-51"), "no cluster here has a node or pool gpu-51; did you mean gpu-"),
        (("node", "add", "gpu-16", "--like", "gpu-15", "--address", "x"), "`x` is no address such as 10.10.0.116"),
        (
            ("node", "add", "a", "--like", "gpu-15", "--cluster", "ml5"),
            "clusters/ml5/cluster.yaml: there is no such file; did you mean",
        ),
        (("node", "remove", "gpu-1"), "did you mean gpu-"),
        (
            ("node", "replace", "gpu-01"),
            "say what is new: gen node replace gpu-01 NEW, or --mac, --bmc, --disk OLD=NEW",
        ),
        (("node", "replace", "gpu-01", "--disk", "a"), "--disk a: write OLD=NEW"),
        (("node", "set", "gpu-01", "--rack", "r1"), "says so already: nothing was written"),
        (("node", "set", "gpu-01"), "say what is other: gen node set gpu-01 --gpus 8"),
        (("node", "set", "gpu-01", "--disk", "a"), "--disk a: write it as in the file"),
        (("pool", "quota", "gpu-training"), "say who gets how much: gen pool quota gpu-training TEAM=N"),
        (
            ("pool", "quota", "gpu-training", "vison=8"),
            f"there is no team vison in {FILE}; did you mean vision?",
        ),
        (("pool", "add", "gpu-2"), "say what it is like and which nodes it has: gen pool add gpu-2 --like POOL"),
        (("pool", "add", "a", "--like", "gpus", "--nodes", "b"), "no cluster here has a node or pool gpus"),
    ],
)
def test_wrong_uses_are_one_sentence(
    words: tuple[str, ...], told: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = text(place)
    assert gen(place, *words) == 2
    error = capsys.readouterr().err.strip().split("\n")[-1]
    assert told in error
    assert text(place) == before


def test_a_name_in_several_clusters_asks_which(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(place / "clusters/ml50", place / "clusters/other")
    assert gen(place, "node", "remove", "gpu-15") == 2
    assert "say which is meant, --cluster ml50 or --cluster other" in capsys.readouterr().err


def test_addresses_of_other_clusters_are_taken(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(place / "clusters/ml50", place / "clusters/other")
    other = place / "clusters/other/cluster.yaml"
    other.write_text(other.read_text().replace("10.10.0.101,", "10.10.0.116,").replace("10.10.0.10:", "10.10.0.117:"))
    assert gen(place, "node", "add", "gpu-16", "--like", "gpu-15", "--cluster", "ml50") == 0
    assert "name: gpu-16, pool: gpu-inference, address: 10.10.0.118" in capsys.readouterr().out


def test_a_file_that_cannot_be_read_is_not_edited(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = place / FILE
    file.write_text(file.read_text() + "}")
    assert gen(place, "node", "remove", "gpu-15", "--cluster", "ml50") == 2
    assert "cannot be edited while it is wrong: `gen check --cluster ml50`" in capsys.readouterr().err


def test_a_pool_is_shown_as_the_later_of_two_alike(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = ("--nodes", "nas-[5-8]", "--rack", "r[11-14]")
    assert gen(place, "pool", "add", "nas-2", "--like", "nas", *nodes) == 0
    out = capsys.readouterr().out
    assert "91 + nas-2:\n" in out
    assert "+   expansions: [nas-2]\n" in out
    assert "room in MinIO" in out


def test_a_cluster_begins_with_a_table(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = place / "nodes.csv"
    table.write_text("name,pool,address\ncp-1,system,10.5.0.11\ncp-1,system,10.5.0.12\n")
    words = ["init", "lab", "-C", str(place), "--from", str(table)]
    assert run(words) == 1
    told = capsys.readouterr()
    assert "error GEN-NODE-001: two nodes are named cp-1" in told.out
    assert f"nothing was written; mend {table}" in told.err
    assert not (place / "clusters/lab").exists()
    table.write_bytes(b"\xff\xfe")
    assert run(words) == 2
    assert "is not UTF-8" in capsys.readouterr().err
    table.unlink()
    assert run(words) == 2
    assert "nodes.csv: cannot be read: No such file" in capsys.readouterr().err
    table.write_text("name,pool,address\ncp-1,system,10.5.0.11\n")
    assert run(words) == 0
    assert "- {name: cp-1, pool: system, address: 10.5.0.11}" in (place / "clusters/lab/cluster.yaml").read_text()


def test_what_still_names_a_node_that_leaves_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gen(place, "node", "add", "gpu-16", "--like", "gpu-15") == 0
    capsys.readouterr()
    other = place / "clusters/a30-bench/cluster.yaml"
    lines = other.read_text().count("\n")
    other.write_text(other.read_text() + "# 10.10.0.116 and 10.10.0.1160, 10.10.0.116.7\n# gpu-16a, gpu-16\n")
    for path, content in (
        ("overlays/ml50/zabbix/custom/patch.yaml", "a: 1\nhost: gpu-16.lab\n"),
        ("clusters/ml50/argocd/custom/deep/a.yaml", "b: tcp://10.10.0.116:80\n"),
        ("overlays/a30-bench/queues/custom/a.yaml", "gpu-16\n"),
        ("overlays/ml50/zabbix/objects.yaml", "gpu-16\n"),
    ):
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(content)
    assert gen(place, "node", "remove", "gpu-16", "--cluster", "ml50", "--dry-run") == 0
    assert capsys.readouterr().err.splitlines() == [
        f"note: clusters/a30-bench/cluster.yaml:{lines + 1} names gpu-16's address 10.10.0.116; change that as well",
        f"note: clusters/a30-bench/cluster.yaml:{lines + 2} names gpu-16; change that as well",
        "note: overlays/ml50/zabbix/custom/patch.yaml:2 names gpu-16; change that as well",
        "note: clusters/ml50/argocd/custom/deep/a.yaml:1 names gpu-16's address 10.10.0.116; change that as well",
    ]
    shutil.copytree(place / "clusters/ml50", place / "clusters/twin")
    assert gen(place, "node", "remove", "gpu-16", "--cluster", "ml50", "--dry-run") == 0
    told = capsys.readouterr().err
    assert "clusters/twin/cluster.yaml" in told, "the address is one of both"
    assert "clusters/twin/cluster.yaml:136 names gpu-16;" not in told, "its own node is another one"
