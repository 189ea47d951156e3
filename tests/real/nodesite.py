"""A cluster like `ml50` on which steps of operations run, and what they ask of its API server."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from nodesteps import Machines, Steps, audit_policy
from reference import ROOT, load

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


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write down what the steps ask of the API server."""
    with audited(tmp_path_factory.mktemp("audit")) as file:
        yield file


@pytest.fixture(scope="module")
def steps(log: Path) -> Iterator[Steps]:
    from twin.fixtures import twin_of

    assert log.parent.is_dir()
    cluster = load("ml50")
    with (
        tempfile.TemporaryDirectory(prefix="nodes-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        (folder / "scripts").mkdir()
        twin = stack.enter_context(twin_of(ROOT, "ml50", folder))
        made = Steps(twin, folder / "scripts")
        made.install(cluster)
        made.ceph("HEALTH_OK")
        yield made
