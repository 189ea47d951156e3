"""`gen check --rendered` as people and programs see it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from reference import ROOT
from validation.schemas import shared

from generator.cli import run
from generator.cli.groups import FEW
from tools import need_kustomize

CLUSTER = "clusters/a30-bench/cluster.yaml"
CUSTOM = "overlays/a30-bench/tenants/custom/kustomization.yaml"
COMPONENT = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "namespace": "mlperf"}}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A repository with one small cluster, as rendered."""
    need_kustomize()
    (tmp_path / CLUSTER).parent.mkdir(parents=True)
    (tmp_path / CLUSTER).write_bytes((ROOT / CLUSTER).read_bytes())
    monkeypatch.chdir(tmp_path)
    assert run(["render"]) == 0
    capsys.readouterr()
    return tmp_path


def wrong(root: Path) -> None:
    """Put an object of the user's own that no API server takes."""
    (root / CUSTOM).write_text(json.dumps({**COMPONENT, "resources": ["x.yaml"]}))
    text = yaml.safe_dump({**SERVICE, "spec": {"prots": []}}, sort_keys=False)
    (root / CUSTOM).with_name("x.yaml").write_text(text)


def waive(root: Path, **waiver: str) -> None:
    said = {"reason": "until the new chart", "owner": "storage@", "expires": "2099-03-31", **waiver}
    with (root / CLUSTER).open("a") as file:
        file.write(f"  waivers:\n    - {json.dumps(said)}\n")


def test_what_is_wrong_is_shown_where_it_is_written(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong(root)
    assert run(["check", "--rendered"]) == 1
    assert (
        "overlays/a30-bench/tenants/custom/x.yaml:7:10 error GEN-API-001: "
        "Service mlperf/x: there is no field spec.prots\n"
        "    7 |   prots: []\n"
        "      |          ^^\n"
        "   fix: write `ports`\n"
    ) in capsys.readouterr().out


def test_what_cannot_be_judged_is_told_in_every_form(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--rendered"]) == 0
    text = capsys.readouterr().out
    assert "a30-bench: " in text
    assert "not judged: not vendored, so not seen: what argo-cd, argo-workflows, calico," in text
    assert re.match(r"\d\d findings have one cause: CRDs of a30-bench that are not vendored\n", text)
    assert text.count("GEN-API-004") == FEW
    assert run(["check", "--rendered", "--output", "github"]) == 0
    assert "::notice::a30-bench: not judged: not vendored" in capsys.readouterr().out
    assert run(["check", "--rendered", "--output", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert any("not vendored" in one for one in told["judged"]["a30-bench"]["notJudged"])
    assert {one["code"] for one in told["findings"]} == {"GEN-API-004"}
    assert told["findings"][0]["object"] == "APIServer default"
    assert root.exists()


def test_crds_at_hand_judge(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared("kueue")
    (root / CUSTOM).write_text(json.dumps({**COMPONENT, "patches": [patch("LocalQueue", "default")]}))
    assert run(["check", "--rendered", "--schemas", str(folder), "--output", "github"]) == 1
    shown = capsys.readouterr().out
    assert "title=GEN-API-001::LocalQueue mlperf/default: there is no field spec.nonsense" in shown
    assert "no CRD of LocalQueue" not in shown


def patch(kind: str, name: str) -> dict[str, Any]:
    operation = [{"op": "add", "path": "/spec/nonsense", "value": 1}]
    return {"target": {"kind": kind, "name": name}, "patch": json.dumps(operation)}


def test_a_waived_finding_is_counted(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong(root)
    waive(root, code="GEN-API-001", on="Service mlperf/x")
    assert run(["check", "--rendered"]) == 0
    shown = capsys.readouterr().out
    assert "GEN-API-001: Service" not in shown
    assert "1 waived until 2099-03-31 by storage@: GEN-API-001, until the new chart" in shown


def test_an_expired_waiver_is_an_error_at_its_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong(root)
    waive(root, code="GEN-API-001", on="Service mlperf/x", expires="2020-03-31")
    assert run(["check", "--rendered"]) == 1
    shown = capsys.readouterr().out
    line = len((root / CLUSTER).read_text().splitlines())
    assert f"{CLUSTER}:{line}:" in shown
    assert "error GEN-WAIVER-001: the waiver of storage@ for GEN-API-001 ended with 2020-03-31" in shown
    assert "error GEN-API-001: Service" in shown
    assert run(["check"]) == 1
    assert f"{CLUSTER}:{line}:" in capsys.readouterr().out
    assert run(["render"]) == 0


def test_a_waiver_that_holds_is_no_finding_of_a_plain_check(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waive(root, code="GEN-API-001")
    assert run(["check"]) == 0
    assert "GEN-WAIVER" not in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "a: [", "{{ .Values.x }}\n", "a: 1\n"])
def test_what_was_given_and_not_judged_fails(root: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "mine.yaml").write_text(content)
    assert run(["check", "--rendered", "mine.yaml", "--output", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["code"][:8] for one in told["findings"]] == ["GEN-FILE"]
    assert (told["judged"]["mine.yaml"]["errors"], told["judged"]["mine.yaml"]["objects"]) == (1, 0)
    assert run(["check", "--rendered", "mine.yaml"]) == 1
    assert "mine.yaml: 0 objects, 1 error, 0 warnings" in capsys.readouterr().out
    assert run(["check", "--rendered", "mine.yaml", "--output", "github"]) == 1
    assert "::error file=mine.yaml,line=1," in capsys.readouterr().out


def test_other_yaml_beside_objects_is_a_note_that_is_counted(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "mine").mkdir()
    (root / "mine/values.yaml").write_text("a: 1\n")
    (root / "mine/x.yaml").write_text(json.dumps({**SERVICE, "spec": {"ports": [{"port": 80}]}}))
    assert run(["check", "--rendered", "mine"]) == 0
    assert "mine: 1 object, 0 errors, 0 warnings, 1 note\n" in capsys.readouterr().out
    assert run(["check", "--rendered", "mine", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["judged"]["mine"]["notes"] == [
        "mine/values.yaml: holds no Kubernetes object"
    ]


def test_an_overlay_that_cannot_be_built_is_a_finding_beside_others(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong(root)
    broken = root / "overlays/a30-bench/queues/custom/kustomization.yaml"
    broken.write_text(json.dumps({**COMPONENT, "resources": ["absent.yaml"]}))
    assert run(["check", "--rendered"]) == 1
    shown = capsys.readouterr().out
    assert "overlays/a30-bench/queues/kustomization.yaml:1:1 error GEN-BUILD-001: Kustomize cannot build it: " in shown
    assert "   fix: mend what is yours in overlays/a30-bench/queues/custom/\n" in shown
    assert "error GEN-API-001: Service mlperf/x" in shown


def test_a_kubeconfig_is_of_one_cluster(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = root / "clusters/b/cluster.yaml"
    other.parent.mkdir()
    other.write_text((root / CLUSTER).read_text().replace("name: a30-bench", "name: b", 1))
    code = run(["check", "--server", "--kubeconfig", "absent"])
    assert (code, "choose one with --cluster" in capsys.readouterr().err) == (2, True)


def test_a_folder_is_judged_within_a_cluster(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queue = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x", "namespace": "mlperf"}}
    pod = {"restartPolicy": "Never", "containers": [{"name": "x", "image": "x:1.0.0"}], "serviceAccountName": "absent"}
    Path("mine.yaml").write_text(yaml.safe_dump({**queue, "spec": {"template": {"spec": pod}}}))
    assert run(["check", "--rendered", "mine.yaml", "--output", "json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone["findings"] == []
    assert any("reference" in one for one in alone["judged"]["mine.yaml"]["notJudged"])
    assert run(["check", "--rendered", "mine.yaml", "--cluster", "a30-bench", "--output", "json"]) == 1
    within = json.loads(capsys.readouterr().out)
    assert {one["file"] for one in within["findings"]} == {"mine.yaml"}
    assert "GEN-REF-001" in {one["code"] for one in within["findings"]}
    assert root.exists()


def test_a_cluster_waives_what_is_judged_as_part_of_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.yaml").write_text(yaml.safe_dump({**SERVICE, "spec": {"prots": []}}))
    within = ["check", "--rendered", "mine.yaml", "--cluster", "a30-bench"]
    assert run(within) == 1
    waive(root, code="GEN-API-001", on="Service mlperf/other")
    assert run(within) == 1
    (root / CLUSTER).write_text((root / CLUSTER).read_text().replace("mlperf/other", "mlperf/x"))
    capsys.readouterr()
    assert run(within) == 0
    assert "1 waived until 2099-03-31 by storage@: GEN-API-001" in capsys.readouterr().out
    assert run(["check", "--rendered", "mine.yaml"]) == 1


def test_a_wrong_cluster_file_is_told_before_anything_is_built(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / CLUSTER).write_text((root / CLUSTER).read_text().replace("podCIDR: 10.244.0.0/16", "podCIDR: x"))
    assert run(["check", "--rendered"]) == 1
    told = capsys.readouterr()
    assert "GEN-SCHEMA-" in told.out
    assert told.err.endswith("nothing was built\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.yaml"], "x.yaml: there is no such file or folder"),
        (["."], ".: cannot be read: it is a folder; its cluster files are checked with -C"),
        (["--rendered", "--namespace", "x"], "--namespace needs a PATH of manifests"),
        (["--schemas", "x"], "--schemas needs --rendered"),
        (["--rendered", "absent"], "absent: there is no such file or folder"),
        (["--rendered", "--schemas", "absent"], "--schemas absent: there is no such"),
        (["--rendered", "--cluster", "x"], "clusters/x/cluster.yaml: there is no such file"),
        (["--kubeconfig", "x"], "--kubeconfig and --context need --server"),
    ],
)
def test_wrong_usage_is_one_message(
    root: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert root.exists()


def test_every_code_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for code in ("GEN-API-001", "GEN-WAIVER-001", "GEN-SRV-001", "GEN-POD-001", "GEN-BUILD-001", "GEN-VEND-002"):
        assert run(["explain", code]) == 0
        assert capsys.readouterr().out.startswith(f"{code}: ")


def test_plain_checking_imports_nothing_heavy() -> None:
    """`gen check` itself must stay as fast as it was."""
    program = "import sys; from generator.cli import run; run(['check', '-C', sys.argv[1]]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, str(ROOT)], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "generator.checks" in loaded
    assert not {
        one for one in loaded if one.startswith(("generator.build", "generator.rules", "generator.live", "kubernetes"))
    }
    assert "jsonschema" not in loaded


def test_a_folder_with_clusters_of_somebody_else_holds_manifests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As repositories of Flux have it; one of gen's is judged from within, or with -C."""
    monkeypatch.chdir(tmp_path)
    service = tmp_path / "theirs/clusters/staging/service.yaml"
    service.parent.mkdir(parents=True)
    service.write_text(json.dumps({**SERVICE, "spec": {"ports": [{"port": 80}]}}))
    assert run(["check", "theirs"]) == 0
    assert "theirs: 1 object, 0 errors" in capsys.readouterr().out
    service.with_name("cluster.yaml").write_text("apiVersion: gen/v1alpha1\n")
    assert run(["check", "theirs"]) == 2
