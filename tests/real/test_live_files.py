"""Times of changes under Argo CD itself: what a window closes rests, and Git opens it again."""

import time
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from argocd.argo import Argo

pytest_plugins = ["apiserver", "argocd.fixtures"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
PROJECT = "/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects/tenants"
EXTRA = "/apis/rbac.authorization.k8s.io/v1/namespaces/vision/rolebindings/extra"
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "extra", "namespace": "vision"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    "subjects": [],
}
# Open but for the last minute of a day.
CLOSED = {"kind": "deny", "schedule": "0 0 * * *", "duration": "1439m", "tiers": ["tenants"], "reason": "test"}
NEVER = 20.0
"""Seconds in which what must not happen would have happened: the control takes less."""


def windows(argo: "Argo") -> list[Object]:
    return list((argo.api.get(PROJECT) or {}).get("spec", {}).get("syncWindows", []))


def test_what_is_merged_into_a_closed_window_waits_until_git_opens_it(argo: "Argo") -> None:
    from argocd.argo import sync

    file = argo.repository.spec
    closed = deepcopy(file)
    closed["spec"]["gitops"]["windows"] = [CLOSED]
    argo.repository.write(closed)
    argo.push()
    argo.until("the project has its window", lambda: windows(argo))
    with argo.beside("tenants", BINDING):
        argo.push()
        argo.until("the difference is seen", lambda: sync(argo.application("tenants")) == "OutOfSync")
        time.sleep(NEVER)
        assert not argo.api.get(EXTRA)
        argo.repository.write(file)
        argo.settled("tenants", revision=argo.push())
        assert argo.api.get(EXTRA)
        assert not windows(argo)
    argo.settled("tenants", revision=argo.push())
    assert not argo.api.get(EXTRA)
