"""A cluster like `ml50` on which steps of operations run, and what they ask of its API server."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from nodesteps import Machines, Steps, audit_policy
from reference import ROOT

from generator.model.cluster import Cluster
from generator.rehearsal.twin import plane as real

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"


@contextlib.contextmanager
def audited(folder: Path) -> Iterator[Path]:
    """Have API servers that begin in the block write down what the steps ask."""
    (folder / "policy.yaml").write_text(audit_policy())
    flags = [f"--audit-policy-file={folder}/policy.yaml", f"--audit-log-path={folder}/log", "--audit-log-mode=blocking"]
    plain = real._server
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real, "_server", lambda *words: [*plain(*words), *flags])
        yield folder / "log"


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
