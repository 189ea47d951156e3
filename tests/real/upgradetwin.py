"""A twin of `ml50` for operations that go over all nodes, one for each file that asks for it."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from minioplayed import minio_answering
from nodesteps import Steps, audit_policy
from reference import ROOT, load
from upgradesite import Site

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.rehearsal.twin import plane as real


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write down what the steps ask of the API server."""
    folder = tmp_path_factory.mktemp("audit")
    (folder / "policy.yaml").write_text(audit_policy())
    flags = [f"--audit-policy-file={folder}/policy.yaml", f"--audit-log-path={folder}/log", "--audit-log-mode=blocking"]
    flags += ["--enable-admission-plugins=NodeRestriction", "--runtime-config=networking.k8s.io/v1beta1=true"]
    plain = real._server
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real, "_server", lambda *words: [*plain(*words), *flags])
        yield folder / "log"


@pytest.fixture(scope="module")
def whole(log: Path) -> Iterator[Site]:
    from twin.fixtures import twin_of

    assert log.parent.is_dir()
    with (
        tempfile.TemporaryDirectory(prefix="upgrade-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        (folder / "scripts").mkdir()
        twin = stack.enter_context(twin_of(ROOT, "ml50", folder))
        steps = Steps(twin, folder / "scripts")
        steps.install(load("ml50"))
        steps.ceph("HEALTH_OK")
        made = Site(steps)
        made.prepare((RBD_DRIVER, CEPHFS_DRIVER))
        made.drives = stack.enter_context(minio_answering(steps, load("ml50")))
        yield made
