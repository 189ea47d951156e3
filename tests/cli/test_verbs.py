"""The verbs as a user calls them, in repositories of their own."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from generator.build.kustomize import NEEDED_BY
from generator.cli import VERBS, cli, run
from generator.repository import given_files
from generator.repository.cluster_files import Loaded, load
from generator.repository.outcome import Outcome
from generator.repository.plan import Change, Plan
from generator.spec.schema import text as schema_text
from generator.upstream.helm import helm as find_helm
from generator.upstream.vendor import Report

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the small reference cluster, not rendered yet."""
    shutil.copytree(
        ROOT / "clusters/a30-bench", tmp_path / "clusters/a30-bench", ignore=lambda *_: {"argocd", "bootstrap"}
    )
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


CLUSTER_TEXT = (ROOT / "clusters/ml50/cluster.yaml").read_text()


def edit(repository: Path, old: str, new: str) -> None:
    path = repository / "clusters/a30-bench/cluster.yaml"
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new, 1))


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git/" not in str(path)
    }


def test_check_accepts_the_reference_clusters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "-C", str(ROOT)]) == 0
    assert "0 errors, 0 warnings in 3 files\n" in capsys.readouterr().out


def test_check_shows_every_mistake_with_its_place(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository, "podCIDR: 10.244.0.0/16", "podCIDR: 10.96.0.0/16")
    edit(repository, "address: 129.254.202.252", "address: 129.254.202.253")
    assert run(["check", "-C", str(repository)]) == 1
    out = capsys.readouterr().out
    assert "cluster.yaml:24:18 error GEN-NET-005: serviceCIDR 10.96.0.0/12 overlaps podCIDR 10.96.0.0/16" in out
    assert "   24 |     serviceCIDR: 10.96.0.0/12\n      |                  ^^^^^^^^^^^^ also: line 23" in out
    assert "fix: 129.254.202.254 is free" in out
    assert "2 errors" in out


def test_what_a_file_holds_cannot_command_the_terminal(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository, "cni: calico", 'cni: "\\e[31mcal\u202eico"')
    assert run(["check", "-C", str(repository)]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_check_speaks_json(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository, "cni: calico", "cni: calicoo")
    assert run(["check", "-C", str(repository), "--output", "json"]) == 1
    finding = json.loads(capsys.readouterr().out)["findings"][0]
    assert finding["code"] == "GEN-SCHEMA-004"
    assert finding["fix"] == "did you mean `calico`?"
    line = (repository / finding["file"]).read_text().splitlines()[finding["line"] - 1]
    assert line[finding["column"] - 1 : finding["endColumn"] - 1] == "calicoo"


def test_check_speaks_to_github(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository, "cni: calico", "cni: calicoo")
    assert run(["check", "-C", str(repository), "--output", "github"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("::error file=clusters/a30-bench/cluster.yaml,line=")
    assert out.count("\n") == 1


def test_render_writes_what_render_check_accepts(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "--check", "-C", str(repository)]) == 1
    assert not (repository / "overlays").exists()
    assert run(["render", "-C", str(repository)]) == 0
    assert "next: git add --all, then git commit\n" in capsys.readouterr().out
    before = tree(repository)
    assert run(["render", "--check", "-C", str(repository)]) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert tree(repository) == before


def test_render_tells_what_comes_next_in_git(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["render", "-C", str(repository)])
    assert "next: git add --all, then git commit\n" in capsys.readouterr().out
    commit(repository, "first")
    tree = tmp_path_factory.mktemp("tree") / "tree"
    said = "next: gen diff, then gen commit\n"
    for folder, *words in ((repository,), (repository, "pack-refs", "--all"), (tree, "worktree", "add", "-q", tree)):
        if words:
            subprocess.run(["git", "-C", repository, *words], check=True)
        edit(folder, "queueing: StrictFIFO", "queueing: BestEffortFIFO")
        assert run(["render", "-C", str(folder)]) == 0
        assert said in capsys.readouterr().out
        subprocess.run(["git", "-C", folder, "checkout", "-q", "."], check=True)
    subprocess.run(["git", "-C", tree, "checkout", "-q", "--detach"], check=True)
    edit(tree, "queueing: StrictFIFO", "queueing: BestEffortFIFO")
    run(["render", "-C", str(tree)])
    assert said in capsys.readouterr().out


def test_render_outside_git_says_that_argo_cd_reads_git(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(repository / ".git")
    assert run(["render", "-C", str(repository)]) == 0
    out = capsys.readouterr().out
    assert "next: git init, git add --all, then git commit: Argo CD reads Git\n" in out
    assert "git diff" not in out


def test_the_committed_clusters_are_what_render_writes() -> None:
    assert run(["render", "--check", "-C", str(ROOT)]) == 0


def test_render_writes_nothing_for_a_wrong_file(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["render", "-C", str(repository)])
    before = tree(repository)
    edit(repository, "role: control-plane", "role: worker")
    changed = (repository / "clusters/a30-bench/cluster.yaml").read_bytes()
    assert run(["render", "-C", str(repository)]) == 1
    assert "nothing was written" in capsys.readouterr().err
    assert tree(repository) == {**before, "clusters/a30-bench/cluster.yaml": changed}


def test_render_dry_run_tells_and_writes_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "--dry-run", "--output", "json", "-C", str(repository)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["written"] is False
    assert {"path": "gen.lock", "kind": "create"} in told["changes"]
    assert not (repository / "gen.lock").exists()


def test_a_hand_edit_is_refused_and_can_be_discarded(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["render", "-C", str(repository)])
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "render"], check=True)
    path = repository / "overlays/a30-bench/queues/kustomization.yaml"
    rendered = path.read_text()
    path.write_text(rendered + "# mine\n")
    assert run(["render", "-C", str(repository)]) == 1
    assert "edited by hand" in capsys.readouterr().out
    assert path.read_text().endswith("# mine\n")
    assert run(["render", "-C", str(repository), "--discard", "overlays/a30-bench/queues/"]) == 0
    assert path.read_text() == rendered


def test_many_hand_edits_do_not_fill_the_screen(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["render", "-C", str(repository)])
    commit(repository, "render")
    edited = sorted((repository / "overlays/a30-bench").glob("*/kustomization.yaml"))
    for path in edited:
        path.write_text(f"{path.read_text()}# mine\n")
    capsys.readouterr()
    assert run(["render", "-C", str(repository)]) == 1
    told = capsys.readouterr()
    assert f"overlays/a30-bench: {len(edited)} changed by hand" in told.err
    assert len(told.err.splitlines()) < 10
    assert f"refused: {len(edited)} files were edited by hand" in told.out
    advice = told.err.rpartition("run again with `")[2].partition("`")[0]
    assert run(["render", "-C", str(repository), *advice.split()]) == 0
    assert not any("mine" in path.read_text() for path in edited)


GIT = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")


def commit(repository: Path, message: str) -> None:
    for words in (("add", "-A"), ("commit", "-qm", message)):
        subprocess.run(["git", "-C", str(repository), *GIT, *words], check=True)


def test_a_committed_hand_edit_is_found_and_a_stale_file_is_not(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["render", "-C", str(repository)])
    commit(repository, "render")
    # A fresh clone knows nothing of what gen wrote last.
    (repository / ".git/gen/written.json").unlink()
    edit(repository, "queueing: StrictFIFO", "queueing: BestEffortFIFO")
    assert run(["render", "--dry-run", "-C", str(repository)]) == 0
    queue = repository / "overlays/a30-bench/queues/clusterqueue-mlperf.yaml"
    queue.write_text(queue.read_text().replace("StrictFIFO", "BestEffortFIFO").replace('"2"', '"1"'))
    commit(repository, "by hand")
    assert run(["render", "-C", str(repository)]) == 1
    err = capsys.readouterr().err
    assert "clusterqueue-mlperf.yaml:" in err
    assert "was changed by hand in commit" in err
    assert "by Ann" in err


def test_a_commit_that_cannot_be_rendered_is_said(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["render", "-C", str(repository)])
    (repository / "clusters/notes").mkdir()
    (repository / "clusters/notes/readme.txt").write_text("not a cluster\n")
    edit(repository, "cni: calico", "cni: calicoo")
    commit(repository, "wrong")
    (repository / ".git/gen/written.json").unlink()
    edit(repository, "cni: calicoo", "cni: calico")
    edit(repository, "queueing: StrictFIFO", "queueing: BestEffortFIFO")
    assert run(["render", "-C", str(repository)]) == 0
    assert "note: " in capsys.readouterr().err


def test_many_clusters_are_rendered_by_several_processes_alike(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "clusters/ml50", repository / "clusters/ml50", ignore=lambda *_: {"argocd", "bootstrap"})
    assert run(["render", "-C", str(repository)]) == 0
    monkeypatch.setattr("generator.repository.parallel.MANY", 1)
    assert run(["render", "--check", "-C", str(repository)]) == 0


def test_several_processes_find_the_same_mistakes(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "clusters/ml50", repository / "clusters/ml50", ignore=lambda *_: {"argocd", "bootstrap"})
    edit(repository, "address: 129.254.202.252", "address: 129.254.202.253")
    assert run(["check", "-C", str(repository)]) == 1
    alone = capsys.readouterr()
    monkeypatch.setattr("generator.repository.parallel.MANY", 1)
    assert run(["check", "-C", str(repository)]) == 1
    assert capsys.readouterr() == alone
    unreadable = repository / "clusters/x/cluster.yaml"
    unreadable.mkdir(parents=True)
    assert run(["check", "-C", str(repository)]) == 2
    assert "clusters/x/cluster.yaml: cannot be read" in capsys.readouterr().err


def test_what_the_user_owns_is_never_touched(repository: Path) -> None:
    run(["render", "-C", str(repository)])
    custom = repository / "overlays/a30-bench/queues/custom"
    (custom / "kustomization.yaml").write_text("# mine\n")
    (custom / "patch.yaml").write_text("mine: true\n")
    stale = repository / "overlays/a30-bench/queues/configmap-old.yaml"
    stale.write_text("# Written by gen\n")
    run(["render", "-C", str(repository), "--discard", "overlays"])
    assert (custom / "kustomization.yaml").read_text() == "# mine\n"
    assert (custom / "patch.yaml").read_text() == "mine: true\n"
    assert not stale.exists()


def test_one_cluster_alone_leaves_the_others_and_their_bases(repository: Path) -> None:
    shutil.copytree(ROOT / "clusters/ml50", repository / "clusters/ml50", ignore=lambda *_: {"argocd", "bootstrap"})
    assert run(["render", "-C", str(repository)]) == 0
    before = tree(repository)
    edit(repository, "queueing: StrictFIFO", "queueing: BestEffortFIFO")
    assert run(["render", "-C", str(repository), "--cluster", "a30-bench"]) == 0
    changed = {path for path, content in tree(repository).items() if before.get(path) != content}
    assert changed == {
        "clusters/a30-bench/cluster.yaml",
        "overlays/a30-bench/queues/clusterqueue-mlperf.yaml",
    }
    assert set(before) == set(tree(repository))


def test_a_cluster_that_is_gone_is_removed(repository: Path) -> None:
    shutil.copytree(ROOT / "clusters/ml50", repository / "clusters/ml50", ignore=lambda *_: {"argocd", "bootstrap"})
    run(["render", "-C", str(repository)])
    shutil.rmtree(repository / "clusters/ml50")
    assert run(["render", "-C", str(repository), "--discard", "overlays/ml50"]) == 0
    left = {path for path in tree(repository) if path.startswith("overlays/ml50/") and "/custom/" not in path}
    assert left == set()


@pytest.fixture
def two(repository: Path) -> Path:
    """The same beside the large reference cluster, rendered and committed."""
    shutil.copytree(ROOT / "clusters/ml50", repository / "clusters/ml50", ignore=lambda *_: {"argocd", "bootstrap"})
    run(["render", "-C", str(repository)])
    commit(repository, "two clusters")
    return repository


def test_what_gen_wrote_beside_a_cluster_file_goes_with_it(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (two / "clusters/ml50/cluster.yaml").unlink()
    assert run(["check", "-C", str(two)]) == 0
    assert "clusters/ml50 has no cluster.yaml, but what gen wrote for it: " in capsys.readouterr().err
    assert run(["doctor", "-C", str(two)]) == 0
    assert "clusters/ml50 has no cluster.yaml" in capsys.readouterr().out
    assert run(["render", "-C", str(two)]) == 0
    left = {path for path in tree(two) if "/ml50/" in path and "/custom/" not in path}
    assert left == set()
    capsys.readouterr()
    commit(two, "one cluster")
    assert run(["diff", "HEAD~1", "HEAD", "-C", str(two)]) == 0
    assert "ml50: 1 removed" in capsys.readouterr().out


def test_a_cluster_whose_file_has_another_name_is_not_removed(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (two / "clusters/ml50/cluster.yaml").rename(two / "clusters/ml50/cluster.yml")
    before, said = tree(two), "clusters/ml50 has no cluster.yaml, but cluster.yml: `git mv clusters/ml50/cluster.yml "
    capsys.readouterr()
    asked = ((0, "check"), (2, "render"), (2, "render", "--cluster", "a30-bench"), (2, "check", "--cluster", "ml50"))
    for expect, *words in (*asked, (2, "render", "--check")):
        assert run([*words, "-C", str(two)]) == expect
        assert said in capsys.readouterr().err
    assert tree(two) == before
    shutil.rmtree(two / "clusters/a30-bench")
    assert run(["check", "-C", str(two)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["ml50", "a30"])
def test_init_begins_a_repository_that_renders(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", name, "-C", str(tmp_path)]) == 0
    assert run(["check", "-C", str(tmp_path)]) == 0
    assert "0 errors, 0 warnings in 1 file" in capsys.readouterr().out
    assert run(["render", "-C", str(tmp_path)]) == 0
    assert (tmp_path / f"overlays/{name}/cilium/kustomization.yaml").is_file()
    assert "eol=lf" in (tmp_path / ".gitattributes").read_text()


def test_init_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".editorconfig").write_text("mine\n")
    assert run(["init", "ml50", "-C", str(tmp_path)]) == 0
    assert run(["init", "ml50", "-C", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / ".editorconfig").read_text() == "mine\n"


@pytest.mark.parametrize("name", ["ML50", "a" * 33, "../x", "x\n"])
def test_init_refuses_names_that_cannot_be(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", name, "-C", str(tmp_path)]) == 2
    assert "cannot be a cluster's name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_explain_tells_why_a_rule_exists(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "gen-schema-005"]) == 0
    out = capsys.readouterr().out
    assert "wrong:\n    podCIDR: 10.244.0.1/16" in out


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("GEN-SCHEMA-5", "GEN-SCHEMA-005?\n"),
        ("gen-net-04", "GEN-NET-004?\n"),
        ("GEN-NET-O04", "GEN-NET-004?\n"),
        ("GEN-NETW-4", "GEN-NET-004, "),
    ],
)
def test_a_mistyped_code_is_answered_with_the_one_that_is_meant(
    code: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", code]) == 2
    assert f"did you mean {hint}" in capsys.readouterr().err


def test_explain_tells_given_from_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "ml50", "kubernetes.podCIDR", "-C", str(ROOT)]) == 0
    assert capsys.readouterr().out.startswith("kubernetes.podCIDR: 10.244.0.0/16\ngiven in clusters/ml50/cluster.yaml:")
    assert run(["explain", "ml50", "kubernetes.maxPods", "-C", str(ROOT)]) == 0
    assert "gen's default" in capsys.readouterr().out
    assert run(["explain", "ml50", "nodes[0].name", "-C", str(ROOT)]) == 0
    assert capsys.readouterr().out.startswith("nodes[0].name: cp-1\n")
    assert run(["explain", "ml50", "kubernetes.pods", "-C", str(ROOT)]) == 2
    assert "kubernetes has no `pods`; it has version" in capsys.readouterr().err


def test_explain_shows_what_the_file_says_and_counts_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "ml50", "networks.node", "-C", str(ROOT)]) == 0
    assert "null" not in capsys.readouterr().out
    assert run(["explain", "ml50", "nodes[99]", "-C", str(ROOT)]) == 2
    assert "nodes has no `99`; it has 50 items, counted from 0" in capsys.readouterr().err
    assert run(["explain", "ml50", "teams.vision", "-C", str(ROOT)]) == 0
    assert "null" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "title", "row"),
    [
        (
            "nodes",
            "50 items; `gen explain ml50 nodes.cp-1` shows one:",
            "cp-2    line 118  pool system, address 10.10.0.12, ",
        ),
        (
            "pools",
            "5 items; `gen explain ml50 pools.system` shows one:",
            "system         line 70   hardware, role control-plane",
        ),
        (
            "nodes.gpu-01.hardware.disks",
            "1 item; `gen explain ml50 nodes.gpu-01.hardware.disks[0]` shows one:",
            "[0]  line 98, pools.gpu-training  use scratch, size 3840G, model, count 2",
        ),
    ],
)
def test_explain_lists_what_has_names_of_its_own(
    path: str, title: str, row: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not as JSON, which nobody reads: of 50 nodes that was 50 kB."""
    assert run(["explain", "ml50", path, "-C", str(ROOT)]) == 0
    first, *rows = capsys.readouterr().out.splitlines()
    assert first == title
    assert [each for each in rows if each.startswith(row)]
    assert len(rows) == int(title.split(maxsplit=1)[0])
    assert max(map(len, rows)) <= 120
    assert run(["explain", "ml50", *title.split("`")[1].split()[3:], "-C", str(ROOT)]) == 0


def test_explain_shows_a_long_map_line_by_line(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, words = repository / "clusters/a30-bench/cluster.yaml", " ".join(["text"] * 20)
    file.write_text(f"{file.read_text()}\n  components:\n    cert-manager: {{values: {{a: {words}, b: {{c: 1}}}}}}\n")
    assert run(["explain", "a30-bench", "components.cert-manager.values", "-C", str(repository)]) == 0
    assert re.fullmatch(rf"a: {words}  line \d+\nb\.c: 1 +line \d+\n", capsys.readouterr().out)


def test_explain_takes_a_cluster_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "ml50", "-C", str(ROOT)]) == 0
    assert re.search(r"\nkubernetes +line \d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("ml5", "did you mean ml50?"),
        ("NET-004", "did you mean GEN-NET-004?"),
        ("foo", "clusters here: a30-bench, gpu-serving, ml50"),
    ],
)
def test_explain_tells_what_a_word_may_have_meant(word: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", word, "-C", str(ROOT)]) == 2
    assert capsys.readouterr().err == f"gen: `{word}` is neither a code, an effect nor a cluster; {hint}\n"


def test_render_check_names_the_stale_files(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["render", "-C", str(repository)])
    edit(repository, "queueing: StrictFIFO", "queueing: BestEffortFIFO")
    capsys.readouterr()
    assert run(["render", "--check", "-C", str(repository)]) == 1
    assert "  update overlays/a30-bench/queues/clusterqueue-mlperf.yaml\n" in capsys.readouterr().out
    assert run(["render", "--check", "--output", "github", "-C", str(repository)]) == 1
    assert "::error file=overlays/a30-bench/queues/clusterqueue-mlperf.yaml::stale" in capsys.readouterr().out


def test_many_stale_files_do_not_fill_the_screen(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "--dry-run", "-C", str(repository)]) == 0
    out = capsys.readouterr().out
    assert out.count("  create ") == 20
    assert "more (all of them: --output json)" in out


def test_github_sees_hand_edits(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["render", "-C", str(repository)])
    (repository / "gen.lock").write_text("gen: mine\n")
    assert run(["render", "--output", "github", "-C", str(repository)]) == 1
    assert "::error file=gen.lock,line=1::edited by hand" in capsys.readouterr().out


def test_discarding_what_is_not_there_is_a_mistake(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "--discard", "overlays/nope", "-C", str(repository)]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["/etc", "..", ".", "overlays/../.."])
def test_discarding_stays_inside_the_repository(
    repository: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "overlays").mkdir()
    assert run(["render", "--discard", path, "-C", str(repository)]) == 2
    assert "this is no file or folder below" in capsys.readouterr().err


def test_labels_of_the_cluster_reach_argo_cd(repository: Path) -> None:
    edit(repository, "  name: a30-bench", "  name: a30-bench\n  labels: {site: seoul}")
    assert run(["render", "-C", str(repository)]) == 0
    text = (repository / "clusters/a30-bench/argocd/application-kueue.yaml").read_text()
    assert yaml.load(text, yaml.CSafeLoader)["metadata"]["labels"]["site"] == "seoul"


def test_explain_needs_a_readable_file(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository, "cni: calico", "cni: calicoo")
    assert run(["explain", "a30-bench", "networks.cni", "-C", str(repository)]) == 2
    assert "cannot be read yet" in capsys.readouterr().err


def test_the_published_schema_is_what_the_types_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    assert capsys.readouterr().out.encode() == schema_text()
    assert (ROOT / "generator/spec/cluster.schema.json").read_bytes() == schema_text(), "run `python tools/docs.py`"
    assert (ROOT / "schemas/cluster.schema.json").read_bytes() == schema_text(), "run `python tools/docs.py`"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert f"_GEN_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_completion_knows_the_verbs() -> None:
    env = {"_GEN_COMPLETE": "bash_complete", "COMP_WORDS": "gen ", "COMP_CWORD": "1", "PATH": ""}
    done = subprocess.run([sys.executable, "-m", "generator"], env=env, capture_output=True, text=True, check=False)
    offered = {line.split(",")[1] for line in done.stdout.splitlines()}
    assert set(VERBS) <= offered, done.stderr


def test_doctor_reports_machine_and_repository(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "-C", str(repository)]) == 0
    out = capsys.readouterr().out
    assert "nothing is rendered yet" in out
    assert "clusters/a30-bench/cluster.yaml: 0 warnings" in out
    run(["render", "-C", str(repository)])
    edit(repository, "cni: calico", "cni: calicoo")
    assert run(["doctor", "-C", str(repository)]) == 1
    out = capsys.readouterr().out
    assert "gen.lock: written by gen" in out
    assert "has errors" in out


def test_doctor_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    find_helm.cache_clear()
    assert run(["doctor", "-C", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "!!  git is not on PATH" in out
    assert "--  gen vendor: Helm v" in out
    assert f"--  {NEEDED_BY}: Kustomize was not found; install `kustomize` or `kubectl`" in out
    assert "--  gen check --server: etcd is neither in" in out
    assert "there is no folder `clusters`" in out


def test_what_needs_kustomize_says_so_and_all_else_does_without(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run(["render", "-C", str(repository)])
    commit(repository, "all")
    edit(repository, "gpus: 2", "gpus: 1")
    programs = tmp_path_factory.mktemp("programs")
    (programs / "git").symlink_to(shutil.which("git") or "")
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(programs))
    monkeypatch.delenv("GEN_KUSTOMIZE", raising=False)
    plain = ("check", "explain a30-bench", "init other --dry-run", "node remove a30-2 --dry-run", "render", "schema")
    building = ("check --rendered", "check --server", "commit", "diff", "images", "report")
    needing = []
    for verb in (*plain, *building):
        capsys.readouterr()
        run(["-C", str(repository), *verb.split()])
        if "Kustomize was not found" in capsys.readouterr().err:
            needing.append(verb)
            run([verb.split()[0], "--help"])
            assert "Kustomize (`gen doctor`)" in " ".join(capsys.readouterr().out.split())
    assert needing == [*building]
    words = {word for verb in building for word in verb.split()}
    # These speak to a cluster, or to none that is there already, before they build.
    words |= {"bootstrap", "drift", "rehearse", "rollback", "sync"}
    assert {*re.findall(r"[a-z-]+", NEEDED_BY)} - {"gen", "and"} == words


def test_doctor_takes_no_other_program_for_kustomize(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "kustomize"
    other.write_text("#!/bin/sh\necho v5.8.1\n")
    other.chmod(0o755)
    monkeypatch.setenv("GEN_KUSTOMIZE", str(other))
    run(["doctor", "-C", str(ROOT)])
    assert f"{other} is not Kustomize" in " ".join(capsys.readouterr().out.split())


def test_doctor_shows_a_program_that_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert run(["doctor", "-C", str(ROOT)]) == 1
    assert "ended with status 3:\nbroken" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rendr"], "did you mean `render`?"),
        (["zzz"], "there is no command `zzz`; there are bootstrap, check, comment, commit, "),
        (["check", "--cluster", "nope", "-C", str(ROOT)], "clusters here: a30-bench, gpu-serving, ml50"),
        (["check", "-C", "/proc/self"], "gen init NAME"),
        (["check", "--output", "xml"], "xml"),
    ],
)
def test_wrong_usage_is_one_message_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err


def test_an_empty_clusters_folder_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clusters").mkdir()
    assert run(["render", "-C", str(tmp_path)]) == 2
    assert "`gen init NAME` makes the first one" in capsys.readouterr().err


def test_an_unreadable_cluster_file_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clusters/x/cluster.yaml").mkdir(parents=True)
    assert run(["check", "-C", str(tmp_path)]) == 2
    assert "clusters/x/cluster.yaml: cannot be read" in capsys.readouterr().err


def test_a_name_that_is_not_the_folders_is_found(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository, "name: a30-bench", "name: a30-other")
    assert run(["check", "-C", str(repository)]) == 1
    assert "GEN-REPO-001: the cluster is called a30-other, its folder a30-bench" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["https://ann:horse@git.lab/ml.git", "GET /api?token=horse: 500", "bad line\npassword: horse"]
)
def test_a_bug_ends_with_70_and_its_traceback(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError(text)

    monkeypatch.setattr("generator.cli.check.load", broken)
    assert run(["check"]) == 70
    said = capsys.readouterr().err
    assert "this is a bug in gen" in said
    assert "Traceback (most recent call last):" in said
    assert "horse" not in said, "a traceback is sent to others as it is"


def test_control_c_and_a_closed_pipe_end_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("generator.cli.check.load", stopped)
    assert run(["check"]) == 130
    assert capsys.readouterr().err.strip() == "gen: stopped"
    script = f"{sys.executable} -m generator check -C {ROOT} --output json | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_help_lists_every_verb_without_importing_it() -> None:
    code = (
        "import sys; from generator.cli import run; run(['--help']); "
        "print([m for m in sys.modules if m.startswith(('yaml', 'msgspec', 'git'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for verb, about in VERBS.items():
        assert verb in done.stdout
        assert about.split(".")[0][:40] in done.stdout
    assert done.stdout.rstrip().endswith("[]")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, "--help"]) == 0
    assert f"Usage: gen {verb}" in capsys.readouterr().out


def test_help_tells_how_one_begins_and_is_a_verb_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    whole = capsys.readouterr().out
    assert "Begin: `git init`, `gen init NAME`" in " ".join(whole.split())
    assert run(["help"]) == 0
    assert capsys.readouterr().out == whole
    for words in (["check"], ["node", "add"]):
        assert run([*words, "--help"]) == 0
        whole = capsys.readouterr().out
        assert run(["help", *words]) == 0
        assert capsys.readouterr().out == whole
    assert run(["help", "chek"]) == 2
    assert "did you mean `check`?" in capsys.readouterr().err


def test_a_folder_can_stand_before_the_verb(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(repository)
    assert run(["-C", str(repository), "check"]) == 0
    assert run(["-C", str(repository), "init", "other"]) == 0
    assert {*tree(repository)} - {*before} >= {"clusters/other/cluster.yaml"}
    capsys.readouterr()
    assert run(["-C", "/nowhere", "check", "-C", str(repository)]) == 0, "the nearer one counts"
    assert "in 2 files" in capsys.readouterr().out
    assert run(["-C", f"{repository}/nowhere", "node", "remove", "cp-1"]) == 2
    assert "nowhere' does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["check", "render", "vendor", "report", "images", "diff"])
def test_a_cluster_as_a_bare_word_is_answered_with_what_to_type(
    verb: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, "-C", str(repository), "a30-bench"]) == 2
    said = f"a cluster is named with --cluster: gen {verb} -C {repository} --cluster a30-bench"
    assert capsys.readouterr().err.splitlines()[-1] == said
    assert run([verb, "-C", str(repository), "--cluster", "a30-bench", "nope"]) == 2
    assert "with --cluster" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["diff", "--", "a30-bench"], id="no option stands behind --"),
        pytest.param(["check", "a30-bench", "clusters/ml50/cluster.yaml"], id="paths and clusters exclude each other"),
        pytest.param(["check", "--kubeconfig", "a30-bench", "nope"], id="the value of another option"),
    ],
)
def test_what_would_be_refused_as_well_is_not_advised(
    words: list[str], repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    assert run(words) == 2
    assert "with --cluster" not in capsys.readouterr().err


def test_rendering_starts_no_program_and_opens_no_connection(repository: Path) -> None:
    code = (
        "import sys, os; forbidden = {'subprocess.Popen', 'os.exec', 'os.posix_spawn', 'os.system', 'socket.connect'}\n"
        "sys.addaudithook(lambda event, args: os._exit(9) if event in forbidden else None)\n"
        f"from generator.cli import run; raise SystemExit(run(['render', '-C', {str(repository)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_output_is_plain_when_piped(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "generator", "render", "-C", str(repository)], capture_output=True, text=True, check=True
    )
    assert "\x1b" not in done.stdout
    assert yaml.load((repository / "gen.lock").read_text(), yaml.CSafeLoader)["gen"]


def test_explanations_that_python_left_out_are_said_to_be_missing() -> None:
    done = subprocess.run(
        [sys.executable, "-OO", "-m", "generator", "explain", "GEN-NET-004"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "run gen without -OO" in done.stderr


def test_check_judges_a_file_that_is_named(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository, "cni: calico", "cni: calicoo")
    file = repository / "clusters/a30-bench/cluster.yaml"
    shutil.copytree(ROOT / "clusters/ml50", repository / "clusters/ml50")
    assert run(["check", str(file)]) == 1
    out = capsys.readouterr().out
    assert "clusters/a30-bench/cluster.yaml:" in out
    assert "in 1 file\n" in out
    assert run(["check", "--rendered", str(file)]) == 1
    shown = capsys.readouterr()
    assert "GEN-SCHEMA-004" in shown.out
    assert "nothing was built" in shown.err


def test_a_file_that_is_named_twice_is_told_once(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "clusters/ml50", repository / "clusters/ml50")
    edit(repository, "cni: calico", "cni: calicoo")
    loads: list[list[str]] = []

    def counted(root: Path, names: list[str]) -> list[Loaded]:
        loads.append(names)
        return load(root, names)

    monkeypatch.setattr(given_files, "load", counted)
    file, other = (repository / "clusters" / name / "cluster.yaml" for name in ("a30-bench", "ml50"))
    alone = repository / "lab.yaml"
    alone.write_text(file.read_text())
    monkeypatch.chdir(repository)
    again = "clusters/../clusters/a30-bench/cluster.yaml"
    assert run(["check", str(other), str(file), "lab.yaml", again, str(alone)]) == 1
    out = capsys.readouterr().out
    assert [line.split(":")[0] for line in out.splitlines() if "GEN-SCHEMA-004" in line] == [
        "clusters/a30-bench/cluster.yaml", str(alone)
    ]  # fmt: skip
    assert "in 3 files\n" in out
    assert loads == [["ml50", "a30-bench"]]


def test_files_of_two_repositories_are_not_taken_for_one_another(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(repository, "cni: calico", "cni: calicoo")
    shutil.copytree(repository / "clusters", tmp_path / "r2/clusters")
    files = [str(root / "clusters/a30-bench/cluster.yaml") for root in (repository, tmp_path / "r2")]
    assert run(["check", *files]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert f"{tmp_path}, {tmp_path}/r2: cluster files of one repository are checked at once" in said.err


@pytest.mark.parametrize("output", ["text", "github"])
@pytest.mark.parametrize(
    ("git", "words"), [(True, "git add --all, then git commit"), (False, "git init, git add --all, then git commit")]
)
def test_vendor_says_what_comes_after_it_wrote(  # noqa: PLR0913 - two cases of two things
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    output: str,
    words: str,
    *,
    git: bool,
) -> None:
    if not git:
        shutil.rmtree(repository / ".git")
    wrote = Outcome(plan=Plan(changes=(Change("a", b"a", b"b"),), unchanged=0), rendered={}, seconds={})
    report = Report(did=(), untouched=0, findings=(), notes=(), used=frozenset(), outcome=wrote)
    monkeypatch.setattr("generator.cli.vendor.vendor", lambda *_: report)
    assert run(["vendor", "-C", str(repository), "--output", output]) == 0
    assert f"\nnext: {words}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["lab.yaml", "cluster.yaml"])
def test_check_judges_a_file_outside_a_repository(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    file.write_bytes((ROOT / "clusters/a30-bench/cluster.yaml").read_bytes())
    assert run(["check", str(file)]) == 0
    assert capsys.readouterr().out == "0 errors, 0 warnings in 1 file\n"
    file.write_text(file.read_text().replace("cni: calico", "cni: [calico"))
    assert run(["check", str(file)]) == 1
    assert f"{file}:" in capsys.readouterr().out
    assert run(["check", "--rendered", str(file)]) == 2
    assert f"check the file alone: gen check {file}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("README.md", "this is no cluster file: no line of it begins with `apiVersion: gen/`"),
        ("docs", "it is a folder"),
        ("nope.yaml", "No such file"),
    ],
)
def test_check_says_what_is_no_cluster_file(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside one: what is named alone holds manifests."""
    assert run(["check", str(ROOT / "clusters/ml50/cluster.yaml"), str(ROOT / name)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (CLUSTER_TEXT.encode("utf-16"), "GEN-YAML-002"),
        (CLUSTER_TEXT.encode("utf-16-le"), "GEN-YAML-003"),
        (CLUSTER_TEXT.replace("\n", "\r").encode(), "GEN-YAML-003"),
        (b"\xef\xbb\xbfapiVersion: gen/v1alpha1\n", "GEN-SCHEMA"),
    ],
    ids=["UTF-16", "UTF-16 without its mark", "line ends of an old Mac", "a mark before the version"],
)
def test_a_cluster_file_is_known_as_one_however_it_was_saved(
    tmp_path: Path, content: bytes, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lab.yaml").write_bytes(content)
    assert run(["check", str(tmp_path / "lab.yaml")]) == 1
    assert f"error {code}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("clusters", "it holds the cluster files of the repository; check them: gen check"),
        ("base", "gen makes it of clusters/*/cluster.yaml; check those: gen check --rendered"),
        ("base/queues", "gen makes it of clusters/*/cluster.yaml; check those: gen check --rendered"),
        ("overlays", "gen makes it of clusters/*/cluster.yaml; check those: gen check --rendered"),
        *(
            (folder, "gen makes it of clusters/ml50/cluster.yaml; check that: gen check --rendered --cluster ml50")
            for folder in ("overlays/ml50", "overlays/ml50/queues", "clusters/ml50/bootstrap", "clusters/ml50/argocd")
        ),
    ],
)
def test_what_gen_makes_is_nothing_that_a_team_brings(
    path: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert run(["check", path]) == 2
    assert capsys.readouterr().err == f"gen: {path}: {told}\n"


def test_a_folder_of_a_cluster_is_checked_as_it(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository, "cni: calico", "cni: calicoo")
    assert run(["check", str(repository / "clusters/a30-bench")]) == 1
    assert "GEN-SCHEMA-004" in capsys.readouterr().out
    custom = repository / "overlays/a30-bench/queues/custom"
    custom.mkdir(parents=True)
    (repository / "gen.lock").touch()
    (custom / "one.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n")
    assert run(["check", "-C", "/", str(custom)]) == 0
    assert "1 object, 0 errors" in capsys.readouterr().out


def test_a_cluster_file_without_its_version_is_told_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, text = tmp_path / "lab.yaml", "kind: Cluster\nmetadata: {name: lab}\nspec: {}\n"
    file.write_text(text)
    assert run(["check", str(file)]) == 1
    assert "fix: add `apiVersion: gen/v1alpha1`" in capsys.readouterr().out
    # Cluster API has a kind of the same name.
    file.write_text(f"apiVersion: cluster.x-k8s.io/v1beta1\n{text}")
    assert run(["check", str(file)]) == 0
    assert "no CRD of Cluster.cluster.x-k8s.io" in capsys.readouterr().out


def warn(repository: Path, *waivers: str) -> None:
    """Bring a warning, GEN-MON-007 at monitoring.prometheus.retention, and waivers."""
    edit(repository, "retention: 62d", "retention: 12h")
    file = repository / "clusters/a30-bench/cluster.yaml"
    listed = "".join(
        f'    - {{code: GEN-MON-007, {each}reason: the disk is small, owner: me, expires: "2099-01-31"}}\n'
        for each in waivers
    )
    file.write_text(f"{file.read_text()}\n  waivers:\n{listed}" if waivers else file.read_text())


def test_strict_lets_a_warning_fail(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--strict", "-C", str(repository)]) == 0
    warn(repository)
    assert run(["check", "-C", str(repository)]) == 0
    assert "next: gen render" in capsys.readouterr().out
    assert run(["check", "--strict", "-C", str(repository)]) == 1
    out = capsys.readouterr().out
    assert "0 errors, 1 warning in 1 file" in out
    assert "next:" not in out


@pytest.mark.parametrize("on", ["", "on: monitoring.prometheus.retention, "])
def test_a_warning_can_be_accepted(repository: Path, on: str, capsys: pytest.CaptureFixture[str]) -> None:
    warn(repository, on)
    assert run(["check", "--strict", "-C", str(repository)]) == 0
    out = capsys.readouterr().out
    assert "1 accepted until 2099-01-31 by me: GEN-MON-007, the disk is small\n0 errors, 0 warnings" in out


def test_a_waiver_for_nothing_is_told(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warn(repository, "on: monitoring.zabbix, ")
    assert run(["check", "--strict", "-C", str(repository)]) == 1
    out = capsys.readouterr().out
    assert "warning GEN-MON-007" in out
    assert "warning GEN-WAIVER-002: nothing is found for GEN-MON-007 on monitoring.zabbix" in out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"2099-01-31"', '"2020-01-31"', "GEN-WAIVER-001"),
        ("code: GEN-MON-007", "code: GEN-MON-099", "GEN-WAIVER-003: GEN-MON-099 is no finding that can be waived"),
        ("code: GEN-MON-007", "code: GEN-NET-004", "GEN-WAIVER-003: GEN-NET-004 cannot be waived: it is an error"),
    ],
)
def test_a_wrong_waiver_is_told_by_a_plain_check(
    repository: Path, old: str, new: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    warn(repository, "")
    edit(repository, old, new)
    assert run(["check", "-C", str(repository)]) == 1
    out = capsys.readouterr().out
    assert words in out
    assert "warning GEN-MON-007" in out


def explained(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["explain", *arguments, "-C", str(ROOT)]) == code
    shown = capsys.readouterr()
    return shown.err if code else shown.out


def test_explain_shows_what_counts_for_a_node(capsys: pytest.CaptureFixture[str]) -> None:
    shown = explained(capsys, "ml50", "nodes.gpu-01")
    rows = {key: (value, where) for key, value, where in re.findall(r"^(\S+): (.*?)  +(.*)$", shown, re.MULTILINE)}
    lines = (ROOT / "clusters/ml50/cluster.yaml").read_text().splitlines()
    own = next(number for number, line in enumerate(lines, 1) if "name: gpu-01," in line)
    network = next(number for number, line in enumerate(lines, 1) if line.startswith("    node: {cidr"))
    assert rows["address"] == ("10.10.0.101", f"line {own}")
    assert rows["networks.node.mtu"] == ("9000", f"line {network}, networks.node")
    assert rows["networks.bmc.bond"] == ("[]", "gen's default")
    value, where = rows["hardware.cpu"]
    line = int(re.findall(r"line (\d+), pools.gpu-training", where)[0])
    assert lines[line - 1].strip().startswith(f"cpu: {value}")
    assert "null" not in shown


def test_explain_shows_what_a_node_overrides(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository, "{name: jw2,", "{labels: {example.org/a: b}, hardware: {cpu: 8}, name: jw2,")
    assert run(["explain", "a30-bench", "nodes.jw2", "-C", str(repository)]) == 0
    shown = capsys.readouterr().out
    own = re.findall(r"^name: jw2 +(line \d+)$", shown, re.MULTILINE)[0]
    assert re.search(rf"^hardware.cpu: 8 +{own}$", shown, re.MULTILINE)
    assert re.search(rf"^labels.example.org/a: b +{own}$", shown, re.MULTILINE)
    assert re.search(r"^hardware.memory: \S+ +line \d+, pools.bench$", shown, re.MULTILINE)


def test_explain_finds_things_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    shown = explained(capsys, "ml50", "nodes.gpu-01.hardware.cpu")
    assert shown.startswith("nodes.gpu-01.hardware.cpu: 128\ngiven in clusters/ml50/cluster.yaml:")
    assert explained(capsys, "ml50", "teams.vision").startswith("name: vision ")
    told = explained(capsys, "ml50", "teams.visionn", code=2)
    assert "teams has no `visionn`; it has 4 items, counted from 0; did you mean vision?" in told


def test_explain_names_the_sections(capsys: pytest.CaptureFixture[str]) -> None:
    shown = explained(capsys, "ml50", "")
    assert re.search(r"^kubernetes +line \d+$", shown, re.MULTILINE)
    assert re.search(r"^waivers +gen's default$", shown, re.MULTILINE)
    assert len(shown) < 1000


def test_explain_lists_the_codes(capsys: pytest.CaptureFixture[str]) -> None:
    shown = explained(capsys, "--codes")
    assert re.search(r"^GEN-NET-004 +error +\S", shown, re.MULTILINE)
    assert re.search(r"^GEN-WAIVER-002 +warning +\S", shown, re.MULTILINE)
    family = explained(capsys, "gen-mon", "--codes").splitlines()
    assert len(family) > 5
    assert all(line.startswith("GEN-MON-") for line in family)
    assert "no code begins with `GEN-X`" in explained(capsys, "GEN-X", "--codes", code=2)
    assert "gen explain GEN-NET-004" in explained(capsys, code=2)


def test_render_does_not_repeat_an_accepted_warning(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warn(repository)
    assert run(["render", "--dry-run", "-C", str(repository)]) == 0
    assert "GEN-MON-007" in capsys.readouterr().out
    edit(repository, "retention: 12h", "retention: 62d")
    warn(repository, "")
    assert run(["render", "--dry-run", "-C", str(repository)]) == 0
    assert "GEN-MON-007" not in capsys.readouterr().out


def test_a_second_cluster_has_addresses_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two", "three"):
        assert run(["init", name, "-C", str(tmp_path)]) == 0
    capsys.readouterr()
    assert run(["check", "--strict", "-C", str(tmp_path)]) == 0
    assert "10.12.0.11" in (tmp_path / "clusters/three/cluster.yaml").read_text()


@pytest.mark.parametrize("code", ["GEN-MON-001", "GEN-MON-002"])
def test_a_volume_is_offered_the_classes_that_there_are(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--output", "json", str(ROOT / f"tests/wrong/rules/{code}.yaml")])
    fixes = {each["code"]: each.get("fix") for each in json.loads(capsys.readouterr().out)["findings"]}
    assert fixes[code] == "storageClass: nfs"


def test_without_a_store_it_is_said_that_only_buckets_are_backed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", "lab", "-C", str(tmp_path)]) == 0
    file = tmp_path / "clusters/lab/cluster.yaml"
    backup = "{name: home, from: {store: home, bucket: b}, to: {bucket: c}, schedule: '0 1 * * *', size: 1T}"
    file.write_text(f"{file.read_text()}\n  backups: [{backup}]\n")
    run(["check", "-C", str(tmp_path)])
    assert (
        "fix: only buckets can be backed up: add storage.ceph.objectStores, or leave `store` out"
        in capsys.readouterr().out
    )


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something, those of a verb too."""
    if isinstance(command, click.Group):
        for each in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), each)
            assert below
            yield from commands(below, f"{name} {each}".strip())
    else:
        yield name, command


@pytest.mark.parametrize(("name", "command"), [*commands(cli, "")])
def test_every_option_says_what_it_is_and_what_counts_without_it(name: str, command: click.Command) -> None:
    for option in (each for each in command.params if isinstance(each, click.Option)):
        said, long = option.help or "", option.opts[-1]
        assert said[-1:] == ".", (name, long)
        without = ("Default: ", "Must be given", "With --")
        told = option.is_flag or option.show_default or any(word in said for word in without)
        assert told or long in str(command.help), f"gen {name} {long}: what counts without it?"
        assert not option.multiple or "may be repeated" in said, f"gen {name} {long}: can it be repeated?"
