"""A cluster like `ml50` on which steps of operations run, and what they ask of its API server."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import auditing
from auditing import Right, betrayed, stored, written
from nodesteps import OPERATIONS, Machines, Steps
from reference import ROOT

from generator.components.node_operations.names import NAMESPACE
from generator.model.cluster import Cluster

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"


def accounts(*names: str) -> list[str]:
    """Return the accounts of operations, as the audit log names them."""
    return [f"{NAMESPACE}:{name}" for name in names]


@contextlib.contextmanager
def audited(folder: Path, *more: str) -> Iterator[Path]:
    """Have API servers that begin in the block write down in this folder what the steps ask; `more` are more flags."""
    with auditing.audited(folder, *accounts(*OPERATIONS.values()), more=more):
        yield folder


def unused(steps: Steps, folder: Path, *names: str) -> set[Right]:
    """Return what these operations may and never asked, but for what Argo's executor asks. None asked in vain."""
    executor = {right for account in accounts(*names) for right in auditing.executor(account)}
    assert executor <= {right for account in accounts(*names) for right in auditing.granted(steps.api, account)}
    return auditing.unused(steps.api, folder, *accounts(*names)) - executor


def told_tokens(steps: Steps, folder: Path, *secrets: str) -> list[str]:
    """Return where a token or one of these secrets stands in what steps said, in what the API server holds, and in what
    it was sent by them, which is written down in this folder.
    """
    said = [(file.name, file.read_text()) for file in steps.said.iterdir()]
    tokens = [file.read_text() for file in steps.folder.glob("*/token")]
    assert any(text for _, text in said)
    assert tokens
    return betrayed([*said, *stored(steps.api), *written(folder)], [*secrets, *tokens])


@contextlib.contextmanager
def control_plane(cluster: Cluster, folder: Path, *joined: str) -> Iterator[Steps]:
    """Run a control plane alone, with some nodes of the cluster: nothing is let in by Kueue, whose kinds are there."""
    from twin.nodes import nodes
    from twin.plane import plane

    (folder / "scripts").mkdir()
    with plane(folder) as api:
        api.install("kueue/v0.18.3/crds")
        api.wait("Workloads are served", lambda: api.request("GET", WORKLOADS)[0] == 200)
        steps = Steps(Machines(api, nodes(ROOT, cluster.name)), folder / "scripts")  # type: ignore[arg-type]
        steps.install(cluster)
        steps.ceph("HEALTH_OK")
        for name in joined:
            steps.join(name)
        yield steps
