"""`gen check` while a cluster file is being edited: what the cluster that HEAD describes would refuse, lose or keep."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from generator import process
from generator.cli import run
from generator.repository import head_files

ROOT = Path(__file__).parents[2]
FILE = "clusters/ml50/cluster.yaml"
OWNER = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"]


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "clusters/ml50", tmp_path / "clusters/ml50")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, *OWNER, "commit", "-q", "-m", "x")
    return tmp_path


def edit(root: Path, *pairs: tuple[str, str]) -> None:
    text = (root / FILE).read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    (root / FILE).write_text(text)


def without_team(root: Path) -> None:
    text = (root / FILE).read_text()
    start, end = text.index("    - name: recommender\n"), text.index("    - name: serving\n")
    (root / FILE).write_text(text[:start] + text[end:])


def found(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str, int]]:
    capsys.readouterr()
    assert run(["check", "-C", str(root), "--output", "json", *words]) == 0
    told = json.loads(capsys.readouterr().out)["findings"]
    return [(one["code"], one["file"], one["line"]) for one in told if one["code"].startswith("GEN-CHG")]


def line(root: Path, text: str) -> int:
    return (root / FILE).read_text().partition(text)[0].count("\n") + 1


POD = ("podCIDR: 10.244.0.0/16", "podCIDR: 10.128.0.0/16")
SERVICE = ("serviceCIDR: 10.96.0.0/12", "serviceCIDR: 10.112.0.0/16")
REPLICAS = ("replicas: 3, failureDomain: rack, default", "replicas: 2, failureDomain: rack, default")
RENAMED = ("- name: recommender", "- name: ranking")


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([POD], [("GEN-CHG-201", "podCIDR:")]),
        ([SERVICE], [("GEN-CHG-203", "serviceCIDR:")]),
        ([REPLICAS], [("GEN-CHG-432", "- {name: rbd-nvme")]),
        ([RENAMED], [("GEN-CHG-540", "  teams:\n")]),
        # The first team's namespace is that of the Application, too.
        ([("- name: vision", "- name: sight")], [("GEN-CHG-540", "  teams:\n")]),
        ([("storage: 500Gi", "storage: 600Gi")], [("GEN-CHG-010", "      storage: 600Gi")]),
        (
            [POD, REPLICAS, RENAMED],
            [("GEN-CHG-201", "podCIDR:"), ("GEN-CHG-432", "- {name: rbd-nvme"), ("GEN-CHG-540", "  teams:\n")],
        ),
        ([("gpus: 40, borrow: 16", "gpus: 40, borrow: 24")], []),
        ([("# Two leaf switches", "# 두 leaf switches")], []),
    ],
)
def test_what_an_edit_does_is_told_at_its_line(
    lab: Path, pairs: list[tuple[str, str]], expected: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    edit(lab, *pairs)
    assert found(lab, capsys) == [(code, FILE, line(lab, text)) for code, text in expected]
    git(lab, *OWNER, "commit", "-qam", "y")
    assert found(lab, capsys) == []


def test_a_team_that_goes_leaves_its_namespace(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without_team(lab)
    assert found(lab, capsys) == [("GEN-CHG-540", FILE, line(lab, "  teams:\n"))]
    assert run(["check", "-C", str(lab)]) == 0
    out = capsys.readouterr().out
    assert "warning GEN-CHG-540: this leaves something behind: Namespace recommender removed" in out
    assert "; taken out, as HEAD has it: teams.recommender (line " in out
    assert "fix: save the data, then `kubectl delete namespace`" in out
    assert run(["check", "-C", str(lab), "--strict"]) == 1
    assert run(["check", "-C", str(lab), "--output", "github"]) == 0
    assert f"::warning file={FILE},line={line(lab, '  teams:')}" in capsys.readouterr().out


FIREWALL = "    firewall: {by: nftables, admins: [10.50.0.0/24]}\n"


def test_a_section_that_is_taken_out_is_told_where_it_stood(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cni = "    cni: cilium\n"
    edit(lab, (cni, f"{cni}{FIREWALL}"))
    stood = line(lab, "    firewall:")
    git(lab, *OWNER, "commit", "-qam", "y")
    edit(lab, (FIREWALL, ""))
    assert found(lab, capsys) == [("GEN-CHG-944", FILE, line(lab, "  networks:\n"))]
    assert run(["check", "-C", str(lab)]) == 0
    out = capsys.readouterr().out
    assert "etc/gen-firewall/rules.nft:" in out
    assert " removed: nodes keep the rules" in out
    assert f"; taken out, as HEAD has it: networks.firewall (line {stood})" in out
    assert "<cluster>" not in out


def test_a_section_of_the_file_itself_is_told_at_spec(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (lab / FILE).read_text()
    start = text.index("\n  backups:\n") + 1
    end = next(found.start() for found in re.finditer(r"^  \w|\Z", text, re.MULTILINE) if found.start() > start)
    (lab / FILE).write_text(text[:start] + text[end:])
    assert {at for _, _, at in found(lab, capsys)} == {line(lab, "spec:\n")}
    assert run(["check", "-C", str(lab)]) == 0
    out = capsys.readouterr().out
    assert f"backups (line {text[:start].count(chr(10)) + 1})" in out
    assert out.count("warning GEN-CHG-705: ") == 1
    assert " more removed: its Application goes and leaves it" in out


def test_a_node_that_comes_is_no_warning(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["node", "add", "cpu-29", "--like", "cpu-28", "-C", str(lab), "--despite-warnings"]) == 0
    assert found(lab, capsys) == []


def test_a_cluster_by_another_name_is_told_at_its_old_file(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(lab, ("name: ml50", "name: ml51"))
    git(lab, "mv", "clusters/ml50", "clusters/ml51")
    assert found(lab, capsys) == [("GEN-CHG-382", FILE, 10)]
    assert run(["check", "-C", str(lab)]) == 0
    assert "Cluster ml50 renamed, to ml51" in capsys.readouterr().out
    assert found(lab, capsys, "--cluster", "ml51") == []


def test_a_cluster_that_goes_is_told(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "clusters/a30-bench", lab / "clusters/a30-bench")
    shutil.rmtree(lab / "clusters/ml50")
    assert found(lab, capsys) == [("GEN-CHG-380", FILE, 10)]


def test_a_wrong_file_is_mended_first(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(lab, REPLICAS, ("podCIDR: 10.244.0.0/16", "podCIDR: 10.10.0.0/16"))
    assert run(["check", "-C", str(lab)]) == 1
    assert "GEN-CHG" not in capsys.readouterr().out


@pytest.mark.parametrize("how", ["no git", "unborn", "wrong at HEAD", "against a rule at HEAD", "untracked"])
def test_where_head_says_nothing_nothing_is_told(lab: Path, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {
        "wrong at HEAD": ("kind: Cluster", "kind: Clust"),
        "against a rule at HEAD": (POD[0], "podCIDR: 10.10.0.0/16"),
    }
    if how in wrong:
        text = (lab / FILE).read_text()
        (lab / FILE).write_text(text.replace(*wrong[how]))
        git(lab, *OWNER, "commit", "-qam", "y")
        (lab / FILE).write_text(text)
    else:
        shutil.rmtree(lab / ".git")
    if how in {"unborn", "untracked"}:
        git(lab, "init", "-q")
    if how == "untracked":
        git(lab, *OWNER, "commit", "-q", "--allow-empty", "-m", "x")
    edit(lab, POD)
    assert found(lab, capsys) == []


def test_a_repository_in_a_folder_of_another_is_compared(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (lab / "deep").mkdir()
    git(lab, "mv", "clusters", "deep/clusters")
    git(lab, *OWNER, "commit", "-qm", "y")
    text = (lab / "deep" / FILE).read_text()
    (lab / "deep" / FILE).write_text(text.replace(*POD))
    assert [code for code, _, _ in found(lab / "deep", capsys)] == ["GEN-CHG-201"]


def test_a_hook_of_another_repository_does_not_lead_git_there(
    lab: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    git(other, *OWNER, "commit", "-q", "--allow-empty", "-m", "x")
    without_team(lab)
    told = found(lab, capsys)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    assert told
    assert found(lab, capsys) == told


def test_git_is_asked_once_where_nothing_differs_and_writes_nothing(
    lab: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[list[str]] = []
    start = process.run

    def counted(command: list[str], **more: object) -> str:
        asked.append(command)
        return start(command, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(head_files, "run", counted)
    assert found(lab, capsys) == []
    assert len(asked) == 1
    os.utime(lab / FILE)
    before = (lab / ".git/index").read_bytes()
    assert found(lab, capsys) == []
    assert (lab / ".git/index").read_bytes() == before


def test_of_many_clusters_the_first_are_judged_and_that_is_said(
    lab: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("generator.cli.check.MOST", 0)
    edit(lab, POD)
    assert run(["check", "-C", str(lab)]) == 0
    told = capsys.readouterr()
    assert "1 cluster files differ from HEAD: told is what 0 do; `gen diff` tells all" in told.err
    assert "GEN-CHG" not in told.out
