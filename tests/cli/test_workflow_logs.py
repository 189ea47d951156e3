"""`gen workflow logs --follow` on a fake of an API server, and through a played server of Argo's: what pods print comes
as they print it, each line once. It reads the logs of real pods in `tests/real/test_live_workflows.py`.
"""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from argoplayed import TOKEN, ArgoPlayed
from livecluster import LiveCluster
from loopback import config, serving
from podlogs import PodLogs
from reference import ROOT, load

from generator.cli import run
from generator.live.identity import record

RUN = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Workflow",
    "metadata": {"name": "backup-x", "namespace": "rook-ceph"},
    "spec": {},
}
BOTH = ("--kubeconfig", "--argo-server")
API = pytest.mark.parametrize("way", ["--kubeconfig"], indirect=True)
PROGRAM = """import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs in the background may have been told to ignore it
from generator.__main__ import main
main()"""


@pytest.fixture
def pods() -> PodLogs:
    cluster = LiveCluster(record(load("ml50")))
    return PodLogs(cluster, ArgoPlayed(cluster), cluster.add(RUN))


@pytest.fixture(params=BOTH)
def way(
    request: pytest.FixtureRequest, pods: PodLogs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    """The words that ask for the logs, both ways."""
    monkeypatch.setenv("ARGO_TOKEN", TOKEN)
    argo = request.param == "--argo-server"
    with serving(pods.server if argo else pods.kubelet) as url:
        place = [request.param, url if argo else str(config(tmp_path, url))]
        yield ["workflow", "logs", "backup-x", "--follow", "--cluster", "ml50", *place, "-C", str(ROOT)]


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What happens between looks, one after the other; the last is repeated."""

    def happen(*steps: Callable[[], object]) -> None:
        left = list(steps)
        monkeypatch.setattr("time.sleep", lambda _: (left.pop(0) if len(left) > 1 else left[0])())

    return happen


def at(second: float, line: str) -> str:
    return f"2026-01-01T00:00:{second:06.3f}000000Z {line}"


def test_what_is_printed_is_told_once_until_the_run_ends(
    pods: PodLogs, way: list[str], between: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A pod begins later, another ends meanwhile, and one prints its last line as the run ends."""
    told: list[str] = []
    pods.begin("mirror", at(1, "one"), at(1, "two"))

    def later() -> None:
        told.append(capsys.readouterr().out)
        pods.lines[pods.pod("mirror")].append(at(1, "three"))
        pods.begin("verify", at(2, "alike"))

    def last() -> None:
        told.append(capsys.readouterr().out)
        pods.lines[pods.pod("verify")].append(at(3, "all of it"))
        pods.end("Failed")

    between(later, lambda: None, last)
    assert run(way) == 0
    told.append(capsys.readouterr().out)
    assert told == ["mirror | one\nmirror | two\n", "mirror | three\nverify | alike\n", "verify | all of it\n"]


def test_a_pod_that_is_gone_hides_no_other(
    pods: PodLogs, way: list[str], between: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its node was lost, or somebody deleted it."""
    pods.begin("mirror", at(1, "one"))
    pods.begin("verify", at(2, "alike"))

    def gone() -> None:
        pod = pods.pod("mirror")
        del pods.cluster.objects[f"/api/v1/namespaces/rook-ceph/pods/{pod}"], pods.lines[pod]
        pods.lines[pods.pod("verify")].append(at(3, "on"))

    between(gone, lambda: pods.end("Succeeded"))
    assert run(way) == 0
    assert capsys.readouterr().out == "mirror | one\nverify | alike\nverify | on\n"


@API
def test_a_node_that_does_not_answer_hides_no_other_and_is_asked_again(
    pods: PodLogs, way: list[str], between: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    pods.begin("mirror", at(1, "one"))
    pods.begin("verify", at(2, "alike"))
    pods.away = {pods.pod("mirror")}

    def back() -> None:
        assert capsys.readouterr().out == "verify | alike\n"
        pods.away = set()

    between(back, lambda: pods.end("Failed"))
    assert run(way) == 0
    assert capsys.readouterr() == ("mirror | one\n", "")


@API
def test_what_a_node_that_is_away_kept_is_told_in_the_end(
    pods: PodLogs, way: list[str], between: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    pods.begin("mirror", at(1, "one"))
    pods.begin("verify", at(2, "alike"))

    def away() -> None:
        pods.away = {pods.pod("mirror")}
        pods.end("Failed")

    between(away)
    assert run(way) == 2
    out, err = capsys.readouterr()
    assert out == "mirror | one\nverify | alike\n"
    assert err.startswith("mirror: http")
    assert "now (status 500): Get" in err
    assert "no route to host" in err


@pytest.mark.parametrize("times", [1, 2, 5])
def test_an_answer_that_breaks_off_is_asked_for_again(
    pods: PodLogs, way: list[str], between: Callable[..., None], capsys: pytest.CaptureFixture[str], times: int
) -> None:
    """In silence once, as for all that is asked; then who waits is told."""
    pods.begin("mirror", *(at(number, f"line {number}") for number in range(1, 9)))

    def breaks() -> None:
        pods.cut = times
        pods.begin("verify", *(at(number, f"file {number}") for number in range(1, 9)))

    between(breaks, *[lambda: None] * times, lambda: pods.end("Succeeded"))
    assert run(way) == 0
    out, err = capsys.readouterr()
    lines = [f"{step} {number}" for step in ("mirror | line", "verify | file") for number in range(1, 9)]
    assert out.splitlines() == lines
    told = ["looking again until it answers", "answers again"] if times > 1 else []
    assert [word in err for word in told] == [True] * len(told), err
    assert err.count("the connection failed") == bool(told)


@API
def test_a_line_that_is_being_written_is_told_whole(
    pods: PodLogs, way: list[str], between: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A kubelet gives what it has, of a long line its first part."""
    pods.begin("mirror", at(1, "a long"))
    pods.writing.add(pods.pod("mirror"))

    def written() -> None:
        pods.writing.clear()
        pods.lines[pods.pod("mirror")] = [at(1, "a long line")]

    between(lambda: None, written, lambda: pods.end("Failed"))
    assert run(way) == 0
    assert capsys.readouterr().out == "mirror | a long line\n"


@API
def test_the_last_line_of_a_pod_needs_no_end(
    pods: PodLogs, way: list[str], between: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    pods.begin("mirror", at(1, "killed while it"))
    pods.writing.add(pods.pod("mirror"))
    between(lambda: pods.end("Failed"))
    assert run(way) == 0
    assert capsys.readouterr().out == "mirror | killed while it\n"


def test_a_bar_of_progress_is_one_line(
    pods: PodLogs, way: list[str], between: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """It holds what others take for the end of a line."""
    pods.begin("mirror", at(1, "10 %\r20 % done\u2028still\x0cit"))

    def more() -> None:
        pods.lines[pods.pod("mirror")].append(at(2, "100 %"))

    between(lambda: None, more, lambda: pods.end("Failed"))
    assert run(way) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert (first[:15], first[-2:]) == ("mirror | 10 %\\r", "it")
    assert others == ["mirror | 100 %"]


@API
def test_what_the_kubelet_says_itself_is_told_once(
    pods: PodLogs, way: list[str], between: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Such a line has no time."""
    pods.begin("mirror", "unable to retrieve container logs for containerd://1")

    def retrieved() -> None:
        pods.lines[pods.pod("mirror")] = [at(1, "one"), at(2, "two")]

    between(lambda: None, retrieved, lambda: pods.end("Failed"))
    assert run(way) == 0
    lines = ["unable to retrieve container logs for containerd://1", "one", "two"]
    assert capsys.readouterr().out.splitlines() == [f"mirror | {line}" for line in lines]


def test_a_node_with_another_clock_zone_hides_nothing(
    pods: PodLogs, way: list[str], between: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """containerd writes the node's own time: here when summer ends, and its clock says 02:59 once more."""
    pods.begin("mirror", "2026-10-25T02:59:59.9+02:00 summer")

    def winter() -> None:
        pods.lines[pods.pod("mirror")].append("2026-10-25T02:00:00.1+01:00 winter")

    between(winter, lambda: pods.end("Failed"))
    assert run(way) == 0
    assert capsys.readouterr().out == "mirror | summer\nmirror | winter\n"


def test_lines_come_while_the_run_goes_on_and_ctrl_c_ends_the_reading_alone(pods: PodLogs, way: list[str]) -> None:
    pods.begin("mirror", at(1, "one"))
    command = [sys.executable, "-P", "-c", PROGRAM, *way]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, cwd=ROOT) as program:
        assert program.stdout
        assert program.stderr
        assert program.stdout.readline() == "mirror | one\n"
        pods.lines[pods.pod("mirror")].append(at(2, "two"))
        assert program.stdout.readline() == "mirror | two\n"
        program.send_signal(signal.SIGINT)
        assert (program.wait(20), program.stdout.read()) == (130, "")
        assert program.stderr.read().endswith("\ngen: stopped\n")
    assert pods.run["status"]["phase"] == "Running"
    assert pods.cluster.writes == []
