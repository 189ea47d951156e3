"""The programs that `gen workload new` writes, run to their end on two processes without GPUs: they meet, save, lose a
process and go on.

PyTorch is Debian's (`make test-real`); JAX and TensorFlow are larger, and CI runs neither (`make test-frameworks`).
"""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from frameworkhomes import home
from jobprograms import resumed, saved, until
from ports import free_port
from reference import load

from generator.workloads import workload
from generator.workloads.wanted import Wanted

STEPS, EVERY = 2000, 250


class Gang:
    """The two pods of a job on a30-bench, as processes of this machine with the names that DNS would give them."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.folder, self.path, self.kind = folder, f"{home(kind, folder)}:{os.environ['PATH']}", kind
        made = workload(load("a30-bench"), kind, Wanted(name="bert", team="mlperf", gpus=2, image="example.org/x:1"))
        program, *_, job = made.manifests
        for name, text in program["data"].items():
            (folder / name).write_text(text)
        self.container: dict[str, Any] = job["spec"]["template"]["spec"]["containers"][0]
        (folder / "kept").mkdir()
        self.port = free_port()
        self.pods: dict[int, subprocess.Popen[bytes]] = {}
        self.failures, self.most = [0, 0], job["spec"]["backoffLimitPerIndex"]

    def start(self, index: int) -> None:
        """Start a pod's process, or start it once more."""
        said = {one["name"]: one["value"] for one in self.container["env"]}
        (self.folder / str(index)).mkdir(exist_ok=True)
        here = {
            "CHECKPOINTS": str(self.folder / "kept"),
            "SCRATCH": str(self.folder / str(index)),
            "HOME": str(self.folder),
            "MEET": "127.0.0.1",
            "PORT": str(self.port),
            "GLOO_SOCKET_IFNAME": "lo",
            "PATIENCE": "120",
            "PAUSE": "2",
            "JOB_COMPLETION_INDEX": str(index),
            "PATH": self.path,
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": "1",
            "PET_MONITOR_INTERVAL": "0.1",  # as newer ones look after their processes; PyTorch 1.13 does each 5 s
        }
        words = [*self.container["command"], *self.container["args"]]
        argv = [word.replace("/program", str(self.folder)) for word in words]
        with (self.folder / f"log-{index}").open("ab") as log:
            self.pods[index] = subprocess.Popen(
                [*argv, f"--steps={STEPS}", f"--save-every={EVERY}"],
                env=said | here,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self) -> str:
        return "".join(
            (self.folder / f"log-{index}").read_text(errors="replace")
            for index in (0, 1)
            if (self.folder / f"log-{index}").exists()
        )

    def until(self, what: str, ready: Callable[[], bool]) -> None:
        until(what, ready, self.log)

    def kill(self, index: int) -> None:
        """End all of a pod."""
        os.killpg(self.pods[index].pid, signal.SIGKILL)
        self.pods[index].wait()

    def lose(self, index: int) -> None:
        """End a pod as a node that is lost does, which is no failure, and make it again."""
        self.kill(index)
        self.start(index)

    def ended(self) -> bool:
        """Do what the Job's controller does: make a pod that failed again. Tell whether all have ended well."""
        for index, pod in self.pods.items():
            if pod.poll() not in (None, 0):
                self.failures[index] += 1
                if self.failures[index] > self.most:
                    pytest.fail(f"the job failed, with pod {index}\n{self.log()[-6000:]}")
                self.start(index)
        return all(pod.poll() == 0 for pod in self.pods.values())

    def close(self) -> None:
        for index, pod in self.pods.items():
            if pod.poll() is None:
                self.kill(index)


@pytest.fixture
def gang(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gang]:
    one = Gang(request.param, tmp_path)
    if request.param == "tensorflow":  # its launcher writes addresses of both, by name
        text = (tmp_path / "launch.sh").read_text()
        ports = [free_port(), free_port()]
        names = re.sub(r'\\"\$NAME-\$index\.\$NAME:\$PORT\\"', r'\\"127.0.0.1:$(eval echo \\$PORT_$index)\\"', text)
        (tmp_path / "launch.sh").write_text(f"export PORT_0={ports[0]} PORT_1={ports[1]}\n{names}")
    yield one
    one.close()


PYTORCH = pytest.param("pytorch", marks=pytest.mark.real)
OTHERS = (pytest.param(kind, marks=pytest.mark.frameworks) for kind in ("jax", "tensorflow"))
KINDS = pytest.mark.parametrize("gang", [PYTORCH, *OTHERS], indirect=True)


@KINDS
@pytest.mark.parametrize("lost", [0, 1])
def test_a_job_whose_pod_is_lost_goes_on_from_its_checkpoint_to_the_end(gang: Gang, lost: int) -> None:
    for index in (0, 1):
        gang.start(index)
    gang.until("it saves", lambda: bool(saved(gang.log())))
    gang.lose(lost)
    gang.until("it ends", gang.ended)
    assert max(saved(gang.log())) == STEPS, "by the first process, which may be in the other pod than before"
    assert resumed(gang.log())
    assert resumed(gang.log())[-1] >= EVERY
    assert gang.log().count("begins with 2 processes") == 1


@pytest.mark.parametrize("gang", [PYTORCH], indirect=True)
def test_a_process_that_dies_is_started_again_within_its_pod(gang: Gang) -> None:
    for index in (0, 1):
        gang.start(index)
    gang.until("it saves", lambda: bool(saved(gang.log())))
    (torchrun,) = children(gang.pods[1].pid)
    os.kill(children(torchrun)[-1], signal.SIGKILL)
    gang.until("it ends", lambda: all(pod.poll() is not None for pod in gang.pods.values()))
    assert [pod.returncode for pod in gang.pods.values()] == [0, 0]
    assert (max(saved(gang.log())), len(resumed(gang.log()))) == (STEPS, 1)


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
