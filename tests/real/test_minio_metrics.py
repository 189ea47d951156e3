"""Who reads MinIO's metrics, on real servers: while a set has no quorum for writes, and while servers differ in it."""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from boardsamples import EXPORTERS
from heldnames import lacking
from test_minio_drives import DRIVES, PATIENCE, SERVERS, Store, store
from zabbixtold import minio as asked_by_zabbix

from generator.components.minio.metrics import policy, token
from generator.process import background, stop

__all__ = ["store"]

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

TYPE = "MINIO_PROMETHEUS_AUTH_TYPE"
ACCESS, SECRET = "metricsaccess", "metricssecret"
NEVER = 20.0
"""Seconds in which a server would have answered."""


@pytest.fixture
def servers(store: Store) -> Store:
    """Return servers with drives."""
    store.mount(
        {
            f"export-{drive}-minio-{server}": f"v-{server}-{drive}"
            for server in range(SERVERS)
            for drive in range(DRIVES)
        }
    )
    return store


def status(store: Store, number: int, path: str, bearer: bytes = b"") -> tuple[int, str]:
    """Return what a server answers, 0 where it does not."""
    asked = urllib.request.Request(f"http://127.0.0.1:{store.ports[number]}/minio/{path}")
    if bearer:
        asked.add_header("Authorization", f"Bearer {bearer.decode()}")
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, ""
    except OSError:
        return 0, ""


def eventually(what: str, holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.5)


def may_read(store: Store, folder: Path) -> bytes:
    """Make the user that may read metrics alone, and return its token."""
    (folder / "policy.json").write_text(json.dumps(policy()))
    for words in (
        ("admin", "policy", "create", "s", "metrics", str(folder / "policy.json")),
        ("admin", "user", "add", "s", ACCESS, SECRET),
        ("admin", "policy", "attach", "s", "metrics", "--user", ACCESS),
    ):
        done = store.client(*words)
        assert done.returncode == 0, done.stderr
    return token(ACCESS.encode(), SECRET.encode())


def number(metrics: str, name: str) -> list[float]:
    return [float(found) for found in re.findall(rf"^minio_{name}{{[^}}]*}} (\S+)$", metrics, re.MULTILINE)]


LATER = {
    "minio_cluster_usage_total_bytes{server}",
    "minio_s3_requests_4xx_errors_total{api, server}",
    "minio_s3_requests_5xx_errors_total{api, server}",
}
"""What is told only once the scanner has been round, or a request has failed (`metrics-v2.go`)."""


def unanswered(store: Store, bearer: bytes) -> set[str]:
    """Return what dashboards ask of all servers and Zabbix of any, and is not told there."""
    pages = [(server, f"v2/metrics/{kind}") for server in range(SERVERS) for kind in ("cluster", "node")]
    told = {place: status(store, *place, bearer)[1] for place in pages}
    by_all = lacking(EXPORTERS["minio"].text, "".join(told.values()))
    return by_all.union(*(lacking(asked_by_zabbix(), told[server, "v2/metrics/cluster"]) for server in range(SERVERS)))


def test_without_quorum_the_token_still_reads_what_the_alarm_is_made_of(servers: Store, tmp_path: Path) -> None:
    """Zabbix compares the drives of the weakest set that are online with the quorum for writes."""
    with servers.running(**{TYPE: "jwt"}) as processes:
        assert servers.ready(PATIENCE)
        bearer = may_read(servers, tmp_path)

        def seen() -> tuple[float, float]:
            code, told = status(servers, 0, "v2/metrics/cluster", bearer)
            assert code == 200
            erasure = "cluster_health_erasure_set"
            online, quorum = number(told, f"{erasure}_online_drives"), number(told, f"{erasure}_write_quorum")
            return min(online, default=0), max(quorum, default=0)

        eventually("all is well", lambda: seen()[0] == SERVERS * DRIVES > seen()[1] > 0)
        assert servers.client("mb", "s/asked").returncode == 0
        eventually("all is told that is asked", lambda: unanswered(servers, bearer) <= LATER)
        for process in processes[2:]:
            stop(process)
        eventually("the quorum is seen to be lost", lambda: 0 < seen()[0] < seen()[1])
        assert status(servers, 0, "v2/metrics/cluster")[0] == 403


def test_a_server_whose_metrics_want_a_token_stays_away_until_another_does_too(servers: Store) -> None:
    """Why all are replaced together: until half of the others have its environment it serves nothing, live as it is."""

    def serves(server: int) -> bool:
        return status(servers, server, "health/cluster")[0] == 200

    with servers.running(**{TYPE: "public"}) as processes:
        eventually("all serve", lambda: all(map(serves, range(SERVERS))))
        stop(processes[3])
        with background(servers.own(3), servers.command(3, **{TYPE: "jwt"})):
            time.sleep(NEVER)
            assert not serves(3)
            assert serves(0)
            assert status(servers, 0, "v2/metrics/cluster")[0] == 200
            stop(processes[2])
            with background(servers.own(2), servers.command(2, **{TYPE: "jwt"})):
                eventually("both serve", lambda: serves(2) and serves(3))
                assert status(servers, 3, "v2/metrics/cluster")[0] == 403
