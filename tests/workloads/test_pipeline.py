"""Pipelines for teams: what the manifests say on ml50, and what is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from reference import load

from generator.components.argo_workflows import VERSIONS as ARGO
from generator.components.argo_workflows.install import configuration
from generator.components.tenants.install import belongings
from generator.components.tenants.rbac import STEPS
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.workloads import workload
from generator.workloads.pods import PROGRAMS
from generator.workloads.wanted import Wanted

Object = dict[str, Any]


def cluster(*, pipelines: bool = True) -> Cluster:
    whole = load("ml50")
    teams = tuple(structs.replace(one, pipelines=pipelines and one.name == "vision") for one in whole.teams)
    return structs.replace(whole, teams=teams)


def made(of: Cluster, gpus: int = 8) -> list[Object]:
    return workload(of, "pipeline", Wanted(name="digits", team="vision", gpus=gpus, image="example.org/x:1")).manifests


def test_steps_hand_on_files_by_a_volume_and_only_one_has_gpus() -> None:
    _, claim, template, run = made(cluster())
    assert run["spec"] == {"workflowTemplateRef": {"name": "digits"}}
    spec = template["spec"]
    assert spec["podMetadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"
    assert spec["serviceAccountName"] == "pipeline"
    assert {"claimName": claim["metadata"]["name"]} in [one.get("persistentVolumeClaim") for one in spec["volumes"]]
    order, *steps = spec["templates"]
    assert [one.get("depends") for one in order["dag"]["tasks"]] == [None, "ingest", "train"]
    asked = {one["name"]: one["container"]["resources"]["limits"].get("nvidia.com/gpu") for one in steps}
    assert asked == {"ingest": None, "train": "8", "evaluate": None}
    assert "secret" not in json.dumps(template).lower()


def test_what_could_never_start_is_refused() -> None:
    for of, gpus, told in ((cluster(pipelines=False), 8, "pipelines: true"), (cluster(), 16, "--gpus 8 at most")):
        with pytest.raises(UsageError, match=told):
            made(of, gpus)


def test_an_account_with_one_right_and_room_for_the_operations() -> None:
    with_them, without = cluster(), cluster(pipelines=False)
    (vision,) = [one for one in with_them.teams if one.pipelines]
    found = belongings(with_them, vision)
    assert [one["roleRef"]["name"] for one in found if one["metadata"]["name"] == "pipeline" and "roleRef" in one] == [
        STEPS
    ]
    (plain,) = [one for one in without.teams if one.name == "vision"]
    assert not [one for one in belongings(without, plain) if "pipeline" in one["metadata"]["name"]]
    data, former = (configuration(one, ARGO.of(one)).operations[0]["value"] for one in (with_them, without))
    assert int(data["parallelism"]) - int(former["parallelism"]) == int(data["namespaceParallelism"])
    memory = json.loads(data["executor"])["resources"]
    assert memory["requests"]["memory"] == memory["limits"]["memory"], "the rules of teams refuse other pods"


def test_the_first_step_may_be_repeated_and_the_next_takes_only_what_was_brought(tmp_path: Path) -> None:
    def step(name: str) -> "subprocess.CompletedProcess[str]":
        words = [sys.executable, str(PROGRAMS / "pipeline.py.txt"), name]
        env = {**os.environ, "RUN": str(tmp_path / "run")}
        return subprocess.run(words, env=env, capture_output=True, text=True, check=False)

    assert "brought 2000 rows" in step("ingest").stdout
    first = (tmp_path / "run/data.csv").read_bytes()
    assert step("ingest").returncode == 0
    assert (tmp_path / "run/data.csv").read_bytes() == first
    (tmp_path / "run/data.csv").write_bytes(first[:-10])
    read = f"import runpy; runpy.run_path({str(PROGRAMS / 'pipeline.py.txt')!r}, run_name='x')['read']()"
    env = {**os.environ, "RUN": str(tmp_path / "run")}
    told = subprocess.run([sys.executable, "-c", read], env=env, capture_output=True, text=True, check=False)
    assert (told.returncode, "is not what was brought" in told.stderr) == (1, True)
