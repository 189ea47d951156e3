"""`gen workflow` on a fake of an API server, and through a played server of Argo's in front of it: what it asks, tells
and answers is the same. What workflows do with it is tried on the real controller, and on the real server of Argo's.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from argoplayed import TOKEN, ArgoPlayed
from livecluster import LiveCluster, living
from loopback import serving
from reference import ROOT, load

from generator.cli import run, workflow
from generator.components import compose
from generator.live.identity import record

CLUSTER = load("ml50")
Gen = Callable[..., tuple[int, str, str]]


@pytest.fixture
def there(tmp_path: Path) -> Iterator[LiveCluster]:
    (component,) = [one for one in compose(CLUSTER) if one.name == "workflows"]
    templates = [one for each in component.operations for one in each.templates]
    with living(tmp_path, record(CLUSTER), *templates, *component.objects) as (cluster, _):
        yield cluster


@pytest.fixture(params=["--kubeconfig", "--argo-server"])
def way(
    request: pytest.FixtureRequest, there: LiveCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str]]:
    """The option that says where the cluster is, both ways."""
    monkeypatch.setenv("ARGO_TOKEN", f"Bearer {TOKEN}")
    with serving(ArgoPlayed(there).reply) as url:
        yield request.param, url if request.param == "--argo-server" else str(tmp_path / "kubeconfig")


@pytest.fixture
def gen(there: LiveCluster, way: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> Gen:
    assert there.get("WorkflowTemplate", "backup")

    def call(*words: str) -> tuple[int, str, str]:
        code = run(["workflow", *words, "--cluster", "ml50", *way, "-C", str(ROOT)])
        return (code, *capsys.readouterr())

    return call


def begun(there: LiveCluster) -> dict[str, Any]:
    (one,) = [each for each in there.objects.values() if each["kind"] == "Workflow"]
    return one


def set_phase(there: LiveCluster, phase: str, **more: Any) -> None:
    begun(there)["status"] = {"phase": phase, "startedAt": "2026-01-01T00:00:00Z", **more}


def test_what_can_be_run_is_listed(gen: Gen) -> None:
    code, out, _ = gen("list")
    assert code == 0
    assert "backup-datasets" in out
    assert "0 17 * * *" in out
    assert "nothing runs, and no run is kept" in out
    data = json.loads(gen("list", "--output", "json")[1])
    ways = {f"{way}-{name}" for way in ("backup", "restore", "drill") for name in ("datasets", "checkpoints")}
    assert {one["name"] for one in data["operations"]} == {"backup", "drill", *ways}


def test_what_an_operation_does_is_told_and_what_is_of_the_cluster(gen: Gen) -> None:
    assert "Bring a bucket back from its backup" in gen("list")[1]
    for name in ("backup-datasets", "restore-datasets"):
        people, _, cluster = gen("show", name)[1].partition("of the cluster, seldom given:")
        assert "docs/operations.md#" in people
        assert "-secret" not in people
        assert "keys" in cluster
    code, _, err = gen("submit", "backup-datasets", "-p", "target-bucket=x", "-p", "shrink-percent=100")
    assert code == 0
    assert [one for one in err.splitlines() if "seldom given" in one] == [
        "note: target-bucket is of the cluster, and seldom given: the bucket, or the folder, of the backup."
    ]


def test_a_schedule_is_run_with_its_values_and_found_as_its_backup(gen: Gen, there: LiveCluster) -> None:
    code, out, _ = gen("submit", "backup-datasets", "-p", "shrink-percent=100")
    assert code == 0
    made = begun(there)
    assert f"{made['metadata']['name']} begins; next: gen workflow watch" in out
    assert made["metadata"]["labels"]["gen.internal/backup"] == "datasets"
    values = {one["name"]: one["value"] for one in made["spec"]["arguments"]["parameters"]}
    assert values["source-bucket"] == "datasets"
    assert values["shrink-percent"] == "100"


def test_a_dry_run_begins_nothing(gen: Gen, there: LiveCluster) -> None:
    code, out, _ = gen("submit", "backup-datasets", "--dry-run")
    assert (code, out) == (0, "backup-datasets would run with this; nothing was begun\n")
    assert not there.get("Workflow", "backup-datasets")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("submit", "backup-dataset"), "did you mean backup-datasets"),
        (("submit", "backup"), "say -p name=... -p source-url=..."),
        (("submit", "backup-datasets", "-p", "=1"), "say NAME=VALUE"),
        (("submit", "backup-datasets", "-p", "sample=1", "-p", "sample=2"), "-p sample is said twice"),
        (("retry", "nothing-of-that", "-p", "sample"), "-p sample: say NAME=VALUE"),
        (("show", "nothing-of-that"), "the cluster has no operation nothing-of-that"),
        (("watch", "nothing-of-that"), "there is no run nothing-of-that"),
        (("watch", "x/../../secrets/y"), "there is no run x/../../secrets/y"),
        (("list", "--namespace", "../x"), "`../x` cannot be the name of a namespace"),
    ],
)
def test_wrong_words_get_one_sentence(gen: Gen, there: LiveCluster, words: tuple[str, ...], said: str) -> None:
    code, out, err = gen(*words)
    assert (code, said in err) == (2, True), out + err
    assert there.writes == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("backup-datasets", "-p", "sampel=1"), "backup-datasets has no parameter sampel; did you mean sample?"),
        (("backup-datasets", "-p", "sample=all"), "sample is all, and must be a number"),
        (("node-maintenance", "-p", "action=fils"), "action is fils, and must be one of"),
        (("backup",), "say -p name=..."),
        (("burn-in", "-p", "x"), "-p x: say NAME=VALUE"),
    ],
)
def test_what_the_repository_tells_is_told_before_a_server_is_asked(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = ("--kubeconfig", "/nowhere", "--cluster", "ml50", "-C", str(ROOT))
    assert run(["workflow", "submit", *words, *nowhere]) == 2
    assert said in capsys.readouterr().err


def test_what_is_patched_here_the_cluster_alone_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "clusters/ml50", tmp_path / "clusters/ml50")
    words = ["workflow", "submit", "backup-datasets", "-p", "mine=1", "--kubeconfig", "/nowhere", "-C", str(tmp_path)]
    assert run(words) == 2
    assert "has no parameter mine" in capsys.readouterr().err
    custom = tmp_path / "overlays/ml50/workflows/custom"
    custom.mkdir(parents=True)
    (custom / "patch.yaml").write_text("kind: WorkflowTemplate\n")
    assert run(words) == 2
    assert "/nowhere" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["--kubeconfig"], indirect=True)
def test_another_cluster_is_refused(gen: Gen, there: LiveCluster) -> None:
    there.get("ConfigMap", "gen")["data"]["cluster"] = "lab"
    code, _, err = gen("submit", "backup-datasets")
    assert code == 2
    assert "is the cluster lab, not ml50" in err


def test_a_run_is_stopped_and_done_once_more_with_its_values(gen: Gen, there: LiveCluster) -> None:
    gen("submit", "backup-datasets", "-p", "sample=7")
    name = begun(there)["metadata"]["name"]
    assert "still runs" in gen("retry", name)[2]
    assert gen("stop", name)[0] == 0
    assert begun(there)["spec"]["shutdown"] == "Stop"
    set_phase(there, "Failed", message="child 'mirror' failed")
    assert gen("stop", name)[1] == f"{name} ended already: Failed\n"
    assert "child 'mirror' failed" in gen("show", name)[1]
    assert gen("retry", name, "-p", "shrink-percent=100")[0] == 0
    (again,) = [one for one in there.objects.values() if one["kind"] == "Workflow" and one["metadata"]["name"] != name]
    values = {one["name"]: one["value"] for one in again["spec"]["arguments"]["parameters"]}
    assert (values["sample"], values["shrink-percent"], values["name"]) == ("7", "100", "datasets")
    assert again["metadata"]["generateName"] == "backup-datasets-"
    assert again["metadata"]["annotations"] == {"gen.internal/again": name}


@pytest.mark.parametrize("way", ["--kubeconfig"], indirect=True)
def test_a_run_that_somebody_suspended_is_stopped_as_well(gen: Gen, there: LiveCluster) -> None:
    """The controller looks at none that is suspended, whatever else stands in it."""
    gen("submit", "backup-datasets")
    begun(there)["spec"]["suspend"] = True
    assert gen("stop", begun(there)["metadata"]["name"])[0] == 0
    assert begun(there)["spec"]["shutdown"] == "Stop"
    assert not begun(there)["spec"].get("suspend")


def test_a_watch_outlives_a_server_that_goes_away(
    gen: Gen, there: LiveCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    gen("submit", "backup-datasets")
    name = begun(there)["metadata"]["name"]
    set_phase(there, "Running")
    sleeps: list[float] = []

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        away = len(sleeps) < 9
        there.refuses = {".*": (503, "ServiceUnavailable", "starting")} if away else {}
        if not away:
            set_phase(there, "Succeeded", finishedAt="2026-01-01T00:00:30Z")

    monkeypatch.setattr("time.sleep", sleep)
    code, out, err = gen("watch", name)
    assert code == 0, err
    assert err.count("looking again until it answers") == 1
    assert out.endswith(f"{name} Succeeded, 30 s\n")
    assert workflow.PAUSE in sleeps
