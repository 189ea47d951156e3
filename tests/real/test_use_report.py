"""`gen use` asks a real Prometheus, whose past is filled in."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ports import free_port

from generator.cli import run
from tools import program

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
SEPTEMBER = int(datetime(2025, 9, 1, tzinfo=UTC).timestamp())
OCTOBER = int(datetime(2025, 10, 1, tzinfo=UTC).timestamp())
HALF = OCTOBER + 15 * 86400
SERIES = {
    "cluster:gpus:sum": 64.0,
    'namespace:gpus_allocated:sum{namespace="speech"}': 20.0,
    'namespace:gpus_allocated:sum{namespace="search"}': 1.5,
    'namespace:gpus_allocated:sum{namespace="mlperf"}': 2.0,
    'namespace:gpus_busy:sum{namespace="speech"}': 10.0,
    'namespace:gpus_busy:sum{namespace="search"}': 1.0,
    'namespace:gpus_idle:sum{namespace="speech"}': 4.0,
    'namespace:gpus_quota:sum{namespace="speech"}': 16.0,
    'namespace:gpus_quota:sum{namespace="search"}': 12.0,
    'namespace:gpus_quota:sum{namespace="robotics"}': 16.0,
}
# Jobs that are admitted each hour, by the longest that they waited, in seconds.
WAITED = {"320": 0, "640": 5, "1280": 9, "2560": 10, "40960": 10, "+Inf": 10}
LATE = {"320": 0, "640": 0, "1280": 0, "2560": 0, "40960": 0, "+Inf": 1}


def exposition() -> Iterator[str]:
    """Yield what was recorded: all of a month, one sample each minute, and half of the next."""
    for series, value in SERIES.items():
        yield f"# TYPE {series.partition('{')[0]} unknown"
        yield from (f"{series} {value} {second}" for second in range(SEPTEMBER + 60, HALF + 1, 60))
    for queue, hourly in (("speech", WAITED), ("search", LATE)):
        for le, jobs in hourly.items():
            series = f'kueue_admission_wait_time_seconds_bucket{{cluster_queue="{queue}",le="{le}"}}'
            yield from counted(series, jobs)
        yield from counted(f'kueue_admission_wait_time_seconds_count{{cluster_queue="{queue}"}}', hourly["+Inf"])
    yield "# EOF\n"


def counted(series: str, hourly: int) -> Iterator[str]:
    hours = range((HALF - SEPTEMBER) // 3600 + 1)
    yield from (f"{series} {hour * hourly} {SEPTEMBER + hour * 3600}" for hour in hours)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a Prometheus that scrapes nothing and has a past."""
    promtool, server = program("promtool"), program("prometheus")
    place = tmp_path_factory.mktemp("prometheus")
    (place / "past").write_text("\n".join(exposition()))
    (place / "prometheus.yml").write_text("{}")
    fill = [promtool, "tsdb", "create-blocks-from", "--max-block-duration=744h", "openmetrics", "past", "data"]
    filled = subprocess.run(fill, cwd=place, check=False, capture_output=True, text=True, timeout=300)
    assert filled.returncode == 0, filled.stdout + filled.stderr
    url = f"http://127.0.0.1:{free_port()}"
    # Debian's has other places than upstream's by default.
    places = ["--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    flags = [f"--web.listen-address={url.removeprefix('http://')}", "--storage.tsdb.retention.time=100y", *places]
    with (place / "log").open("w") as log:
        running = subprocess.Popen([server, *flags], cwd=place, stdout=log, stderr=log)
    try:
        await_ready(url, running)
        yield url
    finally:
        running.terminate()
        running.wait(30)


def await_ready(url: str, running: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        assert running.poll() is None, "Prometheus ended"
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail("Prometheus is not ready")


def use(capsys: pytest.CaptureFixture[str], url: str, month: str, *words: str, expect: int = 0) -> str:
    code = run(["use", "-C", str(ROOT), "--cluster", "gpu-serving", "--month", month, "--prometheus", url, *words])
    said = "".join(capsys.readouterr())
    assert code == expect, said
    return said


WHOLE = """\
Use of GPUs on gpu-serving in 2025-09
GPU-hours of 46,080 that the nodes offered; a part of a GPU counts as a part.
A team without a number under busy has GPUs that the exporter of GPU metrics says nothing of.

team              allocated     busy     idle  of quota   jobs    median wait      95 % wait
assistant               0.0      0.0      0.0         -      0              -              -
robotics                0.0      0.0      0.0       0 %      0              -              -
search              1,080.0    720.0      0.0      12 %    720  > 11 h 23 min  > 11 h 23 min
speech             14,400.0  7,200.0  2,880.0     125 %  7,200         11 min         32 min
mlperf (no team)    1,440.0        -      0.0         -      0              -              -
"""


def test_a_month_is_told_by_team(prometheus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert use(capsys, prometheus, "2025-09") == WHOLE


def test_a_month_in_markdown(prometheus: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = use(capsys, prometheus, "2025-09", "--output", "markdown").splitlines()
    assert lines[0] == "## Use of GPUs on gpu-serving in 2025-09"
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    assert {len(row) for row in rows} == {8}
    assert rows[5] == ["speech", "14,400.0", "7,200.0", "2,880.0", "125 %", "7,200", "11 min", "32 min"]


def test_of_a_month_that_is_half_kept_the_half_is_told(prometheus: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = use(capsys, prometheus, "2025-10")
    assert "Prometheus has 48 % of this time, and the numbers are of that part alone: it keeps samples for 62d" in said
    found: dict[str, Any] = json.loads(use(capsys, prometheus, "2025-10", "--output", "json"))
    (speech,) = [one for one in found["teams"] if one["name"] == "speech"]
    assert found["recorded"] == pytest.approx(15 / 31, abs=1e-3)
    assert speech["allocated"] == pytest.approx(20 * 15 * 24, rel=1e-3)
    assert speech["of_quota"] == pytest.approx(1.25)
    assert speech["jobs"] == pytest.approx(10 * 15 * 24, rel=0.01)


def test_an_empty_month_is_said(prometheus: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = use(capsys, prometheus, "2025-07", expect=1)
    assert said == (
        "Prometheus has nothing of 2025-07: it keeps samples for 62d (monitoring.prometheus.retention), and the use of "
        "GPUs is recorded only since its rules gpu-use are there\n"
    )
