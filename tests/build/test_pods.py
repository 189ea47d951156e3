from typing import Any

import pytest
from manifests import built, container, manifest, workload

from generator.build.objects import Built
from generator.build.pods import Pod, containers, pods
from generator.build.workflow_pods import AT_SUBMISSION

SPEC = {"containers": [container()]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}

# An object, and where its pod templates are.
MAKERS: list[tuple[Any, list[tuple[str | int, ...]]]] = [
    (manifest("Pod", spec=SPEC), [()]),
    (manifest("PodTemplate", template=TEMPLATE), [("template",)]),
    (workload("Deployment"), [("spec", "template")]),
    (workload("ReplicaSet"), [("spec", "template")]),
    (workload("StatefulSet"), [("spec", "template")]),
    (workload("DaemonSet"), [("spec", "template")]),
    (manifest("Job", "batch/v1", spec={"template": TEMPLATE}), [("spec", "template")]),
    (
        manifest("CronJob", "batch/v1", spec={"jobTemplate": {"spec": {"template": TEMPLATE}}}),
        [("spec", "jobTemplate", "spec", "template")],
    ),
    (
        manifest("Job", "batch.volcano.sh/v1alpha1", spec={"tasks": [{"template": TEMPLATE}, {"template": TEMPLATE}]}),
        [("spec", "tasks", 0, "template"), ("spec", "tasks", 1, "template")],
    ),
    (
        manifest("PyTorchJob", "kubeflow.org/v1", spec={"pytorchReplicaSpecs": {"Worker": {"template": TEMPLATE}}}),
        [("spec", "pytorchReplicaSpecs", "Worker", "template")],
    ),
    (
        manifest("MPIJob", "kubeflow.org/v2beta1", spec={"mpiReplicaSpecs": {"Launcher": {"template": TEMPLATE}}}),
        [("spec", "mpiReplicaSpecs", "Launcher", "template")],
    ),
    (
        manifest(
            "RayJob",
            "ray.io/v1",
            spec={
                "rayClusterSpec": {
                    "headGroupSpec": {"template": TEMPLATE},
                    "workerGroupSpecs": [{"template": TEMPLATE}],
                }
            },
        ),
        [
            ("spec", "rayClusterSpec", "headGroupSpec", "template"),
            ("spec", "rayClusterSpec", "workerGroupSpecs", 0, "template"),
        ],
    ),
    (
        manifest(
            "TrainingRuntime",
            "trainer.kubeflow.org/v1alpha1",
            spec={"template": {"spec": {"replicatedJobs": [{"template": {"spec": {"template": TEMPLATE}}}]}}},
        ),
        [("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template")],
    ),
    # It only changes what its operator makes: no image.
    (
        manifest(
            "Installation",
            "operator.tigera.io/v1",
            spec={"typhaDeployment": {"spec": {"template": {"spec": {"containers": [{"name": "typha"}]}}}}},
        ),
        [],
    ),
    (manifest("ConfigMap", data={"x": "y"}), []),
    (manifest("ClusterRole", "rbac.authorization.k8s.io/v1", spec=TEMPLATE), []),
]


@pytest.mark.parametrize(
    ("maker", "places"),
    MAKERS,
)
def test_pods_and_where_they_are_written(maker: Any, places: list[tuple[str | int, ...]]) -> None:
    found = list(pods(built(maker)))
    assert [one.finding("", "spec", "containers", 0).at for one in found] == [
        (*place, "spec", "containers", 0) for place in places
    ]
    assert all([name for _, each in containers(one) for name in [each["name"]]] == ["main"] for one in found)


def test_claims_of_a_stateful_set_are_volumes_of_its_pods() -> None:
    maker = workload("StatefulSet", volumes=[{"name": "own"}])
    maker["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}}]
    (pod,) = pods(built(maker))
    assert [volume["name"] for volume in pod.spec["volumes"]] == ["own", "data"]


WORKFLOW: dict[str, Any] = {
    "arguments": {"parameters": [{"name": "gpus", "value": 2}, {"name": "image"}]},
    "securityContext": {"runAsNonRoot": True},
    "nodeSelector": {"a": "workflow"},
    "tolerations": [{"key": "one"}],
    "podMetadata": {"labels": {"shared": "1", "own": "1"}},
    "templates": [
        {"name": "order", "steps": []},
        {
            "name": "work",
            "container": {
                "image": "{{workflow.parameters.image}}",
                "args": ["{{ workflow.parameters.gpus }}", "{{inputs.parameters.gpus}}"],
            },
            "nodeSelector": {"a": "template"},
            "tolerations": [{"key": "two"}],
            "sidecars": [{"name": "side", "image": "x:1"}],
            "metadata": {"labels": {"own": "2"}},
        },
        {"name": "script", "script": {"image": "y:1", "source": "true"}},
        {"name": "set", "containerSet": {"containers": [{"name": "a", "image": "z:1"}, {"name": "b"}]}},
    ],
}


def workflows(*manifests: Any) -> list[Pod]:
    return list(pods(built(*manifests)))


def test_pods_of_a_workflow() -> None:
    work, script, together = workflows(manifest("WorkflowTemplate", "argoproj.io/v1alpha1", spec=WORKFLOW))
    assert [each["name"] for _, each in containers(work)] == ["main", "side"]
    assert work.spec["containers"][0]["image"] == AT_SUBMISSION
    assert work.spec["containers"][0]["args"] == ["2", AT_SUBMISSION]
    assert work.spec["tolerations"] == [{"key": "one"}, {"key": "two"}]
    assert work.spec["nodeSelector"] == {"a": "template"}
    assert work.labels == {"shared": "1", "own": "2"}
    assert script.spec["containers"] == [{"name": "main", "image": "y:1"}]
    assert script.spec["nodeSelector"] == {"a": "workflow"}
    assert [each["name"] for _, each in containers(together)] == ["a", "b"]


@pytest.mark.parametrize(
    ("into", "at"),
    [
        (("spec", "containers", 0, "image"), ("templates", 1, "container", "image")),
        (("spec", "containers", 1, "image"), ("templates", 1, "sidecars", 0, "image")),
        (("spec", "nodeSelector", "a"), ("templates", 1, "nodeSelector", "a")),
        (("spec", "securityContext"), ("securityContext",)),
        (("spec", "tolerations", 0), ("tolerations", 0)),
        (("spec", "tolerations", 1), ("templates", 1, "tolerations", 0)),
        (("spec", "schedulerName"), ("templates", 1)),
        (("spec", "containers", 0, "securityContext", "privileged"), ("templates", 1, "container")),
    ],
)
def test_parts_of_a_workflows_pod_lead_to_where_they_are_written(into: Any, at: Any) -> None:
    work, *_ = workflows(manifest("WorkflowTemplate", "argoproj.io/v1alpha1", spec=WORKFLOW))
    assert work.finding("", *into).at == ("spec", *at)


def test_a_schedule_runs_the_template_with_its_own_parameters() -> None:
    template = manifest("WorkflowTemplate", "argoproj.io/v1alpha1", spec=WORKFLOW)
    given = {"parameters": [{"name": "image", "value": "mine:1"}]}
    spec = {"workflowSpec": {"workflowTemplateRef": {"name": "x"}, "arguments": given, "nodeSelector": {"a": "mine"}}}
    cron = manifest("CronWorkflow", "argoproj.io/v1alpha1", name="nightly", spec=spec)
    found = workflows(template, cron)
    assert [pod.maker.kind for pod in found] == ["WorkflowTemplate"] * 3 + ["CronWorkflow"] * 3
    work, script = found[3], found[4]
    assert work.spec["containers"][0]["image"] == "mine:1"
    assert work.finding("", "spec", "containers", 0, "image").about.split()[0] == "WorkflowTemplate"
    assert script.spec["nodeSelector"] == {"a": "mine"}
    assert script.finding("", "spec", "nodeSelector").about.split()[0] == "CronWorkflow"
    assert script.finding("", "spec", "nodeSelector").at == ("spec", "workflowSpec", "nodeSelector")


def test_a_schedule_of_a_template_that_is_not_here_has_no_pods() -> None:
    spec = {"workflowSpec": {"workflowTemplateRef": {"name": "elsewhere"}}}
    assert not workflows(manifest("CronWorkflow", "argoproj.io/v1alpha1", spec=spec))


def test_nothing_to_see_is_no_pod() -> None:
    assert list(pods(Built(name="x", cluster=None, objects=()))) == []


def test_a_claim_of_a_stateful_set_stands_in_for_a_volume_of_its_name() -> None:
    one = workload("StatefulSet", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    one["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}}]
    (pod,) = pods(built(one))
    assert pod.spec["volumes"] == [{}, {"name": "data", "ephemeral": {}}]
