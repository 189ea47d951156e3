"""What the rules on logs alert of, on Prometheus' own test program."""

from pathlib import Path
from typing import Any

import promtool
import pytest
from reference import load

from generator.components.component import Component
from generator.components.log_collector import log_collector
from generator.components.log_store import log_store
from generator.model.cluster import Cluster

pytestmark = pytest.mark.real

DAY = 24 * 60
UP = 'up{namespace="log-store",job="loki",pod="loki-%s"}'
PUSHED = 'loki_request_duration_seconds_count{route="loki_api_v1_push",status_code="%s"}'
SUCCESS = "loki_compactor_apply_retention_last_successful_run_timestamp_seconds"
RECEIVED = "loki_distributor_bytes_received_total"
# Those that would fire because a test says nothing of Loki itself.
OF_LOKI = {"LokiDown", "LokiMemberMissing"}


@pytest.fixture(scope="session")
def serving() -> Cluster:
    return load("gpu-serving")


def rules(component: Component) -> Any:
    (found,) = [one for one in component.objects if one["kind"] == "PrometheusRule"]
    return found["spec"]


def judge(folder: Path, spec: Any, series: dict[str, str], minutes: int, fires: dict[str, dict[str, str]]) -> None:
    """Have promtool say that after so many minutes those alerts fire, each once, and none of the others."""
    asked = []
    for rule in spec["groups"][0]["rules"]:
        name = rule["alert"]
        alerts = [expected(rule, fires[name])] if name in fires else []
        if name in fires or not (name in OF_LOKI and not any(one.startswith("up{") for one in series)):
            asked.append({"alertname": name, "eval_time": f"{minutes}m", "exp_alerts": alerts})
    told = [{"series": name, "values": values} for name, values in series.items()]
    promtool.judge(folder, spec, {"interval": "1m", "input_series": told, "alert_rule_test": asked})


def expected(rule: Any, labels: dict[str, str]) -> dict[str, Any]:
    summary = rule["annotations"]["summary"]
    for name, value in labels.items():
        summary = summary.replace(f"{{{{ $labels.{name} }}}}", value)
    return {"exp_labels": {**rule["labels"], **labels}, "exp_annotations": {"summary": summary}}


def members(*up: str) -> dict[str, str]:
    return {UP % number: values for number, values in enumerate(up)}


HERE, GONE = "1x60", "1x9 0+0x50"


@pytest.mark.parametrize(
    ("series", "minutes", "fires"),
    [
        pytest.param(members(HERE, HERE, HERE, HERE), 60, {}, id="all are there"),
        pytest.param(members(HERE, HERE, HERE, GONE), 30, {}, id="one is restarted"),
        pytest.param(members(HERE, HERE, HERE, GONE), 45, {"LokiMemberMissing": {}}, id="one is away"),
        pytest.param(members(HERE, HERE, GONE, GONE), 25, {"LokiDown": {}}, id="two are away"),
        pytest.param(members("_x60"), 15, {"LokiDown": {}}, id="there is none"),
        pytest.param(
            {'loki_ring_members{name="ingester",state="Unhealthy",pod="loki-0"}': "0+0x9 1x50"},
            30,
            {"LokiRingUnhealthy": {}},
            id="a member that nobody hears of",
        ),
        pytest.param({PUSHED % 204: "0+100x60", PUSHED % 500: "0+4x60"}, 40, {}, id="few pushes fail"),
        pytest.param({PUSHED % 204: "0+100x60", PUSHED % 429: "0+90x60"}, 40, {}, id="a tenant is too loud"),
        pytest.param(
            {PUSHED % 204: "0+100x60", PUSHED % 500: "0+6x60"}, 40, {"LokiRefusesLogs": {}}, id="many pushes fail"
        ),
        pytest.param(
            {'loki_discarded_samples_total{tenant="search",reason="rate_limited",pod="loki-0"}': "0+5x60"},
            40,
            {"LogsRefusedForTenant": {"tenant": "search", "reason": "rate_limited"}},
            id="a tenant's lines are dropped",
        ),
        pytest.param({"loki_ingester_chunks_flush_failures_total": "0+0x9 1x50"}, 24, {}, id="one chunk failed once"),
        pytest.param(
            {"loki_ingester_chunks_flush_failures_total": "0+1x60"},
            40,
            {"LogBucketTakesNothing": {}},
            id="no chunk reaches the bucket",
        ),
        pytest.param({SUCCESS: f"0x{3 * DAY}"}, 3 * DAY, {"LogsKeptTooLong": {}}, id="nothing was ever deleted"),
        pytest.param({SUCCESS: f"_x{2 * DAY} 0x60"}, 2 * DAY + 40, {}, id="the first that deletes has just begun"),
        pytest.param({SUCCESS: f"0+60x{2 * DAY} 0x90"}, 2 * DAY + 80, {}, id="the one that deletes was restarted"),
        pytest.param(
            {SUCCESS + '{pod="loki-0"}': f"0x{2 * DAY}", SUCCESS + '{pod="loki-1"}': f"0+60x{2 * DAY}"},
            2 * DAY,
            {},
            id="it is the turn of another one to delete",
        ),
        pytest.param({SUCCESS: f"60x{DAY + 70}"}, DAY + 40, {}, id="nothing deleted for a day"),
        pytest.param({SUCCESS: f"60x{2 * DAY}"}, DAY + 70, {"LogsKeptTooLong": {}}, id="nothing deleted since"),
        pytest.param({RECEIVED: f"0+33800000x{2 * DAY}"}, 2 * DAY, {}, id="as many bytes as fit"),
        pytest.param(
            {RECEIVED: f"0+34100000x{2 * DAY}"}, 2 * DAY, {"LogBucketTooSmall": {}}, id="more than four fifths"
        ),
    ],
)
def test_loki_alerts(
    serving: Cluster, tmp_path: Path, series: dict[str, str], minutes: int, fires: dict[str, dict[str, str]]
) -> None:
    """Four Lokis. The bucket holds 1 TiB for 30 days at three fifths: 80 % are 48.9 GB a day, 33.9 MB a minute."""
    judge(tmp_path, rules(log_store(serving)), series, minutes, fires)


READY = 'kube_node_status_condition{job="kube-state-metrics",pod="%s",node="%s",condition="Ready",status="true"}'
NODES = {READY % ("state", name): "1x60" for name in ("st-1", "st-2")}
SENT = 'loki_write_sent_entries_total{node="%s",tenant="platform",pod="a"}'
COLLECTED = 'up{job="log-collector/alloy",node="%s"}'


@pytest.mark.parametrize(
    ("series", "minutes", "fires"),
    [
        pytest.param({COLLECTED % "st-1": "1x60", COLLECTED % "st-2": "1x60"}, 50, {}, id="both are read"),
        pytest.param(
            {COLLECTED % "st-1": "1x60", COLLECTED % "st-2": "1x9 0+0x50"},
            30,
            {"LogsNotCollected": {"node": "st-2"}},
            id="one is not scraped",
        ),
        pytest.param({COLLECTED % "st-1": "1x60"}, 30, {"LogsNotCollected": {"node": "st-2"}}, id="one has none"),
        pytest.param(
            {
                COLLECTED % "st-1": "1x60",
                READY % ("state", "st-2"): "1x20",
                READY % ("other", "st-2"): "_x20 1x40",
            },
            30,
            {"LogsNotCollected": {"node": "st-2"}},
            id="one has none, and another pod tells of nodes",
        ),
        pytest.param(
            {
                COLLECTED % "st-1": "1x60",
                COLLECTED % "st-2": "1x9 0+0x50",
                READY % ("state", "st-2"): "1x10 0+0x49",
            },
            30,
            {},
            id="one is down",
        ),
        pytest.param(
            {
                COLLECTED % "st-1": "1x60",
                COLLECTED % "st-2": "1x60",
                SENT % "st-1": "0+7x60",
                SENT % "st-2": "0+7x9 70x50",
            },
            45,
            {"LogsNotSent": {"node": "st-2"}},
            id="nobody takes what one sends",
        ),
        pytest.param(
            {
                COLLECTED % "st-1": "1x60",
                COLLECTED % "st-2": "1x60",
                'loki_write_dropped_entries_total{node="st-2",tenant="search",reason="rate_limited",pod="a"}': "0+3x60",
            },
            40,
            {"LogLinesLost": {"node": "st-2", "tenant": "search", "reason": "rate_limited"}},
            id="a team writes too much",
        ),
    ],
)
def test_collectors_alert(
    serving: Cluster, tmp_path: Path, series: dict[str, str], minutes: int, fires: dict[str, dict[str, str]]
) -> None:
    nodes = NODES if any(one.startswith("up{") for one in series) else {}
    told = {name: dict(labels) for name, labels in fires.items()}
    judge(tmp_path, rules(log_collector(serving)), {**nodes, **series}, minutes, told)
