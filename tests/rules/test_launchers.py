from typing import Any

import pytest
from manifests import container, found, manifest, reached

from generator.rules.launchers import meets, one_owner, reaches


def job(*words: str, kind: str = "Job", version: str = "batch/v1", gpus: int = 8, **more: Any) -> Any:
    one = container(command=list(words), resources={"limits": {"nvidia.com/gpu": gpus}}, **more)
    return manifest(kind, version, spec={"template": {"spec": {"containers": [one]}}})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mpirun", "-np", "16", "-H", "a:8,b:8", "x"], "mpirun starts processes on a:8,b:8 through ssh"),
        (["sh", "-c", "set -e\nexec /opt/openmpi/bin/mpirun \\\n  --hostfile /etc/hosts.mpi x"], "on /etc/hosts.mpi"),
        (["horovodrun", "-np", "16", "python", "train.py"], "starts 16 processes in this pod alone, which has 8 "),
        (["mpiexec", "-n=9", "x"], "mpiexec starts 9 processes"),
    ],
)
def test_mpi_that_cannot_reach_its_hosts_is_told(words: list[str], message: str) -> None:
    (problem,) = found(reaches, job(*words))
    assert message in problem.message
    assert any(name in reached(problem) for name in ("mpirun", "mpiexec", "horovodrun"))


@pytest.mark.parametrize(
    "one",
    [
        job("mpirun", "-np", "8", "all_reduce_perf"),
        job("mpirun", "-np", "16", "x", gpus=0),
        job("mpirun", "-H", "localhost:8", "-np", "8", "x"),
        job("mpirun", "-np", "$N", "x"),
        job("sh", "-c", "# mpirun -np 16 -H a,b x\necho mpirun-np"),
        job("mpirun", "-H", "a,b", "x", volumeMounts=[{"name": "keys", "mountPath": "/root/.ssh"}]),
        job("mpirun", "-H", "a,b", "x", env=[{"name": "OMPI_MCA_plm_rsh_agent", "value": "/opt/agent"}]),
        job("mpirun", "-np", "16", "-H", "a:8,b:8", "x", kind="MPIJob", version="kubeflow.org/v2beta1"),
    ],
)
def test_mpi_in_one_pod_with_keys_or_of_an_operator_is_fine(one: Any) -> None:
    assert found(reaches, one) == []


@pytest.mark.parametrize(
    "words",
    [
        ["torchrun", "--nnodes=2", "--nproc-per-node=8", "train.py"],
        ["torchrun", "--nnodes", "1:4", "train.py"],
        ["sh", "-c", "python -m torch.distributed.launch --nnodes=2 train.py"],
    ],
)
def test_torchrun_that_meets_nobody_is_told(words: list[str]) -> None:
    (problem,) = found(meets, job(*words))
    assert "each pod waits at its own 127.0.0.1" in problem.message
    assert "torch" in reached(problem)


@pytest.mark.parametrize(
    "one",
    [
        job("torchrun", "--nnodes=1", "--nproc-per-node=8", "train.py"),
        job("torchrun", "--nproc-per-node=8", "train.py"),
        job("torchrun", "--nnodes=$NODES", "train.py"),
        job("torchrun", "--nnodes=2", "--rdzv_endpoint=train-0.train:29400", "train.py"),
        job("torchrun", "--nnodes=2", "--master-addr=train-0", "train.py"),
        job("torchrun", "--nnodes=2", "train.py", env=[{"name": "PET_MASTER_ADDR", "value": "train-0"}]),
        job("torchrun", "--nnodes=2", "train.py", envFrom=[{"configMapRef": {"name": "meeting"}}]),
        job("torchrun", "--nnodes=2", "train.py", kind="PyTorchJob", version="kubeflow.org/v1"),
    ],
)
def test_torchrun_on_one_node_or_with_a_place_to_meet_is_fine(one: Any) -> None:
    assert found(meets, one) == []


def test_only_one_operator_has_mpi_jobs() -> None:
    old, new = (manifest("MPIJob", f"kubeflow.org/{version}", name=version) for version in ("v1", "v2beta1"))
    (problem,) = found(one_owner, old, new)
    assert problem.message.startswith("is training-operator's, and MPIJob tools/v2beta1 mpi-operator's")
    assert reached(problem) == "kubeflow.org/v1"
    assert found(one_owner, old, old) == found(one_owner, new) == []
