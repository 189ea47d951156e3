"""What dashboards ask, of a real Prometheus that scrapes what exporters answer, as their monitors say."""

import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from boardsamples import EXPORTERS, Exporter
from loopback import Asked, Reply, serving
from ports import free_port

from generator.components.kube_prometheus_stack.boards import model
from generator.components.static import FOLDER, read_objects
from tools import program

pytestmark = pytest.mark.real

SENT = {"__rate_interval": "30s", "__range": "1h"}
"""What Grafana puts for its own variables; for others it puts all values."""


def models() -> dict[str, Any]:
    """Return every dashboard there is, by name."""
    folder = Path(FOLDER, "kube_prometheus_stack", "boards")
    return {
        file.stem: model(file.stem, read_objects(f"kube_prometheus_stack/boards/{file.name}")[0])
        for file in folder.glob("*.yaml")
    }


def queries(model: Any) -> Iterator[tuple[str, str]]:
    """Yield the queries of a dashboard as Grafana sends them, each with where it stands."""
    chosen = {one["name"]: ".+" for one in model["templating"]["list"]} | SENT
    for panel in model["panels"]:
        for target in panel["targets"]:
            text = re.sub(r"\$(\w+)", lambda one: chosen[one[1]], target["expr"])
            yield f"{model['title']}, {panel['title']}: {target['expr']}", text


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a Prometheus that has scraped all exporters several times."""
    server = program("prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    asked: Counter[str] = Counter()

    def answer(request: Asked) -> Reply:
        name = request.path.strip("/")
        asked[name] += 1
        text = EXPORTERS[name].text.replace("} @", f"}} {10 * asked[name]}")
        return 200, {"Content-Type": "text/plain; version=0.0.4"}, text.encode()

    with serving(answer) as at:
        url = f"127.0.0.1:{free_port()}"
        jobs = [job(name, one, at) for name, one in EXPORTERS.items()]
        config = {"global": {"scrape_interval": "1s"}, "scrape_configs": jobs}
        (folder / "prometheus.yml").write_text(json.dumps(config))
        flags = [f"--web.listen-address={url}", "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
        with (folder / "log").open("w") as log:
            running = subprocess.Popen([server, *flags], cwd=folder, stdout=log, stderr=log)
        try:
            end = time.monotonic() + 60
            while len(asked) < len(EXPORTERS) or min(asked.values()) < 4:
                assert time.monotonic() < end, (folder / "log").read_text()
                time.sleep(0.2)
            yield f"http://{url}"
        finally:
            running.terminate()
            running.wait(30)


def job(name: str, one: Exporter, at: str) -> dict[str, Any]:
    """Return a scrape job as the operator makes it of a monitor: a target has labels of its own pod."""
    targets = [{"targets": [at.removeprefix("http://")], "labels": one.labels}]
    return {"job_name": name, "honor_labels": one.honor, "static_configs": targets, "metrics_path": f"/{name}"}


def rows(url: str, query: str) -> list[str]:
    """Return the values of a query's rows; one that is wrong has none."""
    try:
        with urllib.request.urlopen(
            f"{url}/api/v1/query?{urllib.parse.urlencode({'query': query})}", timeout=10
        ) as got:
            return [one["value"][1] for one in json.load(got)["data"]["result"]]
    except urllib.error.HTTPError as wrong:
        return [f"wrong: {wrong.read().decode()}"]


@pytest.mark.parametrize("name", sorted(models()))
def test_each_query_has_rows(prometheus: str, name: str) -> None:
    """What counts faults has something to count: that there is none would be told of any name."""
    found = {place: rows(prometheus, query.removesuffix(" or vector(0)")) for place, query in queries(models()[name])}
    assert [place for place, values in found.items() if not values or any("wrong" in one for one in values)] == []
    assert not [place for place, values in found.items() if "NaN" in values]


@pytest.mark.parametrize("name", sorted(models()))
def test_each_variable_has_values(prometheus: str, name: str) -> None:
    for one in models()[name]["templating"]["list"]:
        if one["type"] == "query":
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", one["query"]).groups()  # type: ignore[union-attr]
            series = series.replace("$pool", ".+")
            assert rows(prometheus, f"count by ({label}) ({series})"), one
