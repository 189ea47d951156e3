"""Burn-in, training and inference, run to their end without GPUs, and judged as a step judges them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acceptanceoutputs import judging
from frameworkhomes import home as python_with
from torchpods import run

from generator.components.acceptance.templates import programs

POOL = {
    "pool": "gpu",
    "gpus": 1,
    "count": 2,
    "pods": 2,
    "stores": {},
    "parts": dict.fromkeys(("training", "inference"), 0),
}
# In place of PyTorch: a GPU that is lost a second after the load begins.
LOST = """\
import os, pathlib, sys, time
folder, index = pathlib.Path(sys.argv[1]), sys.argv[2]
(folder / f"ready-{index}").touch()
while not (folder / "go").exists():
    time.sleep(0.05)
time.sleep(1)
pathlib.Path(os.environ["SEEN"]).touch()
raise OSError("fell off the bus")
"""
SMI = """\
#!/bin/sh
case $1 in *event_reasons*) echo 'not a valid field to query'; exit 2 ;; esac
echo '0, GPU-a, NVIDIA A30, 0, 61, 1440, Not Active, Not Active, Not Active'
[ -e "$SEEN" ] || echo '1, GPU-b, NVIDIA A30, [N/A], 93, 900, Active, Not Active, Not Active'
"""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with judging(tmp_path_factory.mktemp("scripts")) as found:
        yield found


def judged(step: Any, test: str, said: list[str]) -> tuple[Any, list[str]]:
    """Judge what the pods said: the one with index 1 first, as they are begun."""
    heard = [step.Said(f"gpu-{place}", place, text) for place, text in enumerate(reversed(said))]
    result = step.judge(test, POOL, heard, {}, [])
    return result["figures"], result["wrong"]


def burn(folder: Path, home: str, change: tuple[str, str] = ("", ""), **more: str) -> list[dict[str, Any]]:
    """Load two GPUs that are CPUs; what is told of them."""
    (folder / "gpu_burn.py").write_text(programs()["data"]["gpu_burn.py"].replace(*change))
    env = {"PATH": f"{folder}:{home}:/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1", "ON_CPUS": "1"}
    told = {"GPUS": "2", "SECONDS": "2", "PATIENCE": "90", "CUDA_VISIBLE_DEVICES": ""}
    argv = [f"{home}/python3" if home else sys.executable, "-B", str(folder / "gpu_burn.py")]
    done = subprocess.run(argv, env=env | told | more, capture_output=True, text=True, check=True, timeout=240)
    _, *lines = done.stdout.splitlines()
    return [json.loads(one.removeprefix("== gpu ")) for one in lines]


def test_what_nvidia_smi_counts_is_told_though_no_program_runs(tmp_path: Path) -> None:
    """The last words of each process are told, and what was seen of a GPU before it went."""
    (tmp_path / "nvidia-smi").write_text(SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    (tmp_path / "torch.py").write_text(LOST)
    first, second = burn(tmp_path, "", SEEN=str(tmp_path / "seen"))
    assert (first["uuid"], first["lost"], first["uncorrected"], first["hottest"]) == ("GPU-a", False, 0, 61)
    assert (second["uuid"], second["lost"], second["uncorrected"]) == ("GPU-b", True, None)
    assert (first["slowed"], set(second["slowed"]), second["hottest"]) == ({}, {"hw_thermal_slowdown"}, 93)
    assert (first["error"], second["error"]) == ("OSError: fell off the bus",) * 2


@pytest.mark.real
def test_gpus_that_count_right_come_to_the_same_sums(tmp_path: Path) -> None:
    first, second = burn(tmp_path, python_with("pytorch", tmp_path))
    assert first["digest"] == second["digest"]
    assert [(one["different"], one["flipped"], one["products"] > 0) for one in (first, second)] == [(0, 0, True)] * 2


@pytest.mark.real
@pytest.mark.parametrize(
    ("change", "key"),
    [
        (("out=out)", "out=out)\n                out[3, 5] += 1"), "different"),
        (("flipped += sum", "chunks[1][7] ^= 4\n        flipped += sum"), "flipped"),
    ],
)
def test_a_number_that_changed_is_counted(tmp_path: Path, change: tuple[str, str], key: str) -> None:
    first, _ = burn(tmp_path, python_with("pytorch", tmp_path), change)
    assert first[key] > 0


@pytest.mark.real
def test_a_process_that_ends_stops_no_other(tmp_path: Path) -> None:
    change = (
        "    chunks = filled",
        '    if index:\n        raise RuntimeError("CUDA error: ECC")\n    chunks = filled',
    )
    first, second = burn(tmp_path, python_with("pytorch", tmp_path), change)
    assert (first["different"], second["error"]) == (0, "RuntimeError: CUDA error: ECC")


@pytest.mark.real
def test_two_pods_train_and_go_on_from_their_checkpoints(step: Any, tmp_path: Path) -> None:
    codes, said = run(tmp_path, "training.sh")
    assert codes == [0, 0], said
    figures, wrong = judged(step, "training", said)
    assert wrong == []
    assert figures["training on 2 GPUs"]["training-samples"] > 0


@pytest.mark.real
def test_a_pod_that_does_not_read_its_checkpoint_is_found(step: Any, tmp_path: Path) -> None:
    _, said = run(tmp_path, "training.sh", change=('model.load_state_dict(saved["model"])', "pass"))
    wrong = judged(step, "training", said)[1]
    assert any("has another loss than most after it went on" in one for one in wrong), wrong


@pytest.mark.real
def test_two_pods_answer_requests(step: Any, tmp_path: Path) -> None:
    codes, said = run(tmp_path, "torch.sh", "inference.py")
    assert codes == [0, 0], said
    figures, wrong = judged(step, "inference", said)
    assert (wrong, list(figures)) == ([], ["inference on gpu-0", "inference on gpu-1"])
    assert all(one["inference-p50-ms"] <= one["inference-p99-ms"] for one in figures.values())
