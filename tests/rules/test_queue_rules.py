from typing import Any

import pytest
from manifests import container, found, manifest, ml50, reached, workload
from msgspec import structs

from generator.rules import queues

GANG, QUEUED, COUNTED, NO_VOLCANO = queues.gang_scheduled, queues.queued, queues.counted, queues.no_volcano_jobs
GPU = [container(resources={"limits": {"nvidia.com/gpu": 1}})]
INSTANCE = [container(resources={"limits": {"nvidia.com/mig-1g.10gb": 1}})]
QUEUE = {"kueue.x-k8s.io/queue-name": "default"}
TEAM = "vision"


def job(containers: Any, version: str = "batch/v1", kind: str = "Job", **spec: Any) -> Any:
    template = {"spec": {"containers": containers, **spec}}
    return manifest(kind, version, namespace=TEAM, spec={"template": template})


@pytest.mark.parametrize("containers", [GPU, INSTANCE])
@pytest.mark.parametrize("spec", [{}, {"schedulerName": "default-scheduler"}])
def test_gpus_are_placed_by_volcano(containers: Any, spec: dict[str, str]) -> None:
    (problem,) = found(GANG, job(containers, **spec), cluster=ml50())
    reached(problem)
    assert problem.at[:3] == ("spec", "template", "spec")


def test_what_volcano_places_and_what_has_no_gpus_is_fine() -> None:
    assert found(GANG, job(GPU, schedulerName="volcano"), cluster=ml50()) == []
    assert found(GANG, job([container()]), cluster=ml50()) == []
    assert found(GANG, workload("DaemonSet", containers=GPU), cluster=ml50()) == []


def test_operators_name_the_scheduler_and_volcanos_jobs_name_it_once() -> None:
    assert found(GANG, job(GPU, "kubeflow.org/v1", "PyTorchJob"), cluster=ml50()) == []
    assert len(found(GANG, job(GPU, "kubeflow.org/v1", "PyTorchJob", schedulerName="x"), cluster=ml50())) == 1
    assert len(found(GANG, job(GPU, "trainer.kubeflow.org/v1alpha1", "TrainingRuntime"), cluster=ml50())) == 1
    own = job(GPU, "batch.volcano.sh/v1alpha1")
    assert found(GANG, own, cluster=ml50()) == []
    own["spec"]["schedulerName"] = "default-scheduler"
    assert len(found(GANG, own, cluster=ml50())) == 1


def test_without_teams_nothing_is_shared() -> None:
    alone = structs.replace(ml50(), teams=())
    for rule in (GANG, COUNTED):
        assert found(rule, job(GPU), cluster=alone) == []
        assert found(rule, job(GPU)) == []


KINDS = [
    ("batch/v1", "Job"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("kubeflow.org/v1", "PyTorchJob"),
    ("kubeflow.org/v2beta1", "MPIJob"),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    ("ray.io/v1", "RayCluster"),
]


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_what_runs_for_a_team_names_its_queue(version: str, kind: str) -> None:
    one = job([container()], version, kind)
    (problem,) = found(QUEUED, one, cluster=ml50())
    # Kueue gives it the queue `default`: nothing is refused.
    assert (problem.severity, problem.at) == ("warning", ("metadata",))
    one["metadata"]["labels"] = QUEUE
    assert found(QUEUED, one, cluster=ml50()) == []


def test_a_cron_job_names_the_queue_of_its_jobs() -> None:
    one = manifest("CronJob", "batch/v1", namespace=TEAM, spec={"jobTemplate": {"spec": {}}})
    one["metadata"]["labels"] = QUEUE
    (problem,) = found(QUEUED, one, cluster=ml50())
    assert problem.at == ("spec", "jobTemplate")
    one["spec"]["jobTemplate"]["metadata"] = {"labels": QUEUE}
    assert found(QUEUED, one, cluster=ml50()) == []


def test_what_is_no_teams_needs_no_queue() -> None:
    assert found(QUEUED, workload(), manifest("ConfigMap", namespace=TEAM), cluster=ml50()) == []


def test_a_namespace_may_be_a_teams_by_its_label_alone() -> None:
    space = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "tools", "labels": {"gen.internal/team": "x"}},
    }
    assert len(found(QUEUED, space, workload())) == 1


def test_gpus_outside_every_team_are_a_warning() -> None:
    (problem,) = found(COUNTED, workload(containers=GPU), cluster=ml50())
    assert problem.severity == "warning"
    reached(problem)
    assert found(COUNTED, job(GPU), cluster=ml50()) == []


def test_volcano_jobs_of_a_team_are_found() -> None:
    one = job([container()], "batch.volcano.sh/v1alpha1")
    (problem,) = found(NO_VOLCANO, one, cluster=ml50())
    assert reached(problem) == "Job"
    assert found(NO_VOLCANO, job([container()]), cluster=ml50()) == []
    one["metadata"]["namespace"] = "tools"
    assert found(NO_VOLCANO, one, cluster=ml50()) == []


LEVEL = "kueue.x-k8s.io/podset-required-topology"


def test_a_level_is_one_of_a_topology() -> None:
    def job(level: Any, namespace: str = "vision") -> Any:
        one = workload("Job", namespace=namespace)
        one["spec"]["template"]["metadata"]["annotations"] = {LEVEL: level}
        return {**one, "apiVersion": "batch/v1"}

    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    topology = manifest("Topology", "kueue.x-k8s.io/v1beta1", spec={"levels": levels})
    rule = queues.within_a_level
    assert found(rule, topology, job("rack"), job("zone", namespace="tools"), cluster=ml50()) == []
    (problem,) = found(rule, topology, job("zone"), cluster=ml50())
    assert reached(problem) == "zone"
    assert problem.fix == "kubernetes.io/hostname or rack, or leave it out"
    assert found(rule, job({"x": 1}), cluster=ml50()) == []
    (problem,) = found(rule, job("rack"), cluster=ml50())
    assert problem.fix == "leave it out: the cluster has no Topology"
