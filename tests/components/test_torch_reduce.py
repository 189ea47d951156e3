"""The all-reduce by torchrun, run to its end on two processes without GPUs, and read as a step reads it.

`GEN_PYTORCH` names the folder of a Python that has it; without it a test skips.
"""

import os
import socket
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from generator.components.acceptance.templates import programs, scripts

pytestmark = pytest.mark.frameworks


def pods(folder: Path, change: tuple[str, str] = ("", ""), **more: str) -> tuple[list[int], list[str]]:
    """Run both pods, the first later than the other, whose program is changed; their exit codes and words."""
    home = os.environ.get("GEN_PYTORCH")
    if home is None:
        pytest.skip("GEN_PYTORCH names no Python with pytorch")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = []
    for index in (1, 0):
        own = folder / str(index)
        own.mkdir()
        for name, text in programs()["data"].items():
            (own / name).write_text(text.replace(*change) if index == 1 and change[0] else text)
        told = {"PODS": "2", "GPUS": "1", "SIZE": "4M", "PATIENCE": "60", "PORT": str(port), "MEET": "127.0.0.1"}
        here = {"JOB_COMPLETION_INDEX": str(index), "OWN_NAME": f"run-nccl-{index}", "SUBDOMAIN": "run-nccl"}
        loopback = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "HOME": str(own), "CUDA_VISIBLE_DEVICES": ""}
        env = {"PATH": f"{home}:{os.environ['PATH']}", **told, **here, **loopback, **(more or {"ON_CPUS": "1"})}
        argv = ["sh", str(own / "torch_reduce.sh")]
        begun.append(
            subprocess.Popen(argv, env=env, cwd=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        )
    try:
        said = [one.communicate(timeout=120)[0] for one in begun]
    finally:
        for one in begun:
            one.kill()
    return [one.returncode for one in begun], said


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What reads the words, as the step imports it."""
    (tmp_path / "nccl_output.py").write_text(scripts()["data"]["nccl_output.py"])
    monkeypatch.syspath_prepend(str(tmp_path))
    return import_module("nccl_output")


def test_two_pods_meet_measure_and_check(tmp_path: Path, output: Any) -> None:
    codes, said = pods(tmp_path)
    assert codes == [0, 0], said
    values, wrong = output.read("\n".join(said), 2, [], infiniband=False)
    assert wrong == []
    assert 0 < values["nccl-gbytes"] < 100


def test_a_sum_that_is_wrong_is_found_by_both(tmp_path: Path, output: Any) -> None:
    _, said = pods(
        tmp_path, ("dist.all_reduce(message)\n    wrong", "dist.all_reduce(message)\n    message[77] += 1\n    wrong")
    )
    _, wrong = output.read("\n".join(said), 2, [], infiniband=False)
    assert wrong == ["2 values are wrong sums"]


def test_a_process_that_ends_ends_the_other_and_says_why(tmp_path: Path, output: Any) -> None:
    codes, said = pods(
        tmp_path, ("message = torch.ones", 'raise RuntimeError("CUDA out of memory")\n    message = torch.ones')
    )
    assert all(codes), said
    _, wrong = output.read(said[0], 2, [], infiniband=False)
    assert wrong == ["it ended before its result: process 1: RuntimeError: CUDA out of memory"]


def test_an_image_whose_pytorch_sees_no_gpu_is_not_measured_on_cpus(tmp_path: Path, output: Any) -> None:
    codes, said = pods(tmp_path, NOTHING="")
    assert all(codes), said
    values, wrong = output.read(said[1], 2, [], infiniband=False)
    assert (values, len(wrong)) == ({}, 1)
    assert wrong[0].endswith("RuntimeError: PyTorch sees no GPU: is that of the image built with CUDA?")
