"""A real MinIO that the component's script sets up: `pytest_plugins = ["apiserver", "setupsite"]`."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from setupstore import AUTHENTICATION, ROOT, Store, certify, rendered_environment, wait

from generator.model.cluster import Cluster


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, ml50: Cluster) -> Iterator[Store]:
    from apiserver import programs

    from generator.live.apiserver import free_ports
    from generator.process import start, stop

    server, client = programs("minio", "mc")
    folder = tmp_path_factory.mktemp("minio")
    certify(folder)
    (port,) = free_ports(1)
    # The drives lie on the machine's own disk.
    os.environ |= {"MINIO_CI_CD": "1", "MINIO_ROOT_USER": ROOT["rootUser"], "MINIO_ROOT_PASSWORD": ROOT["rootPassword"]}
    os.environ[AUTHENTICATION] = rendered_environment(ml50)[AUTHENTICATION]
    drives = [str(folder / f"drive-{number}") for number in range(4)]
    process = start(
        folder,
        [server, "server", f"--address=127.0.0.1:{port}", f"--certs-dir={folder}", "--json", *drives],
    )
    try:
        wait(f"https://127.0.0.1:{port}/minio/health/cluster", folder / "public.crt")
        yield Store(f"127.0.0.1:{port}", folder / "public.crt", client, folder)
    finally:
        stop(process)
        for name in ("MINIO_CI_CD", "MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD", AUTHENTICATION):
            del os.environ[name]


@pytest.fixture(scope="module")
def first(running: Store, ml50: Cluster) -> str:
    """Set it up once, and return what the script said."""
    done = running.setup(ml50)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def store(running: Store, first: str, tmp_path: Path) -> Store:
    assert first
    return running._replace(folder=tmp_path)
