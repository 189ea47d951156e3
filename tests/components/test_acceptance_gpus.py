"""What the steps of acceptance make of what GPUs did under load, in a training, and for requests."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from acceptanceoutputs import GOOD_BURN, answered, judging, trained
from msgspec import structs

from generator.components.acceptance.templates import programs
from generator.components.acceptance.thresholds import ANSWERS, FORWARD, TRAINING, thresholds
from generator.model.cluster import Cluster
from generator.model.gpus import dense_tflops, has_bf16

POOL = {"pool": "gpu", "gpus": 2, "count": 2, "pods": 2, "stores": {}}
PARTS = {"burn": 0.9, "training": 0.9, "inference": 0.7}


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with judging(tmp_path_factory.mktemp("scripts")) as found:
        yield found


def judged(step: Any, test: str, *texts: str, before: tuple[Any, ...] = (), **bounds: float) -> tuple[Any, list[str]]:
    """Return figures and what is wrong, by what each pod said."""
    heard = [step.Said(f"gpu-{place + 1}", place, text) for place, text in enumerate(texts)]
    told = {name.replace("_", "-"): value for name, value in bounds.items()}
    result = step.judge(test, {**POOL, "parts": PARTS}, heard, told, list(before))
    return result["figures"], result["wrong"]


def gpu(index: int, **changes: Any) -> str:
    """Return the line of a GPU, with what nvidia-smi told of it."""
    line = next(one for one in GOOD_BURN.splitlines() if one.startswith(f'== gpu {{"index": {index}'))
    counted = {"uuid": f"GPU-{index}", "lost": False, "uncorrected": 0, "looks": 120, "slowed": {}, "hottest": 74}
    told = {**json.loads(line.removeprefix("== gpu ")), **counted, "tflops": 640.0} | changes
    return f"== gpu {json.dumps({key: value for key, value in told.items() if value is not None})}\n"


def node(*lines: str) -> str:
    return f"2 GPUs, 600 s; nvidia-smi: sees 2 GPUs\n{''.join(lines)}"


GOOD = node(gpu(0), gpu(1))


def test_what_two_cpus_did_passes_without_nvidia_smi(step: Any) -> None:
    figures, wrong = judged(step, "burn", GOOD_BURN, GOOD_BURN)
    assert list(figures) == ["slowest GPU of gpu-1", "slowest GPU of gpu-2"]
    assert all("of the median of 4 GPUs" in one for one in wrong), "others had these CPUs as well"
    assert all(one["burn-tflops"] > 0 for one in figures.values())


def test_good_gpus_pass_and_the_slowest_of_a_node_is_kept(step: Any) -> None:
    figures, wrong = judged(step, "burn", GOOD, node(gpu(0), gpu(1, tflops=600.0)), burn_tflops=378.0)
    assert wrong == []
    assert figures == {"slowest GPU of gpu-1": {"burn-tflops": 640.0}, "slowest GPU of gpu-2": {"burn-tflops": 600.0}}


def test_gpus_below_the_data_sheet_or_their_past_are_told(step: Any) -> None:
    slow = node(gpu(0, tflops=300.0), gpu(1, tflops=300.0))
    _, wrong = judged(step, "burn", slow, slow, burn_tflops=378.0)
    assert wrong[0] == "slowest GPU of gpu-1: 300 TFLOPS, less than 378 (burn-tflops)"
    past = {"wrong": [], "figures": {"slowest GPU of gpu-1": {"burn-tflops": 720.0}}}
    assert "less than 648, by what it reached before" in judged(step, "burn", GOOD, GOOD, before=(past, past))[1][0]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (gpu(1, tflops=500.0), "gpu-2 GPU 1 GPU-1: 500 TFLOPS, less than 0.9 of the median of 4 GPUs (640)"),
        (gpu(1, different=3), "gpu-2 GPU 1 GPU-1: 3 numbers of "),
        (gpu(1, flipped=1), "gpu-2 GPU 1 GPU-1: 1 words of its memory are other than they were written"),
        (gpu(1, digest=7), "gpu-2 GPU 1 GPU-1: its products are other than those of the others"),
        (gpu(1, uncorrected=2), "gpu-2 GPU 1 GPU-1: 2 memory errors that were not corrected"),
        (gpu(1, lost=True), "gpu-2 GPU 1 GPU-1: nvidia-smi does not see it, or no longer"),
        (gpu(1, tflops=None, error="RuntimeError: CUDA error: ECC"), "gpu-2 GPU 1 GPU-1: RuntimeError: CUDA error"),
        (gpu(1, slowed={"hw_thermal_slowdown": 40}), "slowed in 40 of 120 looks at 74 C: it is too hot"),
        (gpu(1, format="float16"), "GPUs compute in bfloat16, float16: they are of different models"),
        (gpu(1)[:40] + "\n", "gpu-2: what it says of a GPU is cut off"),
        ("", "gpu-2: 1 of 2 GPUs are told of: == gpu"),
    ],
)
def test_a_gpu_that_is_slow_wrong_or_lost_is_named(step: Any, line: str, told: str) -> None:
    same = {"format": "bfloat16"}
    whole = node(gpu(0, **same), gpu(1, **same))
    line = line.replace("float32", "bfloat16")
    _, wrong = judged(step, "burn", whole, node(gpu(0, **same), line))
    assert len(wrong) == 1, wrong
    assert told in wrong[0]


def test_a_few_hot_looks_are_nobody_s_fault_and_a_pod_that_is_missing_is_told(step: Any) -> None:
    warm = node(gpu(0), gpu(1, slowed={"hw_thermal_slowdown": 12}))
    assert judged(step, "burn", GOOD, warm)[1] == []
    assert judged(step, "burn", GOOD)[1] == ["1 of 2 pods said something"]
    assert judged(step, "burn", GOOD, node())[1][0].startswith("gpu-2: 0 of 2 GPUs")
    assert judged(step, "burn", GOOD, "")[1] == ["gpu-2: 0 of 2 GPUs are told of: it said nothing"]
    halves = node(gpu(0, digest=7), gpu(1, digest=7))
    assert "2 different sums" in judged(step, "burn", GOOD, halves)[1][0]


def halves(**changes: Any) -> str:
    """Return what a training said, of four processes; each change is of a half, as `second_before`."""
    found = []
    for name, line in zip(("first", "second"), trained(4).splitlines(), strict=True):
        told = json.loads(line.removeprefix("== training "))
        told |= {key.partition("_")[2]: value for key, value in changes.items() if key.startswith(name)}
        found.append(f"== training {json.dumps(told)}\n")
    return "".join(found)


def test_a_good_training_passes_by_its_slowest_process(step: Any) -> None:
    slowest = [500.0, 498.0, 421.5, 499.0]
    figures, wrong = judged(step, "training", halves(second_samples=slowest, first_samples=[500.0] * 4), "")
    assert (figures, wrong) == ({"training on 4 GPUs": {"training-samples": 421.5}}, [])
    _, wrong = judged(step, "training", halves(second_samples=slowest), "", training_samples=111111.0)
    assert "samples a second of a GPU, less than 111111 (training-samples)" in wrong[0]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (halves(second_after=[9.0] * 4), "the loss did not fall: from "),
        (halves(second_before=[4.0] * 4), "it did not go on from its checkpoint: a loss of "),
        (halves(second_from=0), "it did not go on from its checkpoint: a loss of "),
        (halves(second_after=[0.01, 0.01, float("nan"), 0.01]), "process 2: no loss at its end"),
        (halves(second_after=[0.01, 0.01, 0.01, 0.02]), "process 3 has another loss than most at its end: 0.02"),
        (halves(second_after=[0.01] * 3), "3 of 4 processes took part at its end"),
        (halves().partition("\n")[0] + "\nprocess 3: RuntimeError: NCCL error\n", "before its end: process 3: Runtime"),
        (halves()[:-20], "it ended before its end: "),
        ("the image has no torchrun\n", "it ended before its checkpoint: the image has no torchrun"),
        ("", "it ended before its checkpoint: it said nothing"),
    ],
)
def test_a_training_that_went_wrong_is_told(step: Any, said: str, told: str) -> None:
    _, wrong = judged(step, "training", said, "")
    assert len(wrong) == 1, wrong
    assert told in wrong[0]


def answers(**changes: Any) -> str:
    """Return what an inference said, of four processes, the last of which has changes."""
    every = json.loads(answered(4).removeprefix("== inference "))["processes"]
    every[3] |= changes
    return f"== inference {json.dumps({'processes': [one for one in every if one.get('p99')]})}\n"


def test_good_answers_pass_and_of_each_node_the_slowest_gpu_counts(step: Any) -> None:
    figures, wrong = judged(step, "inference", answers(p99=77.0, samples=0.5), "")
    assert wrong == []
    assert figures["inference on gpu-2"]["inference-p99-ms"] == 77.0
    assert figures["inference on gpu-2"]["inference-samples"] == 0.5
    assert figures["inference on gpu-1"] != figures["inference on gpu-2"]


def test_answers_that_come_late_are_told_by_what_the_run_says_and_by_their_past(step: Any) -> None:
    late = answers(p99=77.0)
    _, wrong = judged(step, "inference", late, "", inference_p99_ms=50.0)
    assert wrong == ["inference on gpu-2: 77 ms for 99 of 100 requests, more than 50 (inference-p99-ms)"]
    past = {"wrong": [], "figures": {"inference on gpu-2": {"inference-p99-ms": 50.0}}}
    _, wrong = judged(step, "inference", late, "", before=(past, past))
    assert "77 ms for 99 of 100 requests, more than 71.43, by what it reached before" in wrong[0]
    assert judged(step, "inference", answers(p99=70.0), "", before=(past, past))[1] == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (answers(off=0.3), "gpu-2 GPU 1: answers in a batch are not those alone (off by 0.3)"),
        (answers(off=float("nan")), "gpu-2 GPU 1: answers in a batch are not those alone (off by nan)"),
        (answers(p99=0), "3 of 4 processes took part"),
        (answers()[:-30], "it ended before its result: "),
        ("", "it ended before its result: it said nothing"),
    ],
)
def test_answers_that_are_wrong_or_missing_are_told(step: Any, said: str, told: str) -> None:
    _, wrong = judged(step, "inference", said, "")
    assert len(wrong) == 1, wrong
    assert told in wrong[0]
    assert judged(step, "inference", answers())[1] == ["1 of 2 pods said something"]


def test_thresholds_follow_the_slowest_form_of_a_model(ml50: Cluster) -> None:
    one, other, *_ = ml50.in_pools("gpu-inference")
    found = thresholds(ml50, (one,))
    assert (found["burn-tflops"], found[TRAINING], found[ANSWERS]) == (378.0, 111.5, 334.5)
    assert TRAINING not in thresholds(structs.replace(ml50, fabric=None), (one, other))
    assert dense_tflops("NVIDIA-L4") == 121
    assert dense_tflops("NVIDIA-Q9000") is None
    assert (has_bf16("Tesla-T4"), has_bf16("NVIDIA-H100-80GB-HBM3")) == (False, True)


def test_operations_of_a_sample_are_those_of_the_program() -> None:
    text = programs()["data"]["synthetic.py"]
    line = next(one for one in text.splitlines() if one.startswith("WIDTH, LAYERS"))
    width, layers, _, length, tokens = eval(line.partition("else ")[2])
    numbers = 12 * width**2 * layers + width * tokens
    whole = 2 * numbers * length + 4 * length**2 * width * layers
    assert round(whole / 1e9) == FORWARD / 1e9
