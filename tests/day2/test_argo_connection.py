"""What is asked of Argo's server, and what is made of its answers, on a played one; the real one is asked in
`tests/real/test_argo_server.py`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from argoplayed import TOKEN, ArgoPlayed, said
from livecluster import LiveCluster, forbidden
from loopback import Reply, mute, serving
from reference import ROOT, load

from generator.cli import run
from generator.day2.workflows import argo_connection
from generator.day2.workflows.argo_connection import ArgoConnection, token
from generator.day2.workflows.argo_server import ThroughArgoServer
from generator.day2.workflows.logs import Logs
from generator.day2.workflows.runs import run as read
from generator.errors import UsageError
from generator.live.api import AwayError

CLUSTER = load("ml50")
RUN: dict[str, Any] = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}
RUN |= {"metadata": {"name": "backup-1", "namespace": "ops"}}
NODES = {
    f"backup-1-{number}": {"type": "Pod", "displayName": name, "phase": "Running", "startedAt": "2026-01-01T00:00:00Z"}
    for number, name in ((111, "first"), (222, "second"))
}


@pytest.fixture
def played() -> ArgoPlayed:
    return ArgoPlayed(LiveCluster(RUN))


@pytest.fixture
def way(played: ArgoPlayed) -> Iterator[ThroughArgoServer]:
    with serving(played.reply) as url:
        yield ThroughArgoServer(ArgoConnection(f"{url}/", TOKEN, None))


def test_runs_without_an_end_and_empty_lists_are_read(way: ThroughArgoServer) -> None:
    (found,) = way.runs("ops")
    assert found["status"] == {"startedAt": None, "finishedAt": None}
    assert (read(found).phase, read(found).finished) == ("Pending", "")
    assert list(way.schedules("ops")) == []
    assert list(way.templates("ops")) == []
    assert way.template("ops", "nothing") is None
    assert way.run("ops", "nothing") is None


def test_lines_are_given_once_and_less_is_asked_for_afterwards(way: ThroughArgoServer, played: ArgoPlayed) -> None:
    logs, found = Logs(way, "ops", "backup-1"), read({**RUN, "status": {"nodes": NODES}})
    assert list(logs.new(found)) == []
    played.logs = {
        "backup-1-a-111": ["2026-01-01T00:00:01.1Z one", "2026-01-01T00:00:01.1Z two <한글>"],
        "backup-1-b-222": ["2026-01-01T00:00:00.9Z other", "2026-01-01T00:00:01.0Z time=x argo=true"],
    }
    given = [(one.step, one.line) for one in logs.new(found)]
    assert given == [("first", "one"), ("first", "two <한글>"), ("second", "other")]
    assert logs.read == {"backup-1-111", "backup-1-222"}
    played.logs["backup-1-a-111"].append("2026-01-01T00:00:01.1Z three")
    assert [one.line for one in logs.new(found)] == ["three"]
    first, *_, last = [one for one in played.queries if one.partition("?")[0].endswith("/log")]
    assert "logOptions.timestamps=" in first
    assert "logOptions.container=main" in first
    assert "sinceSeconds" not in first
    assert "logOptions.sinceSeconds=60" in last


def test_a_log_that_ends_in_an_error_is_told() -> None:
    broken = b'{"error":{"code":13,"message":"stream\\nterminated"}}\n'
    with (
        serving(lambda _: (200, {"Content-Type": "application/json"}, broken)) as url,
        pytest.raises(UsageError, match="refuses to go on with the logs: stream terminated"),
    ):
        list(ThroughArgoServer(ArgoConnection(url, TOKEN, None)).printed("ops", "backup-1", {}))


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (said(401, {"message": "token not valid"}), UsageError, r"does not know who we are \(token not valid\): renew"),
        (said(500, {"message": "Unauthorized"}), UsageError, "does not know who we are"),
        (
            said(403, {"message": "no <b>\nright"}),
            UsageError,
            "does not let you list the runs of ops: no <b> right; ask",
        ),
        (said(400, {"message": "what?"}), UsageError, r"refuses to list the runs of ops \(status 400\): what\?"),
        (said(503, {"message": "later"}), AwayError, r"is busy, or Kubernetes behind it \(status 503: later\)"),
        ((302, {"Location": "/login"}, b""), UsageError, "refuses to list the runs of ops"),
        ((200, {}, b"<html>Log in</html>"), UsageError, "is no server of Argo Workflows"),
        ((200, {"Content-Type": "text/html"}, b"<html>\n<h1>"), UsageError, "is no server of Argo Workflows"),
        ((200, {}, b"[1]"), UsageError, "is no server of Argo Workflows"),
        ((404, {}, b"<html>not here</html>"), UsageError, "refuses to list the runs of ops"),
        ((502, {}, b"\xff\xfe"), UsageError, "is no server of Argo Workflows"),
        (None, AwayError, "the connection failed"),
    ],
)
def test_each_refusal_is_one_sentence(answer: Reply | None, kind: type[UsageError], words: str) -> None:
    with serving(lambda _: answer) as url, pytest.raises(kind, match=words) as raised:
        list(ThroughArgoServer(ArgoConnection(url, TOKEN, None)).runs("ops"))
    assert "\n" not in str(raised.value)
    assert TOKEN not in str(raised.value)


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(argo_connection, "PATIENCE", 0.05)
    with mute() as (url, count):
        with pytest.raises(AwayError, match="no answer within"):
            list(ThroughArgoServer(ArgoConnection(url, TOKEN, None)).runs("ops"))
        assert count() == 1


@pytest.mark.parametrize(("version", "good"), [("v4.0.15", True), ("v4.1.2+12345", True), ("v3.7.4", False)])
def test_a_server_of_another_major_version_is_refused(
    way: ThroughArgoServer, played: ArgoPlayed, version: str, *, good: bool
) -> None:
    played.version = version
    if good:
        way.confirm(CLUSTER)
        return
    with pytest.raises(UsageError, match=r"is a server of Argo Workflows v3\.7\.4, and ml50's operations"):
        way.confirm(CLUSTER)


def test_a_version_that_makes_no_sense_is_no_servers(way: ThroughArgoServer, played: ArgoPlayed) -> None:
    played.version = "latest"
    with pytest.raises(UsageError, match="is no server of Argo Workflows"):
        way.confirm(CLUSTER)
    assert not way.ready()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("argo.example:2746", "say a URL such as https://"),
        ("ftp://argo.example", "say a URL such as https://"),
        ("https://", "say a URL such as https://"),
        ("https://argo.example:port", "say a URL such as https://"),
        ("https://[argo", "say a URL such as https://"),
        ("https://me:secret@argo.example", "say a URL such as https://"),
        ("https://argo.example/?x=1", "say a URL such as https://"),
        ("http://argo.example:2746", "the token would go there in clear text"),
        ("http://127.0.0.1.argo.example:2746", "the token would go there in clear text"),
    ],
)
def test_only_an_address_that_keeps_the_token_is_taken(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        ArgoConnection(url, TOKEN, None)
    assert "secret" not in str(raised.value)


def test_the_token_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("Bearer one\n")
    monkeypatch.setenv("ARGO_TOKEN", "two")
    assert token(file) == "one"
    assert token(None) == "two"
    file.write_text("")
    monkeypatch.setenv("ARGO_TOKEN", "Basic dXNlcg==")
    for path, words in ((file, "holds no token"), (None, "ARGO_TOKEN holds no token"), (tmp_path, "--argo-token-file")):
        with pytest.raises(UsageError, match=words) as raised:
            token(path)
        assert "dXNlcg" not in str(raised.value)


def test_options_that_make_no_sense_together_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--cluster", "ml50", "-C", str(ROOT))
    for words, answer in (
        (("--argo-server", "https://argo.example", "--kubeconfig", "x"), "--argo-server and --kubeconfig: "),
        (("--argo-server", "https://argo.example", "--context", "x"), "--argo-server and --context: "),
        (("--argo-ca", "x"), "--argo-ca: there is no --argo-server"),
        (("--argo-token-file", "x"), "--argo-token-file: there is no --argo-server"),
    ):
        assert run(["workflow", "list", *words, *at]) == 2
        assert answer in capsys.readouterr().err


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "argo_workflows", None)
    monkeypatch.setenv("ARGO_TOKEN", TOKEN)
    words = ["workflow", "list", "--argo-server", "https://argo.example", "--cluster", "ml50", "-C", str(ROOT)]
    assert run(words) == 2
    assert "`gen workflow --argo-server` needs packages that this installation left out" in capsys.readouterr().err


def test_rights_that_are_missing_are_told_as_the_server_does(way: ThroughArgoServer, played: ArgoPlayed) -> None:
    played.cluster.refuses = {"POST .*": forbidden("create", "workflows", "argoproj.io")}
    with pytest.raises(UsageError, match=r'does not let you begin a run: .* cannot create resource "workflows"'):
        way.create(RUN, dry_run=False)


def test_what_went_meanwhile_is_told(way: ThroughArgoServer) -> None:
    with pytest.raises(UsageError, match=r"does not find the run nothing \(any more\)"):
        way.shut_down("ops", "nothing", terminate=False)
