from collections.abc import Iterator
from typing import Any

import pytest
from manifests import container, found, manifest, ml50, reached

from generator.components import JOBS
from generator.components.jobs import OPERATORS_OWN, JobKind
from generator.rules.team_admission import as_demanded, beside_jobs, modest, of_an_open_class

TEAM, QUEUE, CLASS = "vision", "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
KINDS = {one.kind: one for kinds in JOBS for one in kinds}


def job(kind: str = "Job", version: str = "batch/v1", metadata: Any = None, **spec: Any) -> Any:
    template = {"metadata": metadata or {}, "spec": {"containers": [container()], **spec}}
    return manifest(kind, version, namespace=TEAM, spec={"template": template})


@pytest.mark.parametrize(
    ("pod", "value", "told"),
    [
        ({"priorityClassName": "system-cluster-critical"}, "system-cluster-critical", "begins with batch-"),
        ({"priorityClassName": "batch-nobodys"}, "batch-nobodys", "may not use"),
        ({"runtimeClassName": "nvidia"}, "nvidia", "leave runtimeClassName out"),
        ({"terminationGracePeriodSeconds": 86400}, 86400, "say terminationGracePeriodSeconds: 900 or less"),
        ({"nodeName": "st-1"}, "st-1", "leave nodeName to the scheduler"),
        ({"volumes": [{"name": "x", "nfs": {"server": "a"}}]}, {"server": "a"}, "mount claims, not servers"),
        ({"metadata": {"annotations": {"cdi.k8s.io/gpu": "all"}}}, "all", "annotations of cdi.k8s.io"),
        ({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "x"}}}, "x", "name a PodGroup"),
        (
            {"metadata": {"annotations": {"kueue.x-k8s.io/workload": "x"}}},
            "x",
            "the annotation kueue.x-k8s.io/workload",
        ),
        ({"metadata": {"labels": {"kueue.x-k8s.io/podset": "x"}}}, "x", "the label kueue.x-k8s.io/podset"),
    ],
)
@pytest.mark.parametrize(("version", "kind"), [("batch/v1", "Job"), ("jobset.x-k8s.io/v1alpha2", "JobSet")])
def test_what_reaches_past_the_team_is_told(version: str, kind: str, pod: Any, value: Any, told: str) -> None:
    (problem,) = found(modest, job(kind, version, **pod), cluster=ml50())
    assert reached(problem) == value
    assert told in problem.fix
    assert found(modest, {**job(**pod), "metadata": {"name": "x", "namespace": "tools"}}, cluster=ml50()) == []


def test_what_is_a_teams_is_fine() -> None:
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "persistentVolumeClaim": {"claimName": "b"}}]
    one = job(
        priorityClassName="batch-normal",
        terminationGracePeriodSeconds=900,
        volumes=volumes,
        metadata={"labels": {"app": "x"}, "annotations": {"a": ""}},
    )
    assert found(modest, one, cluster=ml50()) == []


SPEC: dict[str, Any] = {"headGroupSpec": {}, "workerGroupSpecs": [{"replicas": 3, "minReplicas": 3, "maxReplicas": 3}]}
GPUS = {"containers": [container(resources={"limits": {"nvidia.com/gpu": 8}})]}
CLEAN = {"runPolicy": {"cleanPodPolicy": "Running"}}


def replicated(gang: str | None = "4", **more: Any) -> Any:
    metadata = {"annotations": {"scheduling.volcano.sh/group-min-member": gang}} if gang else {}
    template = {"metadata": metadata, "spec": {"parallelism": 4, "template": {"spec": GPUS}}}
    return {"name": "node", "template": template, **more}


WORST: dict[str, list[dict[str, Any]]] = {
    "PyTorchJob": [{"elasticPolicy": {}, "runPolicy": {"schedulingPolicy": {}}}],
    "TFJob": [{"runPolicy": {"schedulingPolicy": {}}}],
    "MPIJob": [{"launcherCreationPolicy": "WaitForWorkersReady", "runPolicy": {"schedulingPolicy": {}}}],
    "TrainJob": [{"runtimeRef": {"name": "x"}}],
    "JobSet": [{"replicatedJobs": [replicated(None), replicated()]}],
    "RayCluster": [{"enableInTreeAutoscaling": True, "headGroupSpec": {"enableIngress": True}, "networkPolicy": {}}],
    "RayService": [{}],
    "RayJob": [{"clusterSelector": {"a": "b"}, "ttlSecondsAfterFinished": 700, "deletionStrategy": {}}],
}
"""What breaks all that a kind demands, as far as its `broken` knows."""
FINE: list[tuple[str, dict[str, Any]]] = [
    ("PyTorchJob", CLEAN),
    ("TFJob", CLEAN),
    ("MPIJob", {**CLEAN, "launcherCreationPolicy": "AtStartup"}),
    ("TrainJob", {"runtimeRef": {"name": "x"}, "trainer": {"image": "a:1"}}),
    ("TrainJob", {"runtimeRef": {"name": "x", "kind": "TrainingRuntime"}}),
    ("JobSet", {"replicatedJobs": [replicated()]}),
    ("RayCluster", SPEC),
    ("RayService", {"rayClusterConfig": SPEC, "upgradeStrategy": {"type": "None"}}),
    ("RayJob", {"rayClusterSpec": SPEC, "submissionMode": "HTTPMode"}),
]


def told(kind: str, spec: Any, **labels: str) -> Iterator[str]:
    one = manifest(kind, f"{KINDS[kind].group}/v1", namespace=TEAM, spec=spec)
    one["metadata"]["labels"] = labels
    return (each.fix for each in found(as_demanded, one, cluster=ml50()))


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.kind)
def test_all_that_a_kind_demands_is_told_without_a_server(kind: JobKind) -> None:
    """Whoever adds a demand adds it to `broken`; those on templates are told of pods."""
    more = {"volcano.sh/queue-name": "x"} if kind.kind.startswith("Ray") else {}
    of_all = {text for spec in WORST[kind.kind] for text in told(kind.kind, spec, **more)}
    ray = {"headGroupSpec": {"enableIngress": True}, "networkPolicy": {}, "workerGroupSpecs": [{"replicas": 1}]}
    of_all |= {text for place in ("rayClusterSpec", "rayClusterConfig") for text in told(kind.kind, {place: ray})}
    assert of_all == {*kind.demands.values()} - {OPERATORS_OWN}


@pytest.mark.parametrize(("kind", "spec"), FINE)
def test_a_job_as_its_kind_demands_is_fine(kind: str, spec: Any) -> None:
    assert [*told(kind, spec)] == []


@pytest.mark.parametrize(
    ("resources", "fine"),
    [
        ({"limits": {"cpu": 1, "memory": "1Gi"}}, True),
        ({"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"memory": "200Mi"}}, False),
        ({"limits": {"memory": "1Gi"}}, False),
        ({}, False),
    ],
)
def test_the_submitter_of_a_ray_job_uses_what_it_requests(resources: Any, fine: bool) -> None:  # noqa: FBT001 - expected
    template = {"spec": {"containers": [{"name": "a", "image": "b:1", "resources": resources}]}}
    assert ([*told("RayJob", {"submitterPodTemplate": template})] == []) is fine


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (job("MPIJob", "kubeflow.org/v2beta1"), "names no class of priority"),
        ({**job(), "metadata": {"name": "x", "namespace": TEAM, "labels": {CLASS: "serving"}}}, "class serving"),
        (
            manifest(
                "CronJob",
                "batch/v1",
                namespace=TEAM,
                spec={"jobTemplate": {"metadata": {"labels": {CLASS: "serving"}}}},
            ),
            "class serving",
        ),
    ],
)
def test_the_class_is_one_that_the_team_may_use(one: Any, message: str) -> None:
    (problem,) = found(of_an_open_class, one, cluster=ml50())
    assert message in problem.message
    reached(problem)


def test_a_plain_job_needs_no_class_and_may_name_an_open_one() -> None:
    named = {**job(), "metadata": {"name": "x", "namespace": TEAM, "labels": {CLASS: "normal"}}}
    assert found(of_an_open_class, job(), named, cluster=ml50()) == []


@pytest.mark.parametrize(
    ("kind", "content", "told"),
    [
        ("Service", {"spec": {"type": "LoadBalancer"}}, ["leave type out"]),
        ("Service", {"spec": {"type": "NodePort"}}, ["leave type out"]),
        ("Service", {"spec": {"externalIPs": ["1.2.3.4"]}}, ["leave externalIPs out"]),
        ("Secret", {"type": "kubernetes.io/service-account-token"}, ["let pods have the token"]),
        ("PodDisruptionBudget", {"spec": {"minAvailable": 1}}, ["say spec.maxUnavailable", "AlwaysAllow"]),
        ("PodDisruptionBudget", {"spec": {"maxUnavailable": 0}}, ["say spec.maxUnavailable", "AlwaysAllow"]),
        ("PodDisruptionBudget", {"spec": {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}}, []),
        ("Service", {"spec": {"ports": []}}, []),
        ("Secret", {"type": "Opaque"}, []),
    ],
)
def test_what_stands_beside_jobs_is_a_teams_to_make(kind: str, content: Any, told: list[str]) -> None:
    problems = found(beside_jobs, manifest(kind, namespace=TEAM, **content), cluster=ml50())
    assert all(text in one.fix for text, one in zip(told, problems, strict=True))
    assert found(beside_jobs, manifest(kind, **content), cluster=ml50()) == []
