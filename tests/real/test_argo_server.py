"""`gen workflow --argo-server` and Argo's real server, on a real API server with the real kinds. No controller runs:
how a run goes is played, and so is the kubelet that gives logs.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from argoserver import OPERATOR, READER, Site, of, prepared
from kubeletplayed import LOGS
from minioserver import certificates
from reference import ROOT

from generator.cli import run
from generator.components.rook_ceph import NAMESPACE
from generator.live.apiserver import tries

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.argoserver

Gen = Callable[..., tuple[int, str, str]]
STEP = "1234567890"
NOTE = "does not tell of which cluster it is"


@pytest.fixture(scope="module")
def prepared_site(api: "ApiServer", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with prepared(api, tmp_path_factory.mktemp("argo")) as site:
        yield site


@pytest.fixture(scope="module")
def site(prepared_site: Site) -> Iterator[Site]:
    with prepared_site.serving():
        yield prepared_site


@pytest.fixture
def gen(prepared_site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Gen:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(prepared_site.folder))

    def call(*words: str, token: str = "", ca: str = "", by: str = OPERATOR) -> tuple[int, str, str]:
        monkeypatch.setenv("ARGO_TOKEN", token or f"Bearer {prepared_site.token(by)}")
        trust = () if ca == "system" else ("--argo-ca", ca or str(prepared_site.ca))
        at = (
            "--argo-server",
            prepared_site.url,
            *trust,
            "--namespace",
            NAMESPACE,
            "--cluster",
            "ml50",
            "-C",
            str(ROOT),
        )
        code = run(["workflow", *words, *at])
        return (code, *capsys.readouterr())

    return call


def begun(out: str) -> str:
    found = re.match(r"(\S+) begins", out)
    assert found, out
    return found[1]


def test_an_operation_is_run_watched_stopped_and_run_once_more(site: Site, gen: Gen) -> None:
    code, out, err = gen("list")
    assert code == 0, err
    assert "backup-datasets" in out
    assert "0 17 * * *" in out
    assert NOTE in err
    assert gen("submit", "backup-datasets", "--dry-run")[:2] == (
        0,
        "backup-datasets would run with this; nothing was begun\n",
    )
    code, out, err = gen("submit", "backup-datasets", "-p", "shrink-percent=100")
    assert code == 0, err
    name = begun(out)
    stored = site.run(name)
    assert stored["spec"]["workflowTemplateRef"] == {"name": "backup"}
    values = {one["name"]: one["value"] for one in stored["spec"]["arguments"]["parameters"]}
    assert (values["shrink-percent"], values["source-bucket"]) == ("100", "datasets")
    step = {"id": f"{name}-{STEP}", "name": f"{name}.mirror", "displayName": "mirror", "type": "Pod"}
    played = {**step, "phase": "Running", "boundaryID": name, "startedAt": "2026-01-01T00:00:00Z"}
    site.play(name, phase="Running", progress="0/1", nodes={f"{name}-{STEP}": played})
    assert "● mirror" in gen("show", name)[1]
    assert json.loads(gen("show", name, "--output", "json")[1])["phase"] == "Running"
    assert "still runs" in gen("retry", name)[2]
    assert gen("stop", name)[0] == 0
    assert site.run(name)["spec"]["shutdown"] == "Stop"
    site.play(name, phase="Failed", message="stopped", finishedAt="2026-01-01T00:00:30Z")
    code, out, _ = gen("watch", name)
    assert (code, out.splitlines()[-1]) == (1, f"{name} Failed, 0/1 steps, 30 s: stopped")
    code, out, err = gen("retry", name)
    assert code == 0, err
    again = site.run(begun(out))
    assert again["metadata"]["annotations"]["gen.internal/again"] == name
    assert [one["value"] for one in again["spec"]["arguments"]["parameters"] if one["name"] == "shrink-percent"] == [
        "100"
    ]
    assert gen("stop", begun(out), "--now")[0] == 0
    assert site.run(begun(out))["spec"]["shutdown"] == "Terminate"
    for _ in tries(30):  # the server keeps a list of its own, a moment behind
        if begun(out) in (listed := gen("list")[1]):
            break
    assert begun(out) in listed


def test_what_a_pod_prints_is_told(site: Site, gen: Gen) -> None:
    name = begun(gen("submit", "backup-datasets")[1])
    pod = f"{name}-mirror-{STEP}"
    played = {"id": f"{name}-{STEP}", "name": f"{name}.mirror", "displayName": "mirror", "type": "Pod"}
    played |= {"phase": "Succeeded", "boundaryID": name, "startedAt": "2026-01-01T00:00:00Z"}
    site.play(name, phase="Succeeded", nodes={f"{name}-{STEP}": played})
    labels = {"workflows.argoproj.io/workflow": name}
    made = of(
        "v1", "Pod", pod, NAMESPACE, spec={"nodeName": "worker-1", "containers": [{"name": "main", "image": "x"}]}
    )
    made["metadata"] |= {"labels": labels, "annotations": {"workflows.argoproj.io/node-id": f"{name}-{STEP}"}}
    site.api.apply(of("v1", "ServiceAccount", "default", NAMESPACE))
    site.api.apply(made)
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/status"
    site.api.request("PATCH", path, {"status": {"phase": "Succeeded"}}, patch="merge-patch+json")
    lines = ("copied 30 objects", "<한글> 100%", "time=x msg=y argo=true")
    LOGS[pod] = "".join(f"2026-01-01T00:00:0{at}.5Z {line}\n" for at, line in enumerate(lines))
    code, out, err = gen("logs", name)
    assert (code, out) == (0, "mirror | copied 30 objects\nmirror | <한글> 100%\n"), err


@pytest.mark.usefixtures("site")
def test_who_may_only_read_begins_nothing(gen: Gen) -> None:
    assert gen("list", by=READER)[0] == 0
    code, out, err = gen("submit", "backup-datasets", by=READER)
    assert (code, out) == (2, "")
    assert "does not let you begin a run" in err
    assert 'cannot create resource "workflows"' in err
    assert "ask for that right" in err


@pytest.mark.usefixtures("site")
def test_what_is_not_there_is_told(gen: Gen) -> None:
    assert (
        "the cluster has no operation backup-dataset; did you mean backup-datasets"
        in gen("submit", "backup-dataset")[2]
    )
    assert "there is no run nothing-of-that" in gen("watch", "nothing-of-that")[2]


def test_a_token_that_is_wrong_or_ended_is_refused_and_not_told(site: Site, gen: Gen) -> None:
    good = site.token(OPERATOR)
    for token in (good[:-8] + "AAAAAAAA", site.ended_token(OPERATOR), "Bearer nonsense"):
        code, out, err = gen("list", token=token)
        assert (code, out) == (2, ""), err
        assert "does not know who we are" in err, err
        assert "renew the token" in err
        assert token[-20:] not in err


@pytest.mark.usefixtures("site")
def test_only_a_server_that_is_trusted_is_asked(gen: Gen, tmp_path: Path) -> None:
    other = certificates(tmp_path / "other") / "CAs/ca.crt"
    for ca in ("system", str(other)):
        code, _, err = gen("list", ca=ca)
        assert code == 2
        assert "its certificate is not trusted here" in err, err
        assert "--argo-ca" in err
    wrong = tmp_path / "empty.crt"
    wrong.write_text("nothing")
    code, _, err = gen("list", ca=str(wrong))
    assert (code, "holds no certificate" in err) == (2, True), err


def test_a_server_that_is_away_is_told(prepared_site: Site, gen: Gen) -> None:
    url, prepared_site.url = prepared_site.url, "https://127.0.0.1:1"
    code, _, err = gen("list")
    prepared_site.url = url
    assert code == 2
    assert "is the server running and reachable from here?" in err
