"""What the starting programs of jobs hand to a framework, whose programs are stand-ins here."""

import json
import subprocess
from pathlib import Path

import pytest
from reference import load

from generator.components.static import FOLDER
from generator.workloads import KINDS, workload
from generator.workloads.pods import PROGRAMS
from generator.workloads.wanted import Wanted

STAND_IN = '#!/bin/sh\nfor word in "$0" "$@"; do echo "$word"; done >"$OUT/words"\nenv >"$OUT/variables"\n'


def started(
    kind: str, folder: Path, index: int, gpus: int = 16, stand_in: str = STAND_IN
) -> tuple[list[str], dict[str, str]]:
    """Return the words that a pod of a job on ml50 starts its framework with, and the variables."""
    made = workload(load("ml50"), kind, Wanted(name="bert", team="vision", gpus=gpus, image="example.org/x:1"))
    program, *_, job = made.manifests
    (container,) = job["spec"]["template"]["spec"]["containers"]
    for name, text in program["data"].items():
        (folder / name).write_text(text)
    for name in ("torchrun", "python3"):
        (folder / name).write_text(stand_in)
        (folder / name).chmod(0o755)
    said = {one["name"]: one["value"] for one in container["env"]}
    argv = [word.replace("/program", str(folder)) for word in [*container["command"], *container["args"], "two words"]]
    here = {"PATH": f"{folder}:/usr/bin:/bin", "OUT": str(folder), "JOB_COMPLETION_INDEX": str(index), "PAUSE": "0"}
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
        f"--rdzv_conf=is_host={host},join_timeout=1800,read_timeout=1800",
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


@pytest.mark.parametrize(
    ("lacks", "told"),
    [("ssh", "no ssh"), ("mpirun", "no mpirun"), ("id -un", "no user with the number 1000")],
)
def test_a_launcher_says_at_once_what_its_image_lacks(tmp_path: Path, lacks: str, told: str) -> None:
    names = "case $1 in -u) echo 1000 ;; *) exit 1 ;; esac" if lacks == "id -un" else "echo job"
    for name, does in {"ssh": "exit 0", "mpirun": "exit 0", "id": names}.items():
        if name != lacks:
            (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
            (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", FOLDER / "mpi/launch.sh"], env={"PATH": str(tmp_path)}, check=False, capture_output=True, text=True
    )
    assert (done.returncode, told in done.stderr) == (127, True), done


@pytest.mark.parametrize("kind", [name for name, one in KINDS.items() if not (one.serves or one.stepwise)])
def test_examples_are_programs_that_write_where_they_are_told(kind: str) -> None:
    text = (PROGRAMS / f"{kind}.py.txt").read_text()
    compile(text, "train.py", "exec")
    assert "CHECKPOINTS" in text


@pytest.mark.parametrize("kind", ["pytorch", "tensorflow", "jax"])
def test_each_framework_is_started_again_as_it_was(tmp_path: Path, kind: str) -> None:
    once = '#!/bin/sh\necho "$@" >>"$OUT/runs"; [ "$(wc -l <"$OUT/runs")" -gt 1 ] || exit 1\n'
    started(kind, tmp_path, 1, stand_in=once + STAND_IN.partition("\n")[2])
    first, second = (tmp_path / "runs").read_text().splitlines()
    assert first == second


def run_again(folder: Path, program: str, restarts: int = 3) -> "subprocess.Popen[str]":
    """Start a program of the shell as jobs start theirs, without the pauses."""
    env = {"PATH": "/usr/bin:/bin", "RESTARTS": str(restarts), "PAUSE": "0", "HERE": str(folder)}
    command = ["sh", str(PROGRAMS / "again.sh"), "sh", "-c", program, "program", "two words"]
    return subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(("fails", "code", "runs"), [(0, 0, 1), (2, 0, 3), (3, 0, 4), (4, 7, 4)])
def test_a_program_that_fails_is_started_again_in_its_pod(tmp_path: Path, fails: int, code: int, runs: int) -> None:
    counted = f'echo "$1" >>"$HERE/runs"; [ "$(wc -l <"$HERE/runs")" -gt {fails} ] || exit 7'
    one = run_again(tmp_path, counted)
    _, told = one.communicate(timeout=60)
    assert one.returncode == code, told
    assert (tmp_path / "runs").read_text().splitlines() == ["two words"] * runs
    assert told.count("ended with 7: started again") == runs - 1


def test_a_program_is_told_to_end_and_saves_and_is_not_started_again(tmp_path: Path) -> None:
    """Kueue stops a job so; the first process of a container gets the signal."""
    saves = 'echo run >>"$HERE/runs"; trap \'sleep 1; echo saved >"$HERE/saved"; exit 3\' TERM; '
    with run_again(tmp_path, saves + "echo ready; while :; do sleep 0.1; done") as one:
        assert one.stdout
        assert one.stdout.readline() == "ready\n"
        one.terminate()
        assert one.wait(timeout=60) == 3
    assert ((tmp_path / "saved").read_text(), (tmp_path / "runs").read_text()) == ("saved\n", "run\n")
