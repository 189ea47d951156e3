from typing import Any

import pytest
from manifests import container, found, manifest, reached, workload

from generator.rules.autoscaling import by_use, scalable

GPU = [container(resources={"limits": {"nvidia.com/gpu": 1}})]
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
OF_CONTAINER = {"type": "ContainerResource", "containerResource": {"name": "memory", "container": "main"}}
QUEUE = {"type": "Pods", "pods": {"metric": {"name": "queue_seconds"}, "target": {"type": "AverageValue"}}}


def scaler(kind: str = "Deployment", version: str = "apps/v1", **spec: Any) -> Any:
    target = {"kind": kind, "name": "x", **({"apiVersion": version} if version else {})}
    return manifest("HorizontalPodAutoscaler", "autoscaling/v2", spec={"scaleTargetRef": target, **spec})


def crd(**version: Any) -> Any:
    names = {"kind": "RayService", "plural": "rayservices"}
    spec = {"group": "ray.io", "names": names, "versions": [{"name": "v1", "served": True, **version}]}
    return manifest("CustomResourceDefinition", "apiextensions.k8s.io/v1", name="rayservices.ray.io", spec=spec)


@pytest.mark.parametrize(
    ("kind", "version", "at", "message", "fix"),
    [
        ("Job", "batch/v1", "kind", "a Job cannot be scaled: it has no `scale`", "its `parallelism` says"),
        ("DaemonSet", "apps/v1", "kind", "a DaemonSet cannot be scaled", "name a Deployment or a StatefulSet"),
        ("Deployment", "extensions/v1beta1", "apiVersion", "there is no Deployment in apiVersion ext", "apps/v1"),
        ("ReplicationController", "apps/v1", "apiVersion", "no ReplicationController in apiVersion", "apiVersion: v1"),
    ],
)
def test_what_has_no_scale_is_told(kind: str, version: str, at: str, message: str, fix: str) -> None:
    (problem,) = found(scalable, scaler(kind, version))
    assert message in problem.message
    assert fix in problem.fix
    assert problem.at == ("spec", "scaleTargetRef", at)


def test_a_target_without_its_version_is_told_where_it_is_named() -> None:
    (problem,) = found(scalable, scaler(version=""))
    assert "Deployment without its apiVersion" in problem.message
    assert reached(problem)["name"] == "x"


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("Deployment", "apps/v1"),
        ("StatefulSet", "apps/v1"),
        ("ReplicationController", "v1"),
        ("RayService", "ray.io/v1"),
    ],
)
def test_what_has_a_scale_or_may_have_one_is_fine(kind: str, version: str) -> None:
    assert found(scalable, scaler(kind, version)) == []


def test_custom_kinds_are_judged_by_their_definitions() -> None:
    mine = scaler("RayService", "ray.io/v1")
    assert len(found(scalable, mine, crd())) == 1
    assert found(scalable, mine, crd(subresources={"scale": {"specReplicasPath": ".spec.replicas"}})) == []


@pytest.mark.parametrize("metrics", [[CPU], [CPU, OF_CONTAINER]])
def test_a_service_on_gpus_is_not_scaled_by_its_cpu(metrics: Any) -> None:
    (problem,) = found(by_use, scaler(metrics=metrics), workload(containers=GPU))
    assert reached(problem) == "cpu"
    assert "Deployment tools/x, whose pods wait for GPUs" in problem.message


def test_without_metrics_kubernetes_scales_by_cpu() -> None:
    assert len(found(by_use, scaler(), workload(containers=GPU))) == 1
    (problem,) = found(by_use, scaler(targetCPUUtilizationPercentage=50), workload(containers=GPU))
    assert reached(problem) == 50


def test_other_metrics_other_pods_and_other_namespaces_are_fine() -> None:
    assert found(by_use, scaler(metrics=[CPU, QUEUE]), workload(containers=GPU)) == []
    assert found(by_use, scaler(metrics=[CPU]), workload()) == []
    assert found(by_use, scaler(metrics=[CPU]), workload(containers=GPU, namespace="other")) == []
    assert found(by_use, scaler("Job", "batch/v1", metrics=[CPU]), workload("Job", containers=GPU)) == []
