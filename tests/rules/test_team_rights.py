"""What a team's people may make, by the roles that a cluster gives them."""

from typing import Any

import pytest
from manifests import manifest, ml50
from msgspec import structs

from generator.build.objects import Built, Object
from generator.components.jobs import Jobs
from generator.components.tenants.rbac import bindings, roles
from generator.model.finding import Finding
from generator.rules.team_rights import allowed

RBAC = "rbac.authorization.k8s.io/v1"
VISION = next(team for team in ml50().teams if team.name == "vision")
RIGHTS = (*roles(Jobs()), *bindings(VISION))


def told(*brought: Any, into: str = "", rights: Any = RIGHTS) -> list[Finding]:
    theirs = (Object(one, "tenants", "x.yaml") for one in rights)
    own = (Object(one, "", "brought.yaml") for one in brought)
    whole = Built(name="x", cluster=ml50(), objects=(*theirs, *own), into=into)
    return [*allowed.findings(whole)]


def cluster_wide(kind: str, version: str = "v1") -> Any:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}


MADE = [
    ("ConfigMap", "v1"),
    ("Secret", "v1"),
    ("PersistentVolumeClaim", "v1"),
    ("Deployment", "apps/v1"),
    ("CronJob", "batch/v1"),
    ("PodDisruptionBudget", "policy/v1"),
    ("WorkflowTemplate", "argoproj.io/v1alpha1"),
    # Kueue's own role gives them jobs of more kinds than the cluster's.
    ("RayJob", "ray.io/v1"),
    # That nothing serves it is said elsewhere.
    ("Widget", "example.org/v1"),
]


@pytest.mark.parametrize(("kind", "version"), MADE)
def test_what_roles_let_people_make_is_fine(kind: str, version: str) -> None:
    assert told(manifest(kind, version, namespace="vision"), into="vision") == []


REFUSED = [
    ("ServiceAccount", "v1", "leave it out, and serviceAccountName"),
    ("RoleBinding", RBAC, "leave it out: pods of a team"),
    ("DaemonSet", "apps/v1", "make a Deployment of it"),
    ("NetworkPolicy", "networking.k8s.io/v1", "leave it out, or ask"),
    ("Ingress", "networking.k8s.io/v1", "a team with `hosts`"),
    ("HTTPRoute", "gateway.networking.k8s.io/v1", "ask for `hosts`"),
    ("LocalQueue", "kueue.x-k8s.io/v1beta1", "a queue `default`"),
]


@pytest.mark.parametrize(("kind", "version", "fix"), REFUSED)
def test_what_no_role_lets_them_make_is_told(kind: str, version: str, fix: str) -> None:
    (problem,) = told(manifest(kind, version, namespace="vision"))
    assert problem.message == f"people of team vision may make no {kind}: the API server refuses it"
    assert fix in problem.fix


def test_what_lives_in_no_namespace_is_theirs_where_somebody_says_who_brings_it() -> None:
    volume = cluster_wide("PersistentVolume")
    (problem,) = told(volume, into="vision")
    assert "a claim of a StorageClass" in problem.fix
    assert told(volume) == []
    assert told(volume, into="tools") == []


def test_what_goes_to_another_namespace_is_told_to_a_team() -> None:
    one = manifest("ConfigMap", namespace="default")
    (problem,) = told(one, into="vision")
    assert problem.at == ("metadata", "namespace")
    assert problem.fix == "leave the namespace out, or write vision"
    assert told(one) == []
    assert told(one, into="tools") == []


def test_roles_that_are_given_to_people_beside_gens_count() -> None:
    ingress = manifest("Ingress", "networking.k8s.io/v1", namespace="vision")
    people = [{"kind": "Group", "name": "oidc:vision", "apiGroup": "rbac.authorization.k8s.io"}]

    def bound(kind: str, subjects: Any = people) -> Any:
        role = {"kind": kind, "name": "web"}
        return manifest("RoleBinding", RBAC, namespace="vision", name="web", roleRef=role, subjects=subjects)

    rules = [{"apiGroups": ["networking.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
    role = manifest("Role", RBAC, namespace="vision", name="web", rules=rules)
    assert told(ingress, rights=(*RIGHTS, bound("Role"), role)) == []
    assert told(ingress, rights=(*RIGHTS, bound("ClusterRole"))) == [], "a role that nobody sees, as Kubernetes' `edit`"
    program = [{"kind": "ServiceAccount", "name": "web"}]
    assert len(told(ingress, rights=(*RIGHTS, bound("Role", program), role))) == 1
    assert (
        told(ingress, rights=(*RIGHTS, bound("ClusterRole"), {**role, "kind": "ClusterRole", "aggregationRule": {}}))
        == []
    )
    odd = {**role, "rules": [None, {"verbs": "create"}, {"verbs": ["create"], "apiGroups": [{}], "resources": [5]}]}
    assert len(told(ingress, rights=(*RIGHTS, bound("Role"), odd))) == 1


def test_what_components_bring_and_folders_of_no_cluster_are_not_judged() -> None:
    claim = manifest("ServiceAccount", namespace="vision")
    assert told(rights=(*RIGHTS, claim)) == []
    assert told(claim, rights=()) == [], "nobody says what its people may"
    whole = Built(name="x", cluster=ml50(), objects=(Object(claim, "", "x.yaml"),), into="vision")
    assert [*allowed.findings(structs.replace(whole, cluster=None))] == []
