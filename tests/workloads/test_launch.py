"""What the starting programs of jobs hand to a framework, whose programs are stand-ins here."""

import json
import subprocess
from pathlib import Path

import pytest
from reference import load

from generator.workloads import KINDS, workload
from generator.workloads.pods import PROGRAMS
from generator.workloads.wanted import Wanted

STAND_IN = '#!/bin/sh\nfor word in "$0" "$@"; do echo "$word"; done >"$OUT/words"\nenv >"$OUT/variables"\n'


def started(kind: str, folder: Path, index: int, gpus: int = 16) -> tuple[list[str], dict[str, str]]:
    """Return the words that a pod of a job on ml50 starts its framework with, and the variables."""
    made = workload(load("ml50"), kind, Wanted(name="bert", team="vision", gpus=gpus, image="example.org/x:1"))
    program, *_, job = made.manifests
    (container,) = job["spec"]["template"]["spec"]["containers"]
    for name, text in program["data"].items():
        (folder / name).write_text(text)
    for name in ("torchrun", "python3"):
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    said = {one["name"]: one["value"] for one in container["env"]}
    argv = [word.replace("/program", str(folder)) for word in [*container["command"], *container["args"], "two words"]]
    here = {"PATH": f"{folder}:/usr/bin:/bin", "OUT": str(folder), "JOB_COMPLETION_INDEX": str(index)}
    subprocess.run(argv, env=said | here, check=True)
    variables = dict(line.split("=", 1) for line in (folder / "variables").read_text().splitlines() if "=" in line)
    return (folder / "words").read_text().replace(f"{folder}/", "").splitlines(), variables


@pytest.mark.parametrize(("index", "host"), [(0, "true"), (1, "false")])
def test_torchrun_meets_at_the_first_pod_which_alone_keeps_the_meeting(tmp_path: Path, index: int, host: str) -> None:
    words, _ = started("pytorch", tmp_path, index)
    assert words == [
        "torchrun",
        "--nnodes=2",
        "--nproc_per_node=8",
        "--max_restarts=3",
        "--rdzv_id=bert",
        "--rdzv_backend=c10d",
        "--rdzv_endpoint=bert-0.bert:29400",
        f"--rdzv_conf=is_host={host},join_timeout=1800",
        "train.py",
        "two words",
    ]


@pytest.mark.parametrize("index", [0, 2])
def test_tensorflow_is_told_of_all_pods_and_which_one_it_is(tmp_path: Path, index: int) -> None:
    words, variables = started("tensorflow", tmp_path, index, gpus=24)
    assert words == ["python3", "train.py", "two words"]
    assert json.loads(variables["TF_CONFIG"]) == {
        "cluster": {"worker": ["bert-0.bert:29400", "bert-1.bert:29400", "bert-2.bert:29400"]},
        "task": {"type": "worker", "index": index},
    }


def test_jax_is_told_where_the_first_process_is(tmp_path: Path) -> None:
    words, variables = started("jax", tmp_path, 1)
    told = [variables[name] for name in ("COORDINATOR_ADDRESS", "NUM_PROCESSES", "PROCESS_ID")]
    assert (words, told) == (["python3", "train.py", "two words"], ["bert-0.bert:29400", "2", "1"])


@pytest.mark.parametrize("kind", [name for name, one in KINDS.items() if not (one.serves or one.stepwise)])
def test_examples_are_programs_that_write_where_they_are_told(kind: str) -> None:
    text = (PROGRAMS / f"{kind}.py.txt").read_text()
    compile(text, "train.py", "exec")
    assert "CHECKPOINTS" in text
