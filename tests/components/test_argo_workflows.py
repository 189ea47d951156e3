"""Argo Workflows: restricted, with an end to everything."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec import structs
from reference import load, without_operations
from validation.schemas import schema

from generator.components import compose
from generator.components.argo_workflows import CONTROLLER, METRICS_SERVICE, argo_workflows
from generator.components.argo_workflows import DEFINITION as ARGO_WORKFLOWS
from generator.components.component import Component
from generator.model.cluster import Cluster


def installed(cluster: Cluster) -> Component:
    return argo_workflows(cluster)


def configuration(cluster: Cluster) -> dict[str, Any]:
    (patch,) = [patch for patch in installed(cluster).patches if patch.target["kind"] == "ConfigMap"]
    (operation,) = patch.operations
    assert operation["path"] == "/data"
    return {key: json.loads(value) for key, value in operation["value"].items()}


def test_a_cluster_without_operations_has_none(a30: Cluster, ml50: Cluster) -> None:
    assert ARGO_WORKFLOWS.wanted(a30)
    assert not ARGO_WORKFLOWS.wanted(without_operations(a30))
    assert ARGO_WORKFLOWS.wanted(structs.replace(ml50, backups=()))
    assert not ARGO_WORKFLOWS.wanted(without_operations(ml50))


def test_only_reviewed_templates_run(ml50: Cluster) -> None:
    assert configuration(ml50)["workflowRestrictions"]["templateReferencing"] == "Strict"


def test_the_executor_is_the_one_of_this_version_and_not_root(ml50: Cluster) -> None:
    component, settings = installed(ml50), configuration(ml50)
    assert settings["executor"]["image"].endswith(f"argoexec:{component.version}-nonroot")
    for container in (settings["executor"], settings["mainContainer"]):
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    pod = settings["workflowDefaults"]["spec"]["securityContext"]
    assert pod["runAsNonRoot"] is True
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}


def test_defaults_are_fields_of_a_workflow_and_end_everything(ml50: Cluster) -> None:
    spec = configuration(ml50)["workflowDefaults"]["spec"]
    known = schema("argo-workflows/v4.0.2", "argoproj.io", "WorkflowTemplate")["properties"]["spec"]
    assert [error.message for error in Draft202012Validator(known).iter_errors(spec)] == []
    assert spec["activeDeadlineSeconds"] > 0
    assert spec["ttlStrategy"].keys() == {"secondsAfterSuccess", "secondsAfterFailure"}


def test_nothing_is_archived(ml50: Cluster) -> None:
    assert "persistence" not in configuration(ml50)
    assert "artifactRepository" not in configuration(ml50)


def test_both_deployments_fit_a_restricted_namespace(ml50: Cluster) -> None:
    component = installed(ml50)
    (namespace,) = component.namespaces
    assert (namespace.name, namespace.security) == ("argo", "restricted")
    patched = {patch.target["name"]: patch.operations for patch in component.patches if patch.target.get("group")}
    assert patched.keys() == {"workflow-controller", "argo-server"}
    for operations in patched.values():
        assert {operation["path"].rsplit("/", 1)[1] for operation in operations} == {"seccompProfile", "resources"}


def test_metrics_are_let_in_and_nothing_else(ml50: Cluster) -> None:
    policy, service = installed(ml50).base
    (rule,) = policy["spec"]["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": configuration(ml50)["metricsConfig"]["port"]}]
    metadata = service["metadata"]
    assert (f"{metadata['name']}.{metadata['namespace']}.svc", metadata["labels"]) == (METRICS_SERVICE, CONTROLLER)
    assert service["spec"]["ports"][0]["targetPort"] == configuration(ml50)["metricsConfig"]["port"]


@pytest.mark.parametrize("name", ["ml50", "a30-bench", "gpu-serving"])
def test_no_operation_has_two_templates_of_one_name(name: str) -> None:
    """Argo refuses to begin such a one ("is not unique")."""
    for component in compose(load(name)):
        made = (*component.objects, *(one for each in component.operations for one in each.templates))
        for one in (each for each in made if each["kind"] == "WorkflowTemplate"):
            found = [step["name"] for step in one["spec"]["templates"]]
            assert sorted(set(found)) == sorted(found), one["metadata"]["name"]
