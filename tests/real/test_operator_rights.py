"""What the API server lets operators of jobs do, with the rights that are rendered."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from reference import ROOT

if TYPE_CHECKING:
    from apiserver import ApiServer, Identity

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

MPI: "Identity" = (
    "system:serviceaccount:mpi-operator:mpi-operator",
    ("system:serviceaccounts", "system:serviceaccounts:mpi-operator", "system:authenticated"),
)


def test_the_mpi_operator_may_empty_the_start_of_a_launcher(api: "ApiServer", tmp_path: Path) -> None:
    """It does so before each start but the first (v0.8.2: `mpi_job_controller.go`), and else starts it never again."""
    from twin.rendered import Rendered

    rendered = Rendered(ROOT, "ml50", tmp_path / "rendered", ("mpi-operator",))
    for one in rendered.objects("mpi-operator"):
        if one["kind"] in {"ClusterRole", "ClusterRoleBinding"}:
            api.apply(one)
    api.namespace("launches")
    manifest = launcher()
    assert api.create(manifest, dry=False) == (201, "")
    path = f"{api.path(manifest, named=True)}/status"
    status, stopped = api.request("PUT", path, stored(api, path, startTime="2030-01-01T00:00:00Z"))
    assert status == 200, stopped
    status, answer = api.request("PUT", path, stored(api, path, startTime=None), by=MPI)
    assert status == 200, answer
    assert "startTime" not in answer["status"]


def stored(api: "ApiServer", path: str, **status: Any) -> dict[str, Any]:
    found: dict[str, Any] = api.request("GET", path)[1]
    return found | {"status": found["status"] | status}


def launcher() -> dict[str, Any]:
    container = {"name": "main", "image": "registry.example.org/train:1"}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "bert-launcher", "namespace": "launches"},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }
