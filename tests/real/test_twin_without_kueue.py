"""What goes on in a cluster while Kueue does not: all but the work of teams."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from twin.fixtures import Twin

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

WORK = {"Pod": "v1", "Job": "batch/v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1"}
"""Kinds of what runs, and their versions; no DaemonSet goes through a queue."""


def test_while_kueue_is_down_only_work_of_teams_is_refused(twin: "Twin") -> None:
    twin.kueue.stop()
    try:
        refused = {name: refusals(twin, name) for name in ("argocd", "vision")}
        assert refused["argocd"] == {}
        assert refused["vision"].keys() == WORK.keys() - {"DaemonSet"}
        assert all("failed calling webhook" in told for told in refused["vision"].values()), refused
    finally:
        twin.kueue.start()


def refusals(twin: "Twin", namespace: str) -> dict[str, str]:
    """Return the kinds that could not run there, with the API server's words."""
    answers = {kind: asked(twin, kind, namespace) for kind in WORK}
    return {kind: told for kind, (status, told) in answers.items() if status != 201}


def asked(twin: "Twin", kind: str, namespace: str) -> tuple[int, str]:
    """Ask whether somebody who may do everything could run something small there, as safe as any namespace asks for."""
    labels = {"app": "small"}
    limits = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    user = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {"name": "main", "image": "registry.example.org/a:1", "resources": limits, "securityContext": safe}
    pod: dict[str, Any] = {"containers": [container], "securityContext": user}
    selected = {"selector": {"matchLabels": labels}} | ({"serviceName": "small"} if kind == "StatefulSet" else {})
    once = {"restartPolicy": "Never"} if kind == "Job" else {}
    template = {"template": {"metadata": {"labels": labels}, "spec": pod | once}}
    metadata = {"name": "small", "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": "default"}}
    spec = pod if kind == "Pod" else template if kind == "Job" else template | selected
    return twin.api.create({"apiVersion": WORK[kind], "kind": kind, "metadata": metadata, "spec": spec})
