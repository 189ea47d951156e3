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
        refused = {name: {kind for kind in WORK if asked(twin, kind, name)[0] != 201} for name in ("argocd", "vision")}
        assert refused == {"argocd": set(), "vision": set(WORK) - {"DaemonSet"}}
        assert all("failed calling webhook" in asked(twin, kind, "vision")[1] for kind in refused["vision"])
    finally:
        twin.kueue.start()


def asked(twin: "Twin", kind: str, namespace: str) -> tuple[int, str]:
    """Ask whether somebody who may do everything could run something small there."""
    labels = {"app": "small"}
    limits = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    pod: dict[str, Any] = {"containers": [{"name": "main", "image": "registry.example.org/a:1", "resources": limits}]}
    selected = {"selector": {"matchLabels": labels}} | ({"serviceName": "small"} if kind == "StatefulSet" else {})
    once = {"restartPolicy": "Never"} if kind == "Job" else {}
    template = {"template": {"metadata": {"labels": labels}, "spec": pod | once}}
    metadata = {"name": "small", "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": "default"}}
    spec = pod if kind == "Pod" else template if kind == "Job" else template | selected
    return twin.api.create({"apiVersion": WORK[kind], "kind": kind, "metadata": metadata, "spec": spec})
