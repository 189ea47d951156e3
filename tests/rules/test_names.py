"""Names, labels, subjects and values that the API server refuses though each field is one of the kind."""

from typing import Any

import pytest
from manifests import deployment, found, manifest, reached, workload

from generator.rules import names, schemas
from generator.rules.values import with_values

NAMED, LABELLED, WHOLE = names.named, names.labelled, names.whole
FITTING = schemas.fitting


@pytest.mark.parametrize("name", ["cleanup-<node-hostname>", "x-{{uid}}", "Web", "a_b", "-a", "a.", "a..b", "${NAME}"])
def test_a_name_that_kubernetes_refuses_is_found(name: str) -> None:
    (problem,) = found(NAMED, manifest("Job", "batch/v1", name=name))
    assert reached(problem) == name
    (problem,) = found(NAMED, manifest("Job", "batch/v1", namespace=name))
    assert reached(problem) == name


def test_a_placeholder_is_named_in_the_fix() -> None:
    (problem,) = found(NAMED, manifest("Job", "batch/v1", name="cleanup-<node-hostname>"))
    assert problem.fix == "write what stands for `<node-hostname>`"


@pytest.mark.parametrize("name", ["a", "a-1", "a.b-c.d", "1a", "a" * 253])
def test_a_good_name_is_not(name: str) -> None:
    assert found(NAMED, manifest("Job", "batch/v1", name=name)) == []
    assert found(NAMED, manifest("ClusterRole", "rbac.authorization.k8s.io/v1", name=f"system:{name}:x")) == []
    made: Any = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "a-"}}
    assert found(NAMED, made) == []
    assert [one.at for one in found(NAMED, manifest("Namespace", name="a.b"))] == [("metadata", "name")]


def test_labels_and_selectors_that_kubernetes_refuses_are_found() -> None:
    wrong = workload(nodeSelector={"kubernetes.io/hostname": "<node>"})
    wrong["metadata"]["labels"] = {"{{key}}": "x", "app": "a b"}
    wrong["spec"]["selector"] = {"matchLabels": {"app": "{{app}}"}}
    wrong["spec"]["template"]["metadata"]["labels"] = {"app": "{{app}}"}
    assert {one.at for one in found(LABELLED, wrong)} == {
        ("metadata", "labels", "{{key}}"), ("metadata", "labels", "app"), ("spec", "selector", "matchLabels", "app"),
        ("spec", "template", "metadata", "labels", "app"),
        ("spec", "template", "spec", "nodeSelector", "kubernetes.io/hostname"),
    }  # fmt: skip
    assert found(LABELLED, manifest("Service", spec={"selector": {"app": "<app>"}}))


def test_good_labels_and_templates_of_custom_kinds_are_not() -> None:
    good = deployment()
    good["metadata"]["labels"] = {"app.kubernetes.io/name": "A_b.c-1", "empty": "", "example.org/x": "y"}
    assert found(LABELLED, good) == []
    steps = manifest("Workflow", "argoproj.io/v1alpha1", spec={"podMetadata": {"labels": {"a": "{{x}}"}}})
    assert found(LABELLED, steps) == []


def test_a_replication_controller_needs_labels_or_a_selector() -> None:
    template: Any = {"spec": {"containers": []}}
    assert [one.at for one in found(WHOLE, manifest("ReplicationController", spec={"template": template}))] == [
        ("spec",)
    ]
    labelled = {**template, "metadata": {"labels": {"app": "x"}}}
    assert found(WHOLE, manifest("ReplicationController", spec={"template": labelled})) == []


def test_a_service_account_in_a_cluster_role_binding_needs_its_namespace() -> None:
    version, subjects = "rbac.authorization.k8s.io/v1", [{"kind": "ServiceAccount", "name": "setup"}]
    (problem,) = found(WHOLE, manifest("ClusterRoleBinding", version, subjects=subjects))
    assert problem.at == ("subjects", 0)
    assert found(WHOLE, manifest("RoleBinding", version, subjects=subjects)) == []
    assert found(WHOLE, manifest("ClusterRoleBinding", version, subjects=[{**subjects[0], "namespace": "a"}])) == []


def test_a_value_that_no_schema_names_is_found_in_every_kind_that_has_the_type() -> None:
    wrong = deployment(ports=[{"containerPort": 80, "protocol": "tcp"}])
    wrong["spec"]["selector"] = {"matchLabels": {"app": "x"}}
    (problem,) = found(FITTING, wrong)
    assert problem.message.endswith("protocol: 'tcp' is not one of 'TCP', 'UDP', 'SCTP'")
    for protocol in ("UDP", "", None):
        wrong["spec"]["template"]["spec"]["containers"][0]["ports"][0]["protocol"] = protocol
        assert found(FITTING, wrong) == []
    service = manifest("Service", spec={"type": "loadBalancer", "ports": [{"port": 1, "protocol": "udp"}]})
    assert len(found(FITTING, service)) == 2


def test_types_that_are_not_there_are_left_out() -> None:
    assert with_values({"$defs": {}}) == {"$defs": {}}
