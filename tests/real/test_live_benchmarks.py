"""Benchmarks as rendered: the real workflow controller runs the operation in real pods, and Jobs run as real pods too.
There is no GPU: the image has an `nvidia-smi` that knows compute modes, and a harness that leaves what LoadGen wrote.
"""

import contextlib
import json
import re
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from auditing import audited, betrayed, stored, unused, written
from mlperf_logs import summary
from onenode.site import Gen, lighter, run_of, shown
from reference import load

from generator.components.mlperf import mlperf
from generator.components.mlperf.names import NAMESPACE
from generator.live.apiserver import free_ports
from generator.live.identity import record

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
TEAM = "mlperf"
ACCOUNT = f"{NAMESPACE}:mlperf"
HARNESS = "localhost/harness:1"
SHELL = "#!/usr/bin/sh\n"
# What each benchmark finds.
FOUND = {"resnet50-offline-both": "offline-valid", "resnet50-server": "server-valid", "late": "server-over-latency"}
FILES: dict[str, Path | bytes] = {
    "/usr/bin/nvidia-smi": f"{SHELL}echo Exclusive_Process\n".encode(),
    "/usr/bin/harness": f"{SHELL}cat /summaries/$1 >$OUTPUT/mlperf_log_summary.txt\n".encode(),
    **{f"/summaries/{name}": summary(name).encode() for name in FOUND.values()},
}


class Site(Gen):
    """The cluster with its benchmarks, and where Argo Workflows tells of them."""

    def __init__(self, api: Any, folder: Path, port: int) -> None:
        super().__init__(api, folder)
        self.port = port

    def command(self, *words: str) -> list[str]:
        config = str(self.api.address.kubeconfig("admin"))
        return [sys.executable, "-P", "-m", "generator", *words, "--kubeconfig", config, "--cluster", "a30-bench"]

    def benchmark(self, name: str, *words: str) -> tuple[str, str]:
        """Run a benchmark: how it ended, and what its steps said."""
        done = self.gen("submit", "mlperf", "-p", f"benchmark={name}", "-p", "wait-seconds=300", *words)
        assert done.returncode == 0, done.stderr
        run = run_of(done)
        self.gen("watch", run)
        return str(shown(self, run)["phase"]), self.gen("logs", run).stdout

    def told(self, benchmark: str) -> dict[str, float]:
        """Return what Prometheus reads of a benchmark."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        found = re.findall(
            rf'^argo_workflows_mlperf_(\w+)\{{benchmark="{benchmark}"[^}}]*\}} (\S+)$', text, re.MULTILINE
        )
        return {name: float(value) for name, value in found}

    def recorded(self) -> Object:
        """Return the last good run of each benchmark."""
        found = self.api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/mlperf-records")
        return {name: json.loads(text) for name, text in found["data"].items()} if found else {}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    from onenode.argo import argo
    from onenode.images import files, image
    from onenode.node import node
    from onenode.simulated import load_python
    from twin.plane import plane

    cluster = load("a30-bench")
    with (
        tempfile.TemporaryDirectory(prefix="live-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        stack.enter_context(audited(folder, ACCOUNT))
        api = stack.enter_context(plane(folder, simulated=False))
        real = stack.enter_context(node(api))
        load_python(real)
        tools = files(Path("/usr/bin") / name for name in ("sh", "cat", "mkdir", "sort", "tr"))
        real.load(image(real.folder / "harness.tar", HARNESS, tools | FILES, Env=["PATH=/usr/bin"]))
        (port,) = free_ports(1)
        stack.enter_context(argo(api, real, cluster, port))
        for space in (TEAM, NAMESPACE):
            api.namespace(space)
        api.apply(record(cluster))
        made = mlperf(cluster)
        shared = [one for each in made.operations for one in each.templates]
        for one in (*made.base, *made.objects, *shared):
            if one["kind"] != "ResourceQuota":  # of GPUs: see test_benchmarks.py
                api.apply(fitting(json.loads(json.dumps(one))))
        yield Site(api, folder, port)


def fitting(one: Object) -> Object:
    """Let it fit this machine: without GPUs, queues and a pod network."""
    if one["metadata"]["name"] != "mlperf-benchmarks":
        return lighter(one)
    plans = {name.removesuffix(".json"): json.loads(text) for name, text in one["data"].items()}
    plans["late"] = json.loads(json.dumps(plans["resnet50-server"]).replace("mlperf-resnet50-server", "mlperf-late"))
    plans["resnet50-offline-both"]["wanted"]["settings"]["target_qps"] = 18500  # the summary is of one node
    data = {f"{name}.json": json.dumps(small(plans[name], found)) for name, found in FOUND.items()}
    return one | {"data": data}


def small(plan: Object, found: str) -> Object:
    """Let a benchmark's Job run here; its script, variables and rights are as rendered."""
    spec = plan["job"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    container |= {"image": HARNESS, "args": ["harness", found]}
    container["resources"] = {"limits": {"cpu": "50m", "memory": "64Mi"}}
    container["volumeMounts"] = [one for one in container["volumeMounts"] if one["name"] != "data"]
    spec["volumes"] = [one for one in spec["volumes"] if one["name"] != "data"]
    spec["hostNetwork"] = True
    for key in ("schedulerName", "priorityClassName", "nodeSelector"):
        spec.pop(key, None)
    return plan


def test_a_run_is_measured_and_written_down(site: Site) -> None:
    phase, said = site.benchmark("resnet50-server")
    assert phase == "Succeeded", said
    assert "VALID: 15988.4 samples/s" in said
    assert site.recorded()["resnet50-server"]["value"] == 15988.41
    assert site.told("resnet50-server") == {"good": 1, "result": 15988.41, "latency_p99_seconds": 0.01187392}


def test_a_run_of_two_pods_is_that_of_the_first(site: Site) -> None:
    phase, said = site.benchmark("resnet50-offline-both")
    assert phase == "Succeeded", said
    assert "VALID: 18734.6 samples/s" in said
    job = site.api.get(f"/apis/batch/v1/namespaces/{TEAM}/jobs/mlperf-resnet50-offline-both")
    assert (job["status"]["succeeded"], job["status"]["completedIndexes"]) == (2, "0,1")


def test_the_same_figure_again_is_good(site: Site) -> None:
    phase, said = site.benchmark("resnet50-server")
    assert phase == "Succeeded", said
    assert "15988.4 samples/s, 0.0 % above 15988.4 of " in said


def test_what_loadgen_refuses_fails_at_once_and_changes_no_record(site: Site) -> None:
    before = site.recorded()
    phase, said = site.benchmark("late")
    assert phase == "Failed"
    assert said.count("INVALID: the result is INVALID: not satisfied: performance constraints") == 1, said
    assert site.recorded() == before
    assert site.told("late") == {"good": 0}


def test_no_right_is_unused_and_none_is_missing(site: Site) -> None:
    """After all others."""
    assert unused(site.api, site.folder, ACCOUNT) == set()


def test_no_token_is_told(site: Site) -> None:
    """After all others. The runs have no Secret."""
    assert betrayed([*stored(site.api), *written(site.folder)], ()) == []
