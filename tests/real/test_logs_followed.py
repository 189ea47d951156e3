"""`gen workflow logs --follow` through a real API server, which asks a played kubelet: its answers come late, end
in the middle, and stop. Logs of real pods are read in `test_live_workflows.py`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kubeletplayed import ASKED, CUT, LOGS, kubelet, node
from ports import free_port
from reference import ROOT, load

from generator.cli import run
from generator.day2.workflows.ways import OF_RUN, OF_STEP
from generator.live.identity import record

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

SPACE = "rook-ceph"
WORKFLOWS = f"/apis/argoproj.io/v1alpha1/namespaces/{SPACE}/workflows"
STARTED = "2026-01-01T00:00:00Z"


class Site:
    """The API server, a run there, and the words that ask for its logs."""

    def __init__(self, api: "ApiServer", folder: Path) -> None:
        self.api, self.nodes = api, dict[str, Any]()
        api.kubeconfig(folder / "admin.conf")
        where = ("--cluster", "ml50", "--kubeconfig", str(folder / "admin.conf"), "-C", str(ROOT))
        self.words = ["workflow", "logs", "backup-x", "--follow", *where]
        api.install("argo-workflows/v4.0.2/crds")
        api.namespace(SPACE)
        api.apply(record(load("ml50")))
        api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": SPACE}})
        metadata = {"name": "backup-x", "namespace": SPACE}
        api.apply({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": {}})
        self.phase("Running")

    def phase(self, phase: str) -> None:
        """Let the run be so far; its pods end with it."""
        status = {"phase": phase, "startedAt": STARTED, "nodes": self.nodes}
        path = f"{WORKFLOWS}/backup-x"
        code, answer = self.api.request("PATCH", path, {"status": status}, patch="merge-patch+json")
        assert code == 200, answer
        for step in self.nodes.values() if phase != "Running" else ():
            path = f"/api/v1/namespaces/{SPACE}/pods/{step['displayName']}/status"
            code, answer = self.api.request("PATCH", path, {"status": {"phase": phase}}, patch="merge-patch+json")
            assert code == 200, answer

    def begin(self, pod: str, on: str = "worker-1") -> None:
        """Have a pod, of a step that is called like it."""
        self.nodes[f"backup-x-{pod}"] = {
            "id": f"backup-x-{pod}",
            "name": f"backup-x.{pod}",
            "displayName": pod,
            "type": "Pod",
            "phase": "Running",
            "boundaryID": "backup-x",
            "startedAt": STARTED,
        }
        self.phase("Running")
        labels, known = {OF_RUN: "backup-x"}, {OF_STEP: f"backup-x-{pod}"}
        metadata = {"name": pod, "namespace": SPACE, "labels": labels, "annotations": known}
        containers = [{"name": "main", "image": "registry.example.org/any:1"}]
        spec = {"nodeName": on, "containers": containers}
        self.api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    from apiserver import start

    (tmp_path / "server").mkdir()
    with start(tmp_path / "server") as api, kubelet(api.certificate) as port:
        node(api, "worker-1", port)
        yield Site(api, tmp_path)
        for kept in (LOGS, ASKED, CUT):
            kept.clear()


def test_lines_are_told_once_over_broken_answers_and_clock_zones(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line of the time of the last look is told again by the kubelet, which knows whole seconds, and not by gen."""
    told: list[str] = []

    def begins() -> None:
        site.begin("mirror")  # of which the kubelet knows nothing yet

    def prints() -> None:
        LOGS["mirror"] = "2026-10-25T02:59:59.900000000+02:00 one\n2026-10-25T02:00:00.100000000+01:00 tw"

    def breaks() -> None:
        LOGS["mirror"] += "o\n" + "".join(f"2026-10-25T02:00:0{at}.500000000+01:00 line {at}\n" for at in range(1, 9))
        LOGS["mirror"] += "2026-10-25T02:00:09.500000000+01:00 50 %\r100 %\n"
        CUT.add("mirror")

    def later() -> None:
        site.begin("verify")
        LOGS["verify"] = "2026-10-25T01:00:10.000000000Z alike\n"

    steps: list[Callable[[], None]] = [begins, prints, breaks, later, lambda: site.phase("Failed")]

    def sleep(_: float) -> None:
        told.append(capsys.readouterr().out)
        steps.pop(0)()

    monkeypatch.setattr("generator.cli.workflow.time.sleep", sleep)
    assert run(site.words) == 0
    out, err = capsys.readouterr()
    assert told[:3] == ["", "", "mirror | one\n"]
    lines = ["one", "two", *(f"line {at}" for at in range(1, 9)), r"50 %\r100 %"]
    assert "".join([*told, out]) == "".join(f"mirror | {line}\n" for line in lines) + "verify | alike\n", err
    assert any("sinceTime=2026-10-25T00%3A59%3A59Z" in one for one in ASKED), ASKED


def test_a_node_that_does_not_answer_hides_no_other(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    node(site.api, "worker-2", free_port())
    site.begin("mirror", "worker-2")
    site.begin("verify")
    LOGS["verify"] = "2026-01-01T00:00:10.000000000Z alike\n"
    monkeypatch.setattr("generator.cli.workflow.time.sleep", lambda _: site.phase("Failed"))
    assert run(site.words) == 2
    out, err = capsys.readouterr()
    assert out == "verify | alike\n"
    assert err.startswith("mirror: https://")
    assert "connection refused" in err
