"""`gen check PATH` over manifests that somebody brings."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from reference import ROOT

from generator.cli import run
from tools import need_kustomize

JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      serviceAccountName: trainer
      containers:
        - name: main
          image: example.org/train
"""


@pytest.fixture
def brought(tmp_path: Path) -> Path:
    """A folder of a team, outside of any repository."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work/job.yaml").write_text(JOB)
    return tmp_path / "work"


@pytest.fixture
def root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A repository with one small cluster, as rendered."""
    need_kustomize()
    root = tmp_path / "clusters-repository"
    copied(root, "a30-bench")
    assert run(["render", "-C", str(root)]) == 0
    capsys.readouterr()
    return root


def copied(root: Path, name: str) -> None:
    file = root / f"clusters/{name}/cluster.yaml"
    file.parent.mkdir(parents=True)
    file.write_bytes((ROOT / f"clusters/{name}/cluster.yaml").read_bytes())


def codes(capsys: pytest.CaptureFixture[str]) -> set[str]:
    return {one["code"] for one in json.loads(capsys.readouterr().out)["findings"]}


def test_a_folder_is_judged_without_any_repository(
    brought: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(brought)
    assert run(["check", "."]) == 1
    out = capsys.readouterr().out
    assert "job.yaml:11:18 error GEN-IMG-001: Job train: the image example.org/train has no tag\n" in out
    assert "as part of no cluster (--cluster NAME names one)" in out


ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: trainer}\n"


def test_files_are_judged_together_if_no_object_is_in_two(
    root: Path, brought: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job, account, again = (brought / name for name in ("job.yaml", "account.yaml", "again.yaml"))
    account.write_text(ACCOUNT)
    again.write_text(JOB)
    words = ["check", "-C", str(root), "--namespace", "mlperf", "--output", "json"]
    assert run([*words, str(job)]) == 1
    assert "GEN-REF-001" in codes(capsys)
    assert run([*words, str(job), str(account)]) == 1
    assert "GEN-REF-001" not in codes(capsys), "the account is in the other file"
    assert run([*words[:-2], str(job), str(account)]) == 1
    assert f"{job} and 1 more file within a30-bench: 2 objects" in capsys.readouterr().out
    assert run([*words[:-2], str(job), str(account), str(job)]) == 1
    assert f"{job} and 1 more file within a30-bench: 2 objects" in capsys.readouterr().out, "a file named twice is one"
    assert run(["check", "-C", str(root), str(job), str(account), str(again)]) == 1
    said = capsys.readouterr().out
    assert [f"{one} within a30-bench: 1 object," in said for one in (job, account, again)] == [True] * 3


def test_without_a_cluster_each_file_is_judged_by_itself(brought: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody knows what is applied together: any custom resource might make the pods that a Service selects."""
    labels = "{app: web}"
    spec = f"{{selector: {{matchLabels: {labels}}}, template: {{metadata: {{labels: {labels}}}}}}}"
    service = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: wbe}, ports: [{port: 80}]}\n"
    )
    deployment = f"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {spec}\n"
    (brought / "service.yaml").write_text(service + deployment)
    (brought / "custom.yaml").write_text("apiVersion: example.org/v1\nkind: Web\nmetadata: {name: web}\n")
    words = ["check", "--rendered", "--namespace", "default", "--output", "json"]
    assert run([*words, str(brought / "service.yaml"), str(brought / "custom.yaml")]) == 1
    assert "GEN-SEL-001" in codes(capsys)


def test_it_is_judged_within_the_only_cluster(root: Path, brought: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", "-C", str(root), str(brought), "--output", "json"]
    assert run(words) == 1
    assert codes(capsys) == {"GEN-API-005", "GEN-IMG-001", "GEN-REF-001"}
    # Nothing is meant by that where the repository itself is asked about.
    assert run([*words, "--rendered"]) == 1
    assert codes(capsys) == {"GEN-IMG-001"}


def test_of_several_clusters_none_is_meant_until_one_is_named(
    root: Path, brought: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(root, "ml50")
    words = ["check", "-C", str(root), str(brought), "--output", "json"]
    assert run(words) == 1
    assert codes(capsys) == {"GEN-IMG-001"}
    assert run([*words, "--cluster", "a30-bench"]) == 1
    assert "GEN-REF-001" in codes(capsys)


def test_what_names_no_namespace_goes_where_it_is_said(
    root: Path, brought: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "-C", str(root), str(brought), "--namespace", "mlperf"]) == 1
    out = capsys.readouterr().out
    assert "job.yaml:8:27 error GEN-REF-001: Job mlperf/train: there is no ServiceAccount mlperf/trainer\n" in out
    assert "GEN-QUEUE-002: Job mlperf/train: names no queue" in out
    assert "GEN-API-005" not in out


def test_what_names_its_namespace_or_has_none_stays(
    root: Path, brought: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (brought / "job.yaml").write_text(JOB.replace("{name: train}", "{name: train, namespace: tools}"))
    (brought / "class.yaml").write_text(
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: mine}\nvalue: 5\n"
    )
    assert run(["check", "-C", str(root), str(brought), "--namespace", "mlperf"]) == 1
    out = capsys.readouterr().out
    assert "Job tools/train" in out
    assert "PriorityClass mlperf/mine" not in out
    assert "GEN-API-005" not in out


def test_of_kinds_that_nobody_knows_the_name_tells_whether_they_live_in_a_namespace(
    root: Path, brought: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for version, kind in (
        ("example.org/v1", "ClusterThing"),
        ("example.org/v1", "Thing"),
        ("policy/v1beta1", "PodSec"),
    ):
        (brought / f"{kind}.yaml").write_text(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n")
    assert run(["check", "-C", str(root), str(brought), "--namespace", "mlperf"]) == 1
    out = capsys.readouterr().out
    assert "ClusterThing x: " in out
    assert ": Thing mlperf/x: " in out
    assert "PodSec x: " in out


def test_lists_of_one_kind_are_judged_where_they_are_written(brought: Path, capsys: pytest.CaptureFixture[str]) -> None:
    item = "  - metadata: {name: x}\n    spec: {containers: [{name: main, image: example.org/x}]}\n"
    (brought / "job.yaml").write_text(f"apiVersion: v1\nkind: PodList\nitems:\n{item}")
    assert run(["check", str(brought)]) == 1
    assert "job.yaml:5:45 error GEN-IMG-001: Pod x: the image example.org/x has no tag\n" in capsys.readouterr().out


def test_a_tab_is_called_by_its_name(brought: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (brought / "job.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata:\n\tname: x\n")
    assert run(["check", str(brought)]) == 1
    out = capsys.readouterr().out
    assert "job.yaml:4:1 error GEN-FILE-001: cannot be read: it is indented with a tab" in out
    assert "fix: put spaces in place of tabs" in out


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\xff\x01",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: " + b"[" * 9999 + b"]" * 9999,
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {}\nspec: {}\n",
        b"- 1\n---\n---\n5\n",
        b"",
    ],
)
def test_what_is_no_manifest_ends_in_a_finding(
    brought: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (brought / "job.yaml").write_bytes(content)
    (brought / "loop").symlink_to(brought)
    (brought / "nowhere.yaml").symlink_to(brought / "absent.yaml")
    assert run(["check", str(brought)]) == 1
    assert "error GEN-FILE-00" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["/dev/zero"], "gen: /dev/zero: it is a device, which may never end; name a file or a pipe\n"),
        (["-"], "gen: standard input: it has more than 64 MiB, the most that is read; name another, or parts\n"),
        (["tests/wrong/brought", "--schemas", "/dev/zero"], "gen: /dev/zero: it is a device"),
    ],
)
def test_what_never_ends_is_not_read(words: list[str], told: str) -> None:
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(
            [sys.executable, "-m", "generator", "check", *words],
            stdin=endless, capture_output=True, text=True, cwd=ROOT, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(told)


@pytest.mark.parametrize("name", ["/dev/stdin", "-"])
def test_a_pipe_brings_manifests_and_no_cluster_file(name: str) -> None:
    def checked(text: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "generator", "check", name]
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=False)
        return done.returncode, done.stdout + done.stderr

    code, said = checked("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n")
    assert (code, "1 object, 0 errors" in said) == (0, True)
    code, said = checked((ROOT / "clusters/ml50/cluster.yaml").read_text())
    assert (code, "this is a cluster file" in said) == (2, True)
