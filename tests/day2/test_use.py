"""`gen use`: months, what it asks, and what it says where there is no answer."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from loopback import Asked, Reply, dripping, serving
from reference import load

from generator.cli import run
from generator.day2.use import prometheus
from generator.day2.use.month import Month, month_of
from generator.day2.use.text import text
from generator.day2.use.use import TeamUse, use_of
from generator.errors import UsageError

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)


def test_months_have_their_ends_in_utc() -> None:
    assert month_of(None, NOW) == Month(2025, 12)
    assert (month_of("2025-12", NOW).start, month_of("2025-12", NOW).end) == (
        datetime(2025, 12, 1, tzinfo=UTC),
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    assert month_of("2026-01", NOW) == Month(2026, 1)


@pytest.mark.parametrize("text", ["2025-13", "2025-1", "25-01", "0000-01", "9999-12", "2026-02", "٢٠٢٥-01"])
def test_what_is_no_month_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"--month {text}: "):
        month_of(text, NOW)


def test_of_a_month_that_goes_on_what_has_passed_is_asked() -> None:
    asked = []

    def ask(query: str, at: datetime) -> dict[str, float]:
        asked.append((query, at))
        return {"": 9.5 * 1440} if query.startswith("count") else {}

    found = use_of(load("gpu-serving"), Month(2026, 1), NOW, ask)
    assert {at for _, at in asked} == {NOW}
    assert asked[0][0] == f"count_over_time(cluster:gpus:sum[{int(9.5 * 86400) - 1}s])"
    assert found.recorded == 1
    assert text(found).startswith("Use of GPUs on gpu-serving in 2026-01, up to 2026-01-10 12:00 UTC\n")


def test_a_team_that_nobody_measures_is_not_called_lazy() -> None:
    def ask(query: str, _at: datetime) -> dict[str, float]:
        return {"speech": 600.0} if "allocated" in query else {}

    found = {one.name: one for one in use_of(load("gpu-serving"), Month(2025, 11), NOW, ask).teams}
    assert (found["speech"].allocated, found["speech"].busy) == (10, None)
    assert (found["search"].allocated, found["search"].busy, found["search"].of_quota) == (0, 0, None)
    assert isinstance(found["speech"], TeamUse)


def page(status: int, body: str) -> Callable[[Asked], Reply]:
    return lambda _: (status, {}, body.encode())


def refused(capsys: pytest.CaptureFixture[str], url: str, cluster: str = "gpu-serving") -> tuple[int, str]:
    code = run(["use", "-C", str(ROOT), "--cluster", cluster, "--month", "2025-11", "--prometheus", url])
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (200, "<html>", "did not answer in JSON; is it Prometheus, and not Grafana?"),
        (200, '{"status": "success"}', "the answer is none of Prometheus' API"),
        (200, "[]", "the answer is none of Prometheus' API"),
        (404, "<html>", "answers 404 Not Found; is it Prometheus' own address?"),
        (401, "", "wants a login (401 Unauthorized), and gen has none for it"),
        (422, json.dumps({"status": "error", "error": "query processing would load too many"}), "refuses: query proc"),
        (
            200,
            json.dumps({"data": {"result": [{"metric": {"cluster": "a", "namespace": "b"}, "value": [0, "1"]}]}}),
            "have the labels cluster, namespace: ask the cluster's own Prometheus",
        ),
    ],
)
def test_what_is_no_prometheus_is_said(capsys: pytest.CaptureFixture[str], status: int, body: str, why: str) -> None:
    with serving(page(status, body)) as url:
        code, said = refused(capsys, url)
    assert code == 1
    assert why in said
    assert len(said.splitlines()) == 1


def test_a_server_that_is_away_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(page(200, "")) as url:
        pass
    code, said = refused(capsys, url)
    assert code == 1
    assert f"{url} does not answer: " in said
    assert "kubectl port-forward" in said
    with serving(lambda _: None) as url:
        assert "does not answer: " in refused(capsys, url)[1]


@pytest.mark.parametrize(("status", "why"), [(200, "does not answer: timed out"), (502, "answers 502 Bad Gateway")])
def test_an_answer_that_drips_is_given_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, status: int, why: str
) -> None:
    monkeypatch.setattr(prometheus, "SECONDS", 0.3)
    begun = time.monotonic()
    with dripping(status, seconds=60) as url:
        assert why in refused(capsys, url)[1]
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    ("url", "cluster", "why"),
    [
        ("127.0.0.1:9090", "gpu-serving", "--prometheus 127.0.0.1:9090: this is no address"),
        ("http://ann:s3cret@127.0.0.1:9090", "gpu-serving", "--prometheus ...@127.0.0.1:9090: gen sends no login"),
        ("ann:s3/cret@127.0.0.1:9090", "gpu-serving", "--prometheus ...@127.0.0.1:9090: gen sends no login"),
        ("file:///etc/passwd", "gpu-serving", "this is no address"),
        ("http://[::1", "gpu-serving", "this is no address"),
        ("http://127.0.0.1:99999", "gpu-serving", "this is no address"),
        ("http://127.0.0.1:9090", "ml50", "ml50 has no monitoring.prometheus"),
    ],
)
def test_what_cannot_be_asked_is_refused(capsys: pytest.CaptureFixture[str], url: str, cluster: str, why: str) -> None:
    code, said = refused(capsys, url, cluster)
    assert code == 2
    assert why in said
    assert "s3" not in said
