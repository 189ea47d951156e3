"""GPUs that a burn-in tries together: what its pods find, and when a machine is another one than the file says."""

import importlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from acceptanceoutputs import nccl

from generator.components.node_operations.facts import hardware, of_pool
from generator.components.node_operations.templates import scripts
from generator.model.cluster import Cluster

WANTED = {"gpus": 8, "pods": 2, "hcas": ["mlx5_0", "mlx5_1"], "infiniband": True, "gbytes": 80.0}


class Pod:
    """What runs in the pod: the scripts, and a torchrun that says what it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in scripts()["data"].items():
            (folder / name).write_text(text)

    def run(self, says: str, code: int = 0, index: int = 0, **expected: Any) -> tuple[int, str]:
        """Run the all-reduce; its exit code, and the words with which the pod ends."""
        (self.folder / "says").write_text(says)
        program = self.folder / "torchrun"
        program.write_text(f'#!/bin/sh\necho "$@" >"{self.folder}/asked"\ncat "{self.folder}/says"\nexit {code}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        told = {"SIZE": "8G", "PORT": "29500", "PATIENCE": "5", "MEET": "127.0.0.1"}
        env = {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "TOLD": str(self.folder / "told"),
            "JOB_COMPLETION_INDEX": str(index),
            "EXPECTED": json.dumps(WANTED | {"env": told} | expected),
        }
        command = [sys.executable, str(self.folder / "burn_in_nccl.py")]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert says in done.stdout, "what NCCL says is in the log of the pod"
        return done.returncode, (self.folder / "told").read_text()


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def test_two_nodes_that_are_fast_together_pass(pod: Pod) -> None:
    assert pod.run(nccl(88.4)) == (0, "passed; 88.4 GB/s over 16 GPUs")
    assert "--nnodes=2 --nproc_per_node=8 --node_rank=0" in (pod.folder / "asked").read_text()
    assert pod.run("", index=1) == (0, "passed")


def test_one_node_is_judged_by_its_sums_alone(pod: Pod) -> None:
    assert pod.run(nccl(12.5, nodes=1), pods=1, gbytes=None) == (0, "passed; 12.5 GB/s over 8 GPUs")
    assert pod.run(nccl(460, nodes=1, wrong=3), pods=1, gbytes=None) == (1, "6 values are wrong sums")


@pytest.mark.parametrize(
    ("says", "code", "told"),
    [
        (nccl(47.9), 0, "47.9 GB/s over 16 GPUs, less than 80"),
        (nccl(ways=("Socket/0",)), 0, "data went by Socket between nodes, not by InfiniBand; not used: mlx5_1"),
        (nccl(nodes=1), 0, "8 of 16 GPUs took part"),
        (
            "NCCL WARN Cuda failure 802 'system not yet initialized'\n",
            1,
            "it ended before its result: Cuda failure",
        ),
    ],
)
def test_what_is_slow_or_wrong_is_told(pod: Pod, says: str, code: int, told: str) -> None:
    ended, words = pod.run(says, code)
    assert (ended, words.startswith(told)) == (1, True), words


def test_a_pod_that_is_not_the_first_tells_why_it_ended(pod: Pod) -> None:
    code, words = pod.run("process 9: RuntimeError: CUDA out of memory\n", 3, index=1)
    assert code == 1
    assert words.startswith("PyTorch ended with 3: ")


def test_gpus_are_tried_together_where_acceptance_has_an_image(ml50: Cluster) -> None:
    assert ml50.acceptance
    found = of_pool(ml50, "gpu-inference")["nccl"]
    assert (found["image"], found["gbytes"], found["env"]["NCCL_IB_HCA"]) == (
        ml50.acceptance.image, 80.0, "=mlx5_0,mlx5_1",
    )  # fmt: skip
    assert of_pool(ml50, "cpu")["nccl"] is None
    assert {*found} | {"gpus", "pods"} == {*WANTED, "env", "image"}


def step(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> ModuleType:
    """Return a script of the steps, with those beside it; none of them is known after the test."""
    for file, text in scripts()["data"].items():
        (folder / file).write_text(text)
        monkeypatch.setitem(sys.modules, file.removesuffix(".py"), ModuleType("unknown"))
        del sys.modules[file.removesuffix(".py")]
    monkeypatch.syspath_prepend(folder)
    return importlib.import_module(name)


@pytest.fixture
def likeness(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    return step("likeness", monkeypatch, tmp_path)


@pytest.mark.parametrize("tried", [0, 16, 126, 506, 2030])
def test_memory_that_is_tried_leaves_room_for_the_kernels_tables_of_it(
    tried: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """8 bytes of each page of 4 KiB where it is mapped, 9 where it is kept; and half a GiB for 32 processes."""
    monkeypatch.setenv("BURN_IN_SECONDS", "60")
    trying = step("trying", monkeypatch, tmp_path)
    wanted = {"burn-in": {}, "expected": {"disks": 0, "memory": tried}}
    (container,) = trying.job_of(wanted, "gpu-01", "x")["spec"]["template"]["spec"]["containers"]
    resources = container["resources"]
    assert resources["limits"]["memory"] == resources["requests"]["memory"]
    assert int(resources["limits"]["memory"].removesuffix("Gi")) >= tried * (1 + 17 / 4096) + 0.5


@pytest.mark.parametrize(
    ("has", "product", "told"),
    [
        ({"cpu": "128", "memory": "1056000000Ki"}, "NVIDIA-H100-80GB-HBM3", []),
        ({"cpu": "128", "memory": "1100Gi"}, "NVIDIA-H100-NVL-SHARED", []),
        ({}, "", []),
        ({"cpu": "64", "memory": "990Gi"}, "NVIDIA-H100-80GB-HBM3", ["64 of 128 hardware threads"]),
        ({"cpu": "128", "memory": "960Gi"}, "", ["960 of 1024 GiB of memory"]),
        ({"cpu": "128", "memory": "990Gi"}, "NVIDIA-GH200-480GB", ["GPUs called NVIDIA-GH200-480GB, not H100"]),
    ],
)
def test_a_machine_is_held_against_the_file(
    likeness: ModuleType, ml50: Cluster, has: dict[str, str], product: str, told: list[str]
) -> None:
    (machine,) = [one for one in ml50.machines if one.name == "gpu-01"]
    said = hardware(machine)
    node = {"metadata": {"name": "gpu-01", "labels": {"nvidia.com/gpu.product": product}}, "status": {"capacity": has}}
    assert list(likeness.unlike(node, said)) == told


def test_a_model_is_known_by_its_whole_name(likeness: ModuleType) -> None:
    node = {"metadata": {"labels": {"nvidia.com/gpu.product": "NVIDIA-L40S"}}, "status": {}}
    assert list(likeness.unlike(node, {"gpu": "L40"})) == ["GPUs called NVIDIA-L40S, not L40"]
    assert list(likeness.unlike(node, {"gpu": "L40S"})) == []
