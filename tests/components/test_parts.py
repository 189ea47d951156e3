"""Parts of objects that several components make alike."""

import pytest
from msgspec import structs

from generator.components.common import exposed
from generator.components.parts import pod_security, rights
from generator.model.cluster import Cluster

RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_a_binding_leads_from_the_account_to_the_role_beside_it(kind: str) -> None:
    role, binding = rights({"name": "a", "namespace": "b"}, RULES, "b", kind)
    assert (role["kind"], binding["kind"]) == (kind, f"{kind}Binding")
    assert role["rules"] == RULES
    group = role["apiVersion"].partition("/")[0]
    assert binding["roleRef"] == {"apiGroup": group, "kind": kind, "name": role["metadata"]["name"]}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}]


def test_nothing_is_reached_without_a_name_or_without_an_ingress_controller(ml50: Cluster) -> None:
    assert exposed(ml50, "x.example.org")
    assert not exposed(ml50, None)
    assert not exposed(structs.replace(ml50, site=structs.replace(ml50.site, ingress_class=None)), "x.example.org")


def test_a_pod_runs_as_the_user_it_is_told_and_never_as_root() -> None:
    found = pod_security(7, fsGroup=8)
    assert (found["runAsUser"], found["fsGroup"], found["runAsNonRoot"]) == (7, 8, True)
    assert found["seccompProfile"] == {"type": "RuntimeDefault"}
