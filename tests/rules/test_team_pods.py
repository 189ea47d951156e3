from typing import Any

import pytest
from manifests import container, found, manifest, ml50, reached, workload
from msgspec import structs

from generator.components import JOBS
from generator.rules.team_pods import counted, in_gangs, not_bare, run_here

TEAM = "vision"
ENOUGH = {"limits": {"cpu": 8, "memory": "32Gi"}}
GPUS = {"limits": {"cpu": 8, "memory": "32Gi", "nvidia.com/gpu": 8}}


def of_team(kind: str = "Job", resources: Any = None, version: str = "batch/v1", **spec: Any) -> Any:
    pod = {"containers": [container(resources=resources or ENOUGH)], **spec}
    job = {"spec": {"template": {"spec": pod}}}
    inner = {"Pod": {"spec": pod}, "CronJob": {"spec": {"jobTemplate": job}}}.get(kind, job)
    return manifest(kind, version, namespace=TEAM, **inner)


def test_a_scheduler_that_nobody_runs_is_told() -> None:
    (problem,) = found(run_here, of_team(schedulerName="kube-batch"), cluster=ml50())
    assert reached(problem) == "kube-batch"
    assert problem.fix == "schedulerName: volcano, or none"
    (alone,) = found(run_here, workload(schedulerName="volcano"), cluster=structs.replace(ml50(), teams=()))
    assert alone.fix == "leave schedulerName out"


@pytest.mark.parametrize("name", ["default-scheduler", "volcano"])
def test_schedulers_of_the_cluster_are_fine(name: str) -> None:
    assert found(run_here, of_team(schedulerName=name), of_team(), cluster=ml50()) == []


def test_a_scheduler_that_an_object_brings_is_fine_outside_of_teams() -> None:
    runs = workload(containers=[container(args=["--scheduler-name=bin-packer"])])
    reads = manifest("ConfigMap", data={"config.yaml": "profiles:\n- schedulerName: bin-packer\n"})
    for bringer in (runs, reads):
        assert found(run_here, workload(schedulerName="bin-packer"), bringer, cluster=ml50()) == []
        assert len(found(run_here, of_team(schedulerName="bin-packer"), bringer, cluster=ml50())) == 1
    assert found(run_here, workload(schedulerName="bin-packer")) == []


def test_an_operator_that_may_name_volcano_is_left_alone() -> None:
    one = of_team("PyTorchJob", version="kubeflow.org/v1")
    assert found(run_here, one, cluster=structs.replace(ml50(), teams=())) == []


def test_pods_with_gpus_are_told_by_another_rule() -> None:
    assert found(run_here, of_team(resources=GPUS, schedulerName="kube-batch"), cluster=ml50()) == []


def test_a_pod_by_itself_with_gpus_is_not_made_again() -> None:
    (problem,) = found(not_bare, of_team("Pod", GPUS, "v1"), cluster=ml50())
    assert reached(problem) == "Pod"
    # Kueue holds it and counts it (test_admission.py): it is taken.
    assert problem.severity == "warning"
    for fine in (of_team("Pod", ENOUGH, "v1"), of_team("Job", GPUS)):
        assert found(not_bare, fine, cluster=ml50()) == []
    assert found(not_bare, of_team("Pod", GPUS, "v1")) == []


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"limits": {"nvidia.com/gpu": 1}}, "says no request for cpu and memory"),
        ({"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}, "says no request for cpu"),
        ({"requests": {"cpu": 1, "memory": "1Gi"}}, "has no limit for memory"),
        ({"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"memory": "2Gi"}}, "may use more memory than it"),
        ({"requests": {"cpu": 0, "memory": "1Gi"}, "limits": {"memory": "1Gi"}}, "says no request for cpu"),
    ],
)
@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_what_quotas_cannot_count_is_told(kind: str, resources: Any, message: str) -> None:
    (problem,) = found(counted, of_team(kind, resources), cluster=ml50())
    assert message in problem.message
    assert reached(problem) == resources


@pytest.mark.parametrize(
    "resources",
    [
        ENOUGH,
        {"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"}},
        {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": 9, "memory": "1024Mi"}},
    ],
)
def test_what_quotas_can_count_is_fine(resources: Any) -> None:
    assert found(counted, of_team("Job", resources), cluster=ml50()) == []


def test_only_what_teams_run_is_counted() -> None:
    assert found(counted, workload(), cluster=ml50()) == []
    assert found(counted, of_team(resources={"limits": {"cpu": 1}})) == []
    of_another_controller = of_team("Canary", {"limits": {"cpu": 1}}, "example.org/v1")
    assert found(counted, of_another_controller, cluster=ml50()) == []


@pytest.mark.parametrize(
    ("version", "kind"),
    # A TrainJob has no pods of its own: test_train_jobs.py.
    [(f"{one.group}/v1", one.kind) for kinds in JOBS for one in kinds if one.kind != "TrainJob"]
    + [("apps/v1", "ReplicaSet")],
)
def test_pods_of_every_kind_of_job_are_counted(version: str, kind: str) -> None:
    """The policies see them only when an operator makes them, and its job has its quota."""
    (problem,) = found(counted, of_team(kind, {"limits": {"nvidia.com/gpu": 8}}, version), cluster=ml50())
    assert reached(problem) == {"limits": {"nvidia.com/gpu": 8}}


def gang(kind: str, said: str | None, resources: Any = None, **spec: Any) -> Any:
    one = of_team(kind, resources or GPUS)
    job = one["spec"]["jobTemplate"] if kind == "CronJob" else one
    job["spec"] |= spec
    if said is not None:
        job.setdefault("metadata", {})["annotations"] = {"scheduling.volcano.sh/group-min-member": said}
    return one


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
@pytest.mark.parametrize(("said", "told"), [(None, "the gang is not said"), ("2", "the gang is 2")])
def test_a_job_says_how_many_of_its_pods_start_together(kind: str, said: str | None, told: str) -> None:
    (problem,) = found(in_gangs, gang(kind, said, parallelism=4), cluster=ml50())
    assert problem.message == f"4 pods with GPUs run at once, and {told}"
    assert 'group-min-member: "4"' in problem.fix
    reached(problem)


@pytest.mark.parametrize(
    "one",
    [
        gang("Job", "4", parallelism=4),
        gang("Job", "2", parallelism=4, completions=2),
        gang("Job", None),
        gang("Job", None, parallelism=4, completions=1),
        gang("Job", None, ENOUGH, parallelism=4),
    ],
)
def test_gangs_that_are_said_and_pods_alone_are_fine(one: Any) -> None:
    assert found(in_gangs, one, cluster=ml50()) == []
