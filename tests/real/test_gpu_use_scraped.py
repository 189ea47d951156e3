"""What a real Prometheus makes of the exporter's labels when it scrapes as the operator's ServiceMonitor says."""

import json
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from loopback import serving
from ports import free_port
from reference import load

from generator.components.kube_prometheus_stack.watched import rules
from tools import program

pytestmark = pytest.mark.real

# dcgm-exporter 4.6 (internal/pkg/rendermetrics): one GPU of a pod, one of nobody.
GPUS = """\
# HELP DCGM_FI_PROF_GR_ENGINE_ACTIVE Ratio of time the graphics engine is active.
# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-a",pci_bus_id="0000:17:00.0",device="nvidia0",modelName="NVIDIA L4",\
Hostname="l4-1",container="main",namespace="speech",pod="train"} 0.500000
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="1",UUID="GPU-b",pci_bus_id="0000:65:00.0",device="nvidia1",modelName="NVIDIA L4",\
Hostname="l4-1"} 1.000000
"""
# kube-state-metrics 2, whose ServiceMonitor honours labels.
STATE = """\
# TYPE kube_pod_container_resource_requests gauge
kube_pod_container_resource_requests{namespace="speech",pod="train",uid="1",container="main",node="l4-1",\
resource="nvidia_com_gpu",unit="integer"} 4
# TYPE kube_pod_status_phase gauge
kube_pod_status_phase{namespace="speech",pod="train",uid="1",phase="Pending"} 0
kube_pod_status_phase{namespace="speech",pod="train",uid="1",phase="Running"} 1
"""


def job(name: str, url: str, *, honor: bool, **labels: str) -> dict[str, Any]:
    """Return a scrape job as the operator makes it of a ServiceMonitor: a target has labels of its own pod."""
    targets = [{"targets": [url.removeprefix("http://")], "labels": labels}]
    return {"job_name": name, "honor_labels": honor, "static_configs": targets, "metrics_path": f"/{name}"}


def asked(url: str, query: str) -> dict[str, str]:
    with urllib.request.urlopen(f"{url}/api/v1/query?{urllib.parse.urlencode({'query': query})}", timeout=10) as answer:
        result = json.load(answer)["data"]["result"]
    return {one["metric"].get("namespace", ""): one["value"][1] for one in result}


def test_use_is_the_team_s_and_not_the_exporter_s(tmp_path: Path) -> None:
    server = program("prometheus")
    (rule,) = [one["spec"] for one in rules(load("gpu-serving")) if one["metadata"]["name"] == "gpu-use"]
    rule["groups"][0]["interval"] = "1s"
    (tmp_path / "rules.json").write_text(json.dumps(rule))
    pages = {"/gpus": GPUS, "/kube-state-metrics": STATE}
    with serving(lambda one: (200, {"Content-Type": "text/plain; version=0.0.4"}, pages[one.path].encode())) as at:
        jobs = [
            job("gpus", at, honor=False, namespace="gpu-operator", pod="nvidia-dcgm-exporter-x", container="exporter"),
            job("kube-state-metrics", at, honor=True, namespace="monitoring", pod="state", container="state"),
        ]
        config = {"global": {"scrape_interval": "1s"}, "rule_files": ["rules.json"], "scrape_configs": jobs}
        (tmp_path / "prometheus.yml").write_text(json.dumps(config))
        url = f"http://127.0.0.1:{free_port()}"
        flags = [f"--web.listen-address={url.removeprefix('http://')}", "--config.file=prometheus.yml"]
        with (tmp_path / "log").open("w") as log:
            command = [server, *flags, "--storage.tsdb.path=data"]
            running = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)
        try:
            assert awaited(url, "namespace:gpus_busy:sum") == {"speech": "2"}
            assert asked(url, "pod:gpu_active:avg") == {"speech": "0.5"}
        finally:
            running.terminate()
            running.wait(30)


def awaited(url: str, query: str) -> dict[str, str]:
    for _ in range(300):
        try:
            if found := asked(url, query):
                return found
        except OSError:
            pass
        time.sleep(0.2)
    return {}
