"""Requests, against servers on loopback that misbehave in one way each."""

import json
import sys
from pathlib import Path

import pytest
from loopback import Asked, Reply, config, mute, serving
from reference import load
from urllib3.exceptions import ConnectTimeoutError

from generator.errors import UsageError
from generator.live import api as module
from generator.live.api import Answer, ApiConnection, AwayError, Request, of_kubeconfig
from generator.live.identity import confirm
from generator.live.lists import lists
from generator.live.repeating import Repeating
from generator.live.running import RunningCluster
from generator.live.server import server

NOT_SERVED: Reply = (404, {}, b"404 page not found\n")


def ask(folder: Path, url: str) -> Answer:
    return of_kubeconfig(config(folder, url, token="nonsense"), None).ask(Request(path="/api/v1/x"))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEP", 0.001)


def test_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    with serving(lambda asked: (503, {}, b"") if asked.number < 2 else (200, {}, b'{"kind": "X"}')) as url:
        assert ask(tmp_path, url) == Answer(200, {"kind": "X"})


def test_a_server_that_stays_busy_is_given_up(tmp_path: Path) -> None:
    with serving(lambda _: (429, {"Retry-After": "0"}, b"")) as url, pytest.raises(UsageError, match="is busy"):
        ask(tmp_path, url)


@pytest.mark.parametrize(
    "said", ["etcdserver: leader changed", "etcdserver: request timed out", "rpc error: code = Unavailable desc = x"]
)
def test_a_server_whose_etcd_is_away_is_asked_again(tmp_path: Path, said: str) -> None:
    body = json.dumps({"kind": "Status", "message": said}).encode()
    with serving(lambda asked: (500, {}, body) if asked.number < 2 else (200, {}, b'{"kind": "X"}')) as url:
        assert ask(tmp_path, url) == Answer(200, {"kind": "X"})
    with serving(lambda _: (500, {}, body)) as url, pytest.raises(AwayError, match=r"is busy \(status 500"):
        ask(tmp_path, url)


def test_a_webhook_without_an_answer_is_not_a_busy_server(tmp_path: Path) -> None:
    body = json.dumps({"message": "failed calling webhook"}).encode()
    with serving(lambda asked: (503, {}, body) if asked.number == 0 else (500, {}, b"")) as url:
        assert ask(tmp_path, url) == Answer(503, {"message": "failed calling webhook"})


def test_an_eviction_that_a_budget_forbids_is_not_a_busy_server(tmp_path: Path) -> None:
    said = {"message": "Cannot evict pod", "details": {"causes": [{"reason": "DisruptionBudget", "message": "no"}]}}
    body = json.dumps(said).encode()
    with serving(lambda asked: (429, {}, body) if asked.number == 0 else (500, {}, b"")) as url:
        assert ask(tmp_path, url) == Answer(429, said)


def test_what_is_asked_as_somebody_else_names_the_user_and_all_groups(tmp_path: Path) -> None:
    seen: list[Asked] = []

    def answer(asked: Asked) -> Reply:
        seen.append(asked)
        return 200, {}, b'{"kind": "X"}'

    with serving(answer) as url:
        api = of_kubeconfig(config(tmp_path, url), None)
        api.ask(Request(path="/", by=("ada", ("red", "blue"))))
    assert seen[0].headers.get_all("Impersonate-User") == ["ada"]
    assert seen[0].headers.get_all("Impersonate-Group") == ["red", "blue"]


@pytest.mark.parametrize("body", [b"404 page not found\n", b"[1]", b'"x"', b"\xff\xfe", b""])
def test_what_is_no_json_object_becomes_a_message(body: bytes, tmp_path: Path) -> None:
    with serving(lambda _: (500, {}, body)) as url:
        assert "\n" not in ask(tmp_path, url).message


def test_who_is_not_known_is_told_how_to_mend_it(tmp_path: Path) -> None:
    reply: Reply = (401, {}, b'{"message": "Unauthorized"}')
    with serving(lambda _: reply) as url, pytest.raises(UsageError, match=r"401 Unauthorized.*renew the credentials"):
        ask(tmp_path, url)


def test_a_server_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    with mute() as (url, count):
        with pytest.raises(UsageError, match=r"no answer within 0.05 s"):
            ask(tmp_path, url)
        assert count() == 1


def test_a_server_that_is_not_even_reached_is_tried_once() -> None:
    error = ConnectTimeoutError("timed out")
    with pytest.raises(ConnectTimeoutError):
        Repeating.once().increment("GET", "/", error=error)


def test_what_a_dropped_connection_lost_is_asked_again(tmp_path: Path) -> None:
    with serving(lambda asked: (200, {}, b'{"kind": "X"}') if asked.number else None) as url:
        assert ask(tmp_path, url).good


def test_a_busy_server_does_not_say_how_long_we_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept = list[float]()
    monkeypatch.setattr("time.sleep", slept.append)
    with serving(lambda _: (503, {"Retry-After": "3600"}, b"")) as url, pytest.raises(AwayError, match="is busy"):
        ask(tmp_path, url)
    assert set(slept) == {10.0}


def test_what_is_no_api_server_is_said(tmp_path: Path) -> None:
    reply: Reply = (200, {}, b"<html>welcome</html>")
    with serving(lambda _: reply) as url, pytest.raises(UsageError, match="is no Kubernetes API server"):
        server(of_kubeconfig(config(tmp_path, url), None))


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html>log in</html>", "it answers with a web page"),
        (200, b'{"results": []}', "it answers with something that is no Kubernetes object"),
        (200, b"[]", "it answers with something that is no Kubernetes object"),
        (200, b"ok", "it answers with something that is no Kubernetes object"),
        (302, b"", "it sends us elsewhere"),
        (403, b"<!doctype html>", "it answers with a web page"),
        (403, b"no", "it refuses in another way"),
        (404, b'{"error": "no such route"}', "it refuses in another way"),
        (502, b"<html>Bad Gateway</html>", "it answers with a web page"),
    ],
)
def test_whoever_answers_in_the_place_of_an_api_server_is_told(
    status: int, body: bytes, said: str, tmp_path: Path
) -> None:
    reply: Reply = (status, {"Location": "/login"}, body)
    with serving(lambda _: reply) as url, pytest.raises(UsageError) as told:
        ask(tmp_path, url)
    assert f"{url} is no Kubernetes API server: {said}" in str(told.value)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"404 page not found\n"),
        (404, b'{"kind": "Status", "code": 404}'),
        (500, b"This request caused apiserver to panic"),
        (403, b'{"kind": "Status", "code": 403}'),
    ],
)
def test_what_an_api_server_says_otherwise_is_taken_as_its_own(status: int, body: bytes, tmp_path: Path) -> None:
    reply: Reply = (status, {}, body)
    with serving(lambda _: reply) as url:
        assert ask(tmp_path, url).status == status


def test_what_is_no_object_by_nature_is_taken_as_it_is(tmp_path: Path) -> None:
    with serving(lambda _: (200, {}, b"ok")) as url:
        assert of_kubeconfig(config(tmp_path, url), None).ask(Request(path="/readyz")).good


def test_a_version_that_may_not_be_read_is_no_reason_to_stop(tmp_path: Path) -> None:
    """Some clusters are without the role system:public-info-viewer."""
    refusal = b'{"kind": "Status", "message": "forbidden", "code": 403}'
    reviewed = b'{"kind": "SelfSubjectReview", "status": {"userInfo": {"username": "ada"}}}'
    with serving(lambda asked: (403, {}, refusal) if asked.path == "/version" else (201, {}, reviewed)) as url:
        found = server(of_kubeconfig(config(tmp_path, url), None))
    assert (found.version, found.user) == ("", "ada")


def test_a_program_that_knows_no_path_is_no_cluster_without_a_bootstrap(tmp_path: Path) -> None:
    with serving(lambda _: NOT_SERVED) as url, pytest.raises(UsageError, match="is no Kubernetes API server"):
        confirm(RunningCluster(of_kubeconfig(config(tmp_path, url), None)), load("ml50"))


STRANGE: list[object] = [
    None,
    7,
    "x",
    {},
    [None, 3, {}, {"metadata": None}, {"metadata": {"name": None}}, {"metadata": {"name": 3}}],
]


@pytest.mark.parametrize("items", STRANGE)
def test_what_has_no_name_is_in_no_list(items: object, tmp_path: Path) -> None:
    named = {"metadata": {"name": "a"}}
    given = [*items, named] if isinstance(items, list) else items
    body = json.dumps({"kind": "XList", "metadata": None, "items": given}).encode()
    with serving(lambda _: (200, {}, body)) as url:
        there = RunningCluster(of_kubeconfig(config(tmp_path, url), None))
        found = [one["metadata"]["name"] for one in there.items("/x")]
        (listed,) = lists(there, ["/x"])
    assert found == [one["metadata"]["name"] for one in listed.items] == (["a"] if isinstance(items, list) else [])


def test_a_server_that_tells_no_names_is_judged_by_still(tmp_path: Path) -> None:
    """SelfSubjectReview is younger than some clusters."""
    with serving(
        lambda asked: (200, {}, b'{"gitVersion": "v1.25.0"}') if asked.path == "/version" else NOT_SERVED
    ) as url:
        assert server(of_kubeconfig(config(tmp_path, url), None)).user == "an unknown user"


def test_answers_come_in_the_order_of_the_requests(tmp_path: Path) -> None:
    with serving(lambda asked: (200, {}, json.dumps({"kind": "X", "message": asked.path}).encode())) as url:
        api: ApiConnection = of_kubeconfig(config(tmp_path, url), None)
        paths = [f"/{number}" for number in range(100)]
        assert [answer.message for answer in api.ask_all([Request(path=path) for path in paths])] == paths


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "kubeconfig: .*Invalid kube-config"),
        ("[]", "kubeconfig: "),
        ("a: [", "kubeconfig: "),
        ("apiVersion: v1\nkind: Config\n", "kubeconfig: .*current-context"),
    ],
)
def test_a_kubeconfig_without_sense_is_told(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        of_kubeconfig(path, None)


def test_a_file_that_is_not_there_and_a_context_that_is_not_in_it_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such kubeconfig"):
        of_kubeconfig(tmp_path / "nothing", None)
    with pytest.raises(UsageError, match="is no file; name one"):
        of_kubeconfig(tmp_path, None)
    with pytest.raises(UsageError, match=r"elsewhere.*--context"):
        of_kubeconfig(config(tmp_path, "https://127.0.0.1:9"), "elsewhere")


def test_a_login_in_the_address_of_a_server_is_not_told(tmp_path: Path) -> None:
    assert of_kubeconfig(config(tmp_path, "https://ann:s3cret@127.0.0.1:9"), None).host == "https://127.0.0.1:9"
    with pytest.raises(UsageError, match=r"the server 127.0.0.1:9 has"):
        of_kubeconfig(config(tmp_path, "ann:s3cret@127.0.0.1:9"), None)


@pytest.mark.parametrize("url", ["127.0.0.1:9", "//127.0.0.1:9", "ftp://127.0.0.1:9"])
def test_a_server_without_its_scheme_is_told(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"kubeconfig: .*no https:// before it; write https://127.0.0.1:9$"):
        of_kubeconfig(config(tmp_path, url), None)
    assert of_kubeconfig(config(tmp_path, "HTTPS://127.0.0.1:9"), None).host == "HTTPS://127.0.0.1:9"


def test_a_credential_plugin_that_fails_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": ["-c", "exit(3)"]}
    plugin["interactiveMode"] = "Never"
    with pytest.raises(UsageError, match="exec: process returned 3"):
        of_kubeconfig(config(tmp_path, "https://127.0.0.1:9", exec=plugin), None)
    assert "Traceback" not in capfd.readouterr().err


def test_whether_it_is_ready_a_server_says_in_plain_text(tmp_path: Path) -> None:
    with serving(lambda _: (200, {}, b"ok")) as url:
        assert of_kubeconfig(config(tmp_path, url), None).ask(Request(path="/readyz")).good
