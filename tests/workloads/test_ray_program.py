"""The Ray program that `gen workload new` writes, run to its end on a real Ray: a head and a worker that are told of a
GPU each. A worker that is lost is made again by KubeRay, a program that is lost by its Job.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from frameworkhomes import home
from jobprograms import resumed, saved, until
from ports import free_port
from reference import load

from generator.workloads import workload
from generator.workloads.wanted import Wanted

pytestmark = pytest.mark.real

STEPS, EVERY = 1500, 100
SMALL = ("--num-cpus=1", "--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0", "--block")
STORE = 100_000_000
"""Bytes of shared memory for objects: a pod has more."""


class Job:
    """A RayJob of ml50 on two pods, whose processes are this machine's."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, home("ray", folder)
        asked = Wanted(name="bert", team="vision", gpus=16, image="example.org/x:1")
        program, *_, job = workload(load("ml50"), "ray", asked).manifests
        (folder / "train.py").write_text(program["data"]["train.py"])
        self.spec = job["spec"]
        (folder / "kept").mkdir()
        self.head = f"127.0.0.1:{free_port()}"
        self.begun: list[subprocess.Popen[bytes]] = []

    def begin(self, *words: str) -> "subprocess.Popen[bytes]":
        """Begin a process with the variables of the head's pod."""
        (container,) = self.spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"]
        said = {one["name"]: one["value"] for one in container["env"]}
        own = {"CHECKPOINTS": f"{self.folder}/kept", "HOME": str(self.folder), "WORKERS": "2"}
        ray = {"RAY_ADDRESS": self.head, "RAY_USAGE_STATS_ENABLED": "0", "PATH": f"{self.path}:/usr/bin:/bin"}
        with (self.folder / "log").open("ab") as log:
            one = subprocess.Popen(words, env=said | own | ray, stdout=log, stderr=log, start_new_session=True)
        self.begun.append(one)
        return one

    def start(self, group: dict[str, object], *words: str) -> "subprocess.Popen[bytes]":
        """Begin what a pod of this group runs: KubeRay makes the command of the group's parameters."""
        told = dict(group["rayStartParams"]) | {"num-gpus": "1", "object-store-memory": str(STORE)}  # type: ignore[call-overload]
        given = [f"--{name}={value}" for name, value in told.items()]
        return self.begin("ray", "start", *words, "--node-ip-address=127.0.0.1", *given, *SMALL)

    def worker(self) -> "subprocess.Popen[bytes]":
        (group,) = self.spec["rayClusterSpec"]["workerGroupSpecs"]
        return self.start(group, f"--address={self.head}")

    def submit(self) -> "subprocess.Popen[bytes]":
        """Run the program as the Job that submits it does."""
        words = self.spec["entrypoint"].replace("/program", str(self.folder)).split()
        return self.begin(*words, f"--steps={STEPS}", f"--save-every={EVERY}")

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def wait(self, what: str, one: "subprocess.Popen[bytes]", words: str) -> None:
        """Wait until it has said something; that it has ended is no use waiting for."""
        until(what, lambda: words in self.log() or one.poll() is not None, self.log)
        assert words in self.log(), self.log()[-6000:]

    def close(self) -> None:
        """End all, the last one first, and what they began."""
        for one in reversed(self.begun):
            kill(one)


def kill(one: "subprocess.Popen[bytes]") -> None:
    """End all of a pod, as a node that is lost does."""
    for process in [*descendants(one.pid), one.pid]:
        end(process)
    one.wait()


def descendants(process: int) -> list[int]:
    """Return what a process began, and what that began."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
        own = [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []
    return [found for child in own for found in [*descendants(child), child]]


def end(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.fixture
def job() -> Iterator[Job]:
    # A path of pytest's is too long for Ray's sockets.
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as name:
        made = Job(Path(name))
        yield made
        made.close()


def test_workers_and_programs_that_are_lost_go_on_to_the_end(job: Job) -> None:
    head = job.start(
        job.spec["rayClusterSpec"]["headGroupSpec"],
        "--head",
        f"--port={job.head.partition(':')[2]}",
        "--include-dashboard=false",
        f"--temp-dir={job.folder}/own",
    )
    job.wait("the head is up", head, "Ray runtime started")
    worker = job.worker()
    program = job.submit()
    until("it saves", lambda: bool(saved(job.log())) or program.poll() is not None, job.log)
    kill(worker)
    before = len(saved(job.log()))
    job.worker()
    until("it goes on", lambda: len(saved(job.log())) > before + 1 or program.poll() is not None, job.log)
    assert program.poll() is None, job.log()[-6000:]
    assert resumed(job.log()) == [], "its actor alone was made again"
    kill(program)
    again = job.submit()
    until("it ends", lambda: again.poll() is not None, job.log)
    assert (again.returncode, saved(job.log())[-1]) == (0, STEPS), job.log()[-6000:]
    assert len(resumed(job.log())) == 1
    assert job.log().count("begins with 2 processes") == 1
