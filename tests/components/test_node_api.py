"""How the steps of operations on nodes ask an API server that is away for a while, and how they end."""

import http.server
import json
import socketserver
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from nodeshelf import imported

from generator.components.gpu_care.templates import templates as gpu_care
from generator.components.node_operations.templates import (
    drive_replacement,
    driver_upgrade,
    expansion,
    maintenance,
    minio_expansion,
    osd_replacement,
    removal,
    replacement,
    upgrade,
)
from generator.components.python_steps import retries


@pytest.fixture(autouse=True)
def _scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from imported(tmp_path, monkeypatch)


class Server:
    """An API server that gives these answers in turn, and the last one from then on; `None` ends the connection."""

    def __init__(self, *answers: int | None, said: str = "words", **headers: str) -> None:
        self.answers, self.asked = [*answers], 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                code = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                if code is None:
                    self.close_connection = True
                    return
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(json.dumps({"message": said}).encode())

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.http = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def client(self, folder: Path) -> Any:
        import api  # type: ignore[import-not-found]

        (folder / "token").write_text("token")
        made = api.Api.__new__(api.Api)
        made.account, made.trust = folder, ssl.create_default_context()
        made.server = f"http://127.0.0.1:{self.http.server_address[1]}"
        return made


@pytest.mark.parametrize("away", [None, 503, 502, 429])
def test_a_server_that_is_away_for_a_moment_is_asked_again(tmp_path: Path, away: int | None) -> None:
    with Server(away, away, 200) as server:
        assert server.client(tmp_path).get("/version") == {"message": "words"}
    assert server.asked == 3


def test_one_that_stays_away_is_trouble_that_may_pass(tmp_path: Path) -> None:
    import api

    with Server(None) as server, pytest.raises(api.Trouble, match="the API server does not answer"):
        server.client(tmp_path).get("/version")
    assert server.asked > 2


def test_one_that_wants_to_be_left_alone_is_for_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import api

    slept: list[float] = []
    monkeypatch.setattr(api.time, "sleep", slept.append)
    monkeypatch.setattr(api, "AWAY", 60)
    with Server(429, 429, 200, Retry_After="7") as server:
        server.client(tmp_path).get("/version")
    assert slept == [7, 7]
    slept.clear()
    monkeypatch.setattr(api, "AWAY", 1)
    with Server(429, Retry_After="3600") as server, pytest.raises(api.Trouble, match="words"):
        server.client(tmp_path).get("/version")
    assert max(slept) <= 1


POD = {"metadata": {"namespace": "team", "name": "one"}}
BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."


def test_an_eviction_that_a_budget_forbids_is_not_taken_for_a_server_with_too_much_to_do(tmp_path: Path) -> None:
    import api

    with Server(429, said=BUDGET, Retry_After="10") as server, pytest.raises(api.Conflict, match="disruption budget"):
        server.client(tmp_path).evict(POD)
    assert server.asked == 1
    with Server(429, 429, 200) as server:
        server.client(tmp_path).evict(POD)
    assert server.asked == 3


def test_a_node_that_changes_all_the_time_is_not_asked_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import api

    slept: list[float] = []
    monkeypatch.setattr(api.time, "sleep", slept.append)
    made = api.Api.__new__(api.Api)
    made.get = lambda _path: {"metadata": {"resourceVersion": "1"}}

    def busy(_path: str, _change: Any) -> Any:
        raise api.Conflict("words")

    made.patch = busy
    with pytest.raises(api.Trouble, match="changes all the time"):
        api.change_node(made, "gpu-01", lambda _: {"spec": {}})
    assert slept == [api.MOMENT] * 20


@pytest.mark.parametrize(
    ("code", "error"),
    [(500, "Trouble"), (401, "Trouble"), (403, "Verdict"), (422, "Verdict"), (409, "Conflict")],
)
def test_an_answer_is_taken_as_it_is(tmp_path: Path, code: int, error: str) -> None:
    import api

    with Server(code) as server, pytest.raises((api.Trouble, api.Verdict, api.Conflict)) as raised:
        server.client(tmp_path).get("/version")
    assert (type(raised.value).__name__, server.asked) == (error, 1)


@pytest.mark.parametrize(("error", "code"), [("Verdict", 2), ("Trouble", 1), ("Away", 1), ("Conflict", 1), ("", 0)])
def test_a_step_that_is_not_to_be_tried_again_ends_with_two(
    monkeypatch: pytest.MonkeyPatch, error: str, code: int
) -> None:
    import api

    def step(_api: Any) -> None:
        if error:
            raise getattr(api, error)("words")

    monkeypatch.setattr(api, "Api", lambda: None)
    monkeypatch.setattr("sys.argv", ["upgrade.py", "step"])
    assert api.run({"step": step}) == code


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("NODE_SECONDS", "2h", "node-seconds is 2h, and must be a number, without its unit"),
        ("STEADY_SECONDS", "", "steady-seconds is , and must be a number"),
        ("DRAIN_SECONDS", "-1", "drain-seconds is -1, and must be a number"),
        ("GANG_SECONDS", "nan", "gang-seconds is nan, and must be a number"),
        ("AT_ONCE", "²", "at-once is ², and must be a number"),
        ("SAMPLE", "2.5", "sample is 2.5, and must be a number"),
        ("OFF", "Yes", "off is Yes, and must be no or yes"),
    ],
)
def test_what_is_no_number_or_no_word_that_is_known_is_refused_by_the_first_step_but_hinders_no_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, said: str
) -> None:
    """Jobs were stopped for it before: a report lets them in again, also of a retry that says it wrong."""
    import api

    ran = []
    monkeypatch.setattr(api, "Api", lambda: None)
    monkeypatch.setenv("OFF_ONE_OF", "no yes")
    monkeypatch.setenv("OFF", "no")
    monkeypatch.setenv(name, value)
    for step in ("gate", "report"):
        monkeypatch.setattr("sys.argv", ["upgrade.py", step])
        code = api.run({step: lambda _api: ran.append(step)})  # noqa: B023
        assert code == (2 if step == "gate" else 0)
    assert (ran, said in capsys.readouterr().err) == (["report"], True)


def test_every_number_that_an_operation_may_be_told_is_known_as_one_by_its_name() -> None:
    """But for a port, which may be empty: the first step reads it."""
    import api

    shared = [drive_replacement(), driver_upgrade(), expansion(), maintenance(), minio_expansion(), osd_replacement()]
    made = [*shared, removal(), replacement(), upgrade(), *gpu_care()]
    given = [one for each in made for one in each["spec"].get("arguments", {}).get("parameters", ())]
    numbers = {one["name"] for one in given if str(one.get("value", "")).replace(".", "").isdigit()}
    assert len(numbers) > 15
    unknown = {one for one in numbers if not one.upper().replace("-", "_").endswith(api.NUMBERS)}
    assert unknown == {"answer-port"}
    others = {one["name"] for one in given} - numbers
    assert not [one for one in others if one.upper().replace("-", "_").endswith(api.NUMBERS)]


def test_every_step_is_tried_again_but_after_a_verdict() -> None:
    """For most of an hour, and five minutes apart at most: a node that restarts is back by then. A report has its own
    bound.
    """
    templates = [one for each in (expansion(), removal(), upgrade()) for one in each["spec"]["templates"]]
    steps = [one for one in templates if "container" in one and one["name"] != "report"]
    assert {str(one["retryStrategy"]) for one in steps} == {str(retries())}
    told = retries()
    assert (told["retryPolicy"], told["expression"]) == ("Always", "asInt(lastRetry.exitCode) != 2")
    pauses = [min(15 * int(told["backoff"]["factor"]) ** count, 300) for count in range(int(told["limit"]))]
    assert told["backoff"]["cap"] == "5m"
    assert sum(pauses) > 2400
