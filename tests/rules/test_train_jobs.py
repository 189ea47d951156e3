from typing import Any

import pytest
from manifests import built, container, manifest, ml50, seen
from msgspec import structs

from generator.build.objects import Built, Object
from generator.build.pods import pods
from generator.components.training_runtimes import training_runtimes
from generator.rules.team_pods import counted
from generator.rules.train_jobs import whole

RDMA = "rdma/hca_shared_devices_a"
WHOLE = {"cpu": 64, "memory": "512Gi", "nvidia.com/gpu": 8, RDMA: 1}


def train_job(name: str = "torch-gpu-training", **trainer: Any) -> Any:
    spec = {"runtimeRef": {"name": name}, "trainer": {"image": "example.org/x:1.0.0", **trainer}}
    return manifest("TrainJob", "trainer.kubeflow.org/v1alpha1", namespace="vision", spec=spec)


def within(*manifests: Any) -> Built:
    """Return ml50 with its runtimes and some objects."""
    runtimes = (Object(one, "training-runtimes", "r.yaml") for one in training_runtimes(ml50()).objects)
    whole = built(*manifests, cluster=ml50())
    return structs.replace(whole, objects=(*runtimes, *whole.objects))


def test_a_pod_is_the_runtime_s_with_what_the_job_says_in_its_place() -> None:
    (pod,) = (
        one for one in pods(within(train_job(resourcesPerNode={"limits": WHOLE}))) if one.maker.kind == "TrainJob"
    )
    (node,) = pod.spec["containers"]
    assert (node["image"], node["resources"]) == ("example.org/x:1.0.0", {"limits": WHOLE})
    assert pod.spec["schedulerName"] == "volcano"
    assert pod.finding("", "spec", "containers", 0, "resources").at == ("spec", "trainer", "resourcesPerNode")
    # What it leaves to the runtime is written there.
    written, _ = pod.written(("spec", "schedulerName"))
    assert written.kind == "ClusterTrainingRuntime"


def test_what_takes_the_place_of_the_runtime_s_is_judged() -> None:
    partly = within(train_job(resourcesPerNode={"limits": {"nvidia.com/gpu": 8}}))
    (problem,) = seen(counted, partly)
    assert "says no request for cpu and memory" in problem.message
    (left,) = seen(whole, partly)
    assert (left.severity, left.at) == ("warning", ("spec", "trainer", "resourcesPerNode"))
    assert left.message.endswith(f"leaves out {RDMA}")


@pytest.mark.parametrize(
    "job",
    [
        train_job(),
        train_job(resourcesPerNode={"limits": WHOLE}),
        train_job("nobodys", resourcesPerNode={"limits": {"nvidia.com/gpu": 8}}),
    ],
)
def test_a_whole_job_and_one_whose_runtime_nobody_knows_are_fine(job: Any) -> None:
    assert [*seen(counted, within(job)), *seen(whole, within(job))] == []


def test_a_runtime_of_the_team_is_found_in_its_namespace_alone() -> None:
    pod = {"spec": {"containers": [container(name="node")]}}
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    jobs = [{"name": "node", "template": {"metadata": {"labels": label}, "spec": {"template": pod}}}]
    runtime = manifest(
        "TrainingRuntime", "trainer.kubeflow.org/v1alpha1", namespace="vision",
        spec={"template": {"spec": {"replicatedJobs": jobs}}},
    )  # fmt: skip
    job = train_job()
    job["spec"]["runtimeRef"] = {"name": "x", "kind": "TrainingRuntime"}
    # It asks for nothing, and neither does the job.
    (problem,) = seen(counted, within(runtime, job))
    assert problem.object
    assert problem.object.kind == "TrainingRuntime"
    runtime["metadata"]["namespace"] = "language"
    assert seen(counted, within(runtime, job)) == []
