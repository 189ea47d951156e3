"""The rendered health checks under Argo CD's own interpreter, which has fewer libraries than Lua."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import programs

from generator.components import compose
from generator.components.argo_cd.settings import health_checks
from generator.repository.cluster_files import load

pytestmark = pytest.mark.twin

ROOT = Path(__file__).parents[2]
Status = dict[str, Any] | None
SOURCE = {"repoURL": "https://git.example.org/a.git", "path": "overlays/a", "targetRevision": "refs/heads/main"}
SYNCED = {"status": "Synced", "comparedTo": {"source": SOURCE}}
DIFFERS = {"status": "OutOfSync", "revision": "b", "comparedTo": {"source": SOURCE}}
EARLIER, CHANGED, LATER = "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"
NEVER = "2999-01-01T00:00:00Z"


def conditions(kind: str, status: str, reason: str = "Any") -> Status:
    return {"conditions": [{"type": kind, "status": status, "reason": reason, "message": "said"}]}


def ceph(health: str, state: str = "Created") -> Status:
    details = {"MON_DOWN": {"message": "1/3 mons down", "severity": health}}
    return {"state": state, "phase": "Ready", "ceph": {"health": health, "details": details}}


def application(phase: str, health: str, sync: dict[str, Any], **operation: Any) -> dict[str, Any]:
    state = {"phase": phase, "message": "said", **operation}
    return {"sync": sync, "health": {"status": health}, "operationState": state}


def unready(since: str) -> Status:
    """Return what an Application with a DaemonSet says of which one node is down."""
    health = {"status": "Progressing", "message": "said", "lastTransitionTime": since}
    return application("Succeeded", "Progressing", SYNCED) | {"health": health}


ROOK: list[tuple[Status, str]] = [
    ({"phase": "Ready"}, "Healthy"),
    ({"phase": "Progressing"}, "Progressing"),
    ({"phase": "Failure"}, "Degraded"),
]
CALICO: list[tuple[Status, str]] = [
    (conditions("Ready", "True"), "Healthy"),
    (conditions("Ready", "False"), "Progressing"),
    (conditions("Degraded", "True"), "Degraded"),
]
EXAMPLES: dict[str, list[tuple[Status, str]]] = {
    "argoproj.io_Application": [
        (application("Succeeded", "Healthy", SYNCED), "Healthy"),
        (application("Running", "Healthy", SYNCED), "Progressing"),
        (application("Succeeded", "Healthy", DIFFERS), "Progressing"),
        (application("Succeeded", "Healthy", DIFFERS, operation={"sync": {"autoHealAttemptsCount": 5}}), "Degraded"),
        (application("Succeeded", "Healthy", DIFFERS, finishedAt=LATER, syncResult={"revision": "b"}), "Degraded"),
        (application("Succeeded", "Healthy", DIFFERS, finishedAt=LATER, syncResult={"revision": "a"}), "Progressing"),
        (application("Succeeded", "Healthy", DIFFERS, finishedAt=EARLIER, syncResult={"revision": "a"}), "Degraded"),
        (application("Failed", "Healthy", SYNCED), "Degraded"),
        # Nothing holds a wave for ever, and with it the commit that would mend it: half an hour, or five attempts.
        (unready(EARLIER), "Degraded"),
        (unready(NEVER), "Progressing"),
        (application("Running", "Healthy", SYNCED, startedAt=EARLIER), "Degraded"),
        (application("Running", "Healthy", SYNCED, startedAt=NEVER), "Progressing"),
        (application("Running", "Healthy", SYNCED, startedAt=NEVER, retryCount=5), "Degraded"),
    ],
    "ceph.rook.io_CephBlockPool": ROOK,
    "ceph.rook.io_CephCluster": [
        (ceph("HEALTH_OK"), "Healthy"),
        (ceph("HEALTH_WARN"), "Healthy"),
        (ceph("HEALTH_OK", "Creating"), "Progressing"),
        (ceph("HEALTH_ERR"), "Degraded"),
        ({"state": "Error", "phase": "Failure", "message": "said"}, "Degraded"),
    ],
    "ceph.rook.io_CephFilesystem": ROOK,
    "ceph.rook.io_CephFilesystemSubVolumeGroup": ROOK,
    "ceph.rook.io_CephNFS": ROOK,
    "ceph.rook.io_CephObjectStoreUser": ROOK,
    "kueue.x-k8s.io_ClusterQueue": [
        (conditions("Active", "True"), "Healthy"),
        ({"conditions": []}, "Progressing"),
        (conditions("Active", "False", "FlavorNotFound"), "Degraded"),
        (conditions("Active", "False", "Stopped"), "Suspended"),
    ],
    "mellanox.com_NicClusterPolicy": [
        ({"state": "ready"}, "Healthy"),
        ({"state": "notReady", "reason": "said"}, "Progressing"),
        ({"state": "error"}, "Degraded"),
    ],
    "nvidia.com_ClusterPolicy": [
        ({"state": "ready"}, "Healthy"),
        ({"state": "notReady"}, "Progressing"),
        ({"state": "ignored"}, "Degraded"),
    ],
    "operator.tigera.io_APIServer": CALICO,
    "operator.tigera.io_Installation": CALICO,
}
VERSIONS = {"argoproj.io": "v1alpha1", "kueue.x-k8s.io": "v1beta2", "mellanox.com": "v1alpha1"}
CASES = [
    pytest.param(kind, status, expected, id=f"{kind}-{expected}-{number}")
    for kind, examples in EXAMPLES.items()
    for number, (status, expected) in enumerate([*examples, (None, "Progressing")])
]


def checks() -> dict[str, str]:
    """Return the checks of both clusters by the kind that they are of."""
    clusters = [one.cluster for one in load(ROOT) if one.cluster]
    found = [health_checks(compose(cluster)) for cluster in clusters]
    return {key.rpartition(".health.")[2]: lua for each in found for key, lua in each.items()}


def test_every_kind_with_a_check_has_examples() -> None:
    assert EXAMPLES.keys() == checks().keys()
    for kind, examples in EXAMPLES.items():
        assert {expected for _, expected in examples} >= {"Healthy", "Progressing", "Degraded"}, kind


@pytest.mark.parametrize(("kind", "status", "expected"), CASES)
def test_argo_cd_takes_an_object_for(kind: str, status: Status, expected: str, tmp_path: Path) -> None:
    group, _, name = kind.partition("_")
    made = {
        "apiVersion": f"{group}/{VERSIONS.get(group, 'v1')}",
        "kind": name,
        "metadata": {
            "name": "one",
            "creationTimestamp": NEVER,
            "managedFields": [{"manager": "argocd-controller", "operation": "Apply", "time": CHANGED}],
        },
        "spec": {"source": SOURCE},
        **({} if status is None else {"status": status}),
    }
    settings = {f"resource.customizations.health.{key}": lua for key, lua in checks().items()}
    files = {"object": made, "argocd-cm": {"apiVersion": "v1", "kind": "ConfigMap", "data": settings}}
    files["argocd-cm"]["metadata"] = {"name": "argocd-cm", "namespace": "argocd"}
    for file, content in files.items():
        (tmp_path / file).write_text(yaml.safe_dump(content))
    (argocd,) = programs("argocd")
    command = [argocd, "admin", "settings", "resource-overrides", "health", "object", "--argocd-cm-path", "argocd-cm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"STATUS: {expected}" in done.stdout, done.stdout + done.stderr
