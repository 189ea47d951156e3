"""What acceptance promises of its queue, on a twin of `ml50` with the real Kueue, Volcano and MPI operator: it runs on
what is idle, stops nobody, and goes when a team wants its own back. The steps run as processes with their rights; pods
are KWOK's.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from reference import ROOT, load

from generator.components.acceptance import acceptance
from generator.components.acceptance.names import JOBS, NAMESPACE
from generator.components.acceptance.templates import scripts
from generator.components.python_steps import IMAGE as PYTHON

if TYPE_CHECKING:
    from twin.fixtures import Twin

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

TRAINING = 12
"""Nodes of the pool: vision and language own five each, recommender one, and one is nobody's."""


class Steps:
    """The twin, and what runs steps there."""

    def __init__(self, twin: "Twin", folder: Path) -> None:
        self.twin, self.folder = twin, folder
        for name, text in scripts()["data"].items():
            (folder / name).write_text(text)
        made = acceptance(load("ml50"))
        shared = [one for each in made.operations for one in each.templates if one["kind"] == "ConfigMap"]
        # The CA is for the test of object stores alone; nothing here serves cert-manager's kinds.
        own = [one for one in made.objects if one["kind"] != "Certificate"]
        twin.bring([*made.base, *own, *shared])
        config = json.loads(twin.api.account(NAMESPACE, "acceptance").read_text())
        (folder / "token").write_text(config["users"][0]["user"]["token"])
        (folder / "ca.crt").write_bytes(twin.api.address.certificate.read_bytes())

    def begin(self, run: str, step: str, **told: str) -> "subprocess.Popen[str]":
        """Begin a step."""
        env = {
            **os.environ,
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.twin.api.address.port),
            "ACCOUNT": str(self.folder),
            "MOMENT": "0.3",
            "RUN": run,
            "STATUS": "Failed",
            "POOL": "gpu-training",
            "TESTS": "nccl,pairs",
            "NODES": "0",
            "THRESHOLDS": "",
            "WAIT_SECONDS": "120",
            "TRY_SECONDS": "120",
            **told,
        }
        command = [sys.executable, "-B", str(self.folder / "acceptance.py"), step]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def steps() -> Iterator[Steps]:
    from twin.fixtures import twin_of
    from twin.operators import MPI

    with tempfile.TemporaryDirectory(prefix="acceptance-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "scripts").mkdir()
        with twin_of(ROOT, "ml50", folder, {"mpi-operator": MPI}) as twin:
            yield Steps(twin, folder / "scripts")


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    try:
        said, _ = process.communicate(timeout=240)
    finally:
        process.kill()
    assert "Traceback" not in said, said
    return process.returncode, said


def begun(process: "subprocess.Popen[str]") -> None:
    """Wait until the step has seen its job run."""
    assert process.stdout
    said = []
    for line in process.stdout:
        said.append(line)
        if line.endswith(" runs\n"):
            return
    pytest.fail("".join(said))


def running(steps: Steps) -> list[dict[str, Any]]:
    """Return the pods of acceptance that run."""
    pods = steps.twin.api.items(f"/api/v1/namespaces/{JOBS}/pods")
    return [
        one for one in pods if one["status"].get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]
    ]


@pytest.mark.parametrize(("test", "pods"), [("nccl", TRAINING + 1), ("pairs", TRAINING)])
def test_it_has_all_that_is_idle_and_goes_when_a_team_wants_its_own(steps: Steps, test: str, pods: int) -> None:
    from twin.team import eventually

    run = f"acceptance-{test}"
    process = steps.begin(run, test)
    begun(process)
    assert len(running(steps)) == pods
    nodes = {one["spec"]["nodeName"] for one in running(steps)}
    assert set(steps.twin.pool("gpu-training")) <= nodes
    vision = steps.twin.member("vision")
    vision.prepare("train", pods=5)
    code, said = ended(process)
    assert (code, "was stopped by its queue" in said) == (2, True), said
    assert ended(steps.begin(run, "report"))[0] == 0
    eventually("nothing of it is left", lambda: not steps.twin.api.items(f"/api/v1/namespaces/{JOBS}/pods"))
    vision.delete("train")
    eventually("the team's job is gone", lambda: not vision.pods())


def test_it_stops_nobody_and_says_why_it_waits(steps: Steps) -> None:

    vision = steps.twin.member("vision")
    vision.prepare("low", pods=5, priority="low")
    code, said = ended(steps.begin("acceptance-waits", "pairs", WAIT_SECONDS="15"))
    assert (code, "has not started in 15 s" in said) == (2, True), said
    assert "nvidia.com/gpu" in said
    assert vision.running("low") == 5
    assert ended(steps.begin("acceptance-waits", "report"))[0] == 0
    process = steps.begin("acceptance-less", "pairs", NODES="6")
    begun(process)
    assert len(running(steps)) == 6
    assert vision.running("low") == 5
    assert ended(steps.begin("acceptance-less", "report"))[0] == 0
    assert ended(process)[0] == 2
    process = steps.begin("acceptance-stores", "objects", TESTS="objects")
    begun(process)
    images = {one["spec"]["containers"][0]["image"] for one in running(steps)}
    assert (len(running(steps)), images) == (3, {PYTHON}), "a few pods see enough of what all share"
    assert ended(steps.begin("acceptance-stores", "report", TESTS="objects"))[0] == 0
    assert ended(process)[0] == 2
    vision.delete("low")
