"""The all-reduce by torchrun, run to its end on two processes without GPUs, and read as a step reads it."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from torchpods import run

from generator.components.acceptance.templates import scripts

pytestmark = pytest.mark.real


def pods(folder: Path, change: tuple[str, str] = ("", ""), **more: str) -> tuple[list[int], list[str]]:
    """Run both pods of the all-reduce."""
    return run(folder, "torch.sh", "torch_reduce.py", change=change, **more)


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
