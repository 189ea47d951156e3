"""`gen secret rotate` against a real API server and a real MinIO, which the component's script sets up from the Secrets
as the Job's volume shows them; what is played is that Argo CD runs the Job.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from madeup import kubeconfig
from reference import ROOT
from rotationsite import USER, KilledError, Site, begin
from setupstore import ROOT as MINIO_ROOT
from setupstore import Store

from generator.components.minio import minio
from generator.day2.rotation import syncs
from generator.live.api import of_kubeconfig
from generator.live.applications import APPLICATIONS
from generator.live.running import RunningCluster
from generator.live.secret_objects import encoded, values_of
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from generator.live.apiserver import Started

pytest_plugins = ["apiserver", "usercluster", "setupsite"]
pytestmark = pytest.mark.real

COPY = "rook-ceph/minio-user-backup-writer"
POD = "/api/v1/namespaces/rook-ceph/pods"


class Job:
    """What the Job `minio-setup` does, with the files that its volumes show: of one user and its bucket alone, for each
    takes a dozen runs of the client.
    """

    def __init__(self, cluster: Cluster, running: RunningCluster, store: Store) -> None:
        objects = minio(cluster).objects
        (job,) = (one for one in objects if one["kind"] == "Job")
        (settings,) = (one for one in objects if one["metadata"]["name"] == "minio-setup" and "data" in one)
        first = settings["data"]["buckets"].splitlines()[0]
        self.bucket = first.split()[0]
        only = {"users": "backup-writer\n", "buckets": f"{first}\n"}
        self.settings, self.running, self.store = settings["data"] | only, running, store
        volumes = {one["name"]: one for one in job["spec"]["template"]["spec"]["volumes"]}
        self.sources = [one["secret"] for one in volumes["secrets"]["projected"]["sources"]]
        self.said = ""

    def __call__(self) -> bool:
        folder = self.store.folder
        subprocess.run(["rm", "-rf", str(folder / "secrets")], check=True)
        for name, text in self.settings.items():
            self._write(folder / "settings" / name, text.encode())
        for source in self.sources:
            self._show(source)
        done = self.store.run()
        self.said += done.stdout + done.stderr
        return done.returncode == 0

    def _show(self, source: dict[str, Any]) -> None:
        found = self.running.get(f"/api/v1/namespaces/minio/secrets/{source['name']}")
        held = values_of(found or {})
        for item in source["items"]:
            if item["key"] in held:
                self._write(self.store.folder / "secrets" / item["path"], held[item["key"]])
            else:
                assert source.get("optional"), source

    def _write(self, file: Path, content: bytes) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


@pytest.fixture(scope="module")
def running_cluster(started: "Started", tmp_path_factory: pytest.TempPathFactory) -> tuple[RunningCluster, Path]:
    file = kubeconfig(tmp_path_factory.mktemp("admin"), started)
    return RunningCluster(of_kubeconfig(file, None)), file


@pytest.fixture(scope="module")
def site(running_cluster: tuple[RunningCluster, Path], ml50: Cluster, running: Store) -> Iterator[tuple[Site, Job]]:
    """ml50's users in a MinIO that was set up once."""
    there, _ = running_cluster
    define(there, "applications")
    found = begin(there, ml50, *{one.namespace for one in Site(there, ml50).declared})
    found.subresource = "/status"
    names = [
        one.full_name
        for one in found.declared
        if one.namespace == "minio" and one.source == "generated" and one.name != "minio-root"
    ]
    found.make(*names)
    secret = {"apiVersion": "v1", "kind": "Secret"}
    for name, values in {"minio-root": MINIO_ROOT, "minio-tls": {"ca.crt": running.ca.read_text()}}.items():
        data = encoded({key: value.encode() for key, value in values.items()})
        metadata = {"name": name, "namespace": "minio"}
        there.create("/api/v1/namespaces/minio/secrets", {**secret, "metadata": metadata, "data": data})
    job = Job(ml50, there, running)
    assert job(), job.said
    found.hooks["minio"] = job
    syncs.POLL, before = 0.1, syncs.POLL
    with found.synced("minio"):
        yield found, job
    syncs.POLL = before


def define(there: RunningCluster, *names: str) -> None:
    """Have Argo CD's own kinds."""
    from apiserver import SHARED

    files = sorted(SHARED.glob("argo-cd/*/crds/*.yaml"))
    if not files:
        pytest.skip("../shared is absent")
    for crd in (crd for file in files for crd in yaml.load_all(file.read_bytes(), yaml.CSafeLoader) if crd):
        if crd["spec"]["names"]["plural"] in names:
            there.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}", crd)
    while not there.serves(APPLICATIONS):
        time.sleep(0.1)


def key_of(site: Site, name: str) -> str:
    held = site.values(name)
    return f"{held['accessKey']}:{held['secretKey']}"


def may_write(job: Job, key: str) -> bool:
    """Tell whether the writer of backups may write with a key."""
    place = f"s/{job.bucket}/of-the-writer"
    return job.store.client("pipe", place, key=key, text="data").returncode == 0


def test_killed_wherever_it_stood_a_backup_goes_on_and_the_next_run_ends_it(site: tuple[Site, Job]) -> None:
    found, job = site
    former = key_of(found, COPY)
    assert may_write(job, former)
    moment, values = 0, set()
    while True:
        work, _ = found.rotating(USER, killed_at=moment)
        try:
            work.run()
            break
        except KilledError:
            assert may_write(job, key_of(found, COPY)), f"a backup stands still when killed at {moment}"
            values.add(found.values(USER)["accessKey"])
        moment += 4
    assert len(values) == 2, "the former and one new value"
    assert found.values(COPY) == found.values(USER)
    assert may_write(job, key_of(found, COPY))
    assert not may_write(job, former)
    assert "a key that no user has any more: disabled" in job.said


def test_the_former_key_stays_as_long_as_a_pod_may_have_it(site: tuple[Site, Job]) -> None:
    found, job = site
    former = key_of(found, COPY)
    mounted = {"name": "key", "secret": {"secretName": COPY.partition("/")[2]}}
    container = {"name": "x", "image": "example.org/x:1", "volumeMounts": [{"name": "key", "mountPath": "/key"}]}
    spec = {"containers": [container], "volumes": [mounted]}
    metadata = {"name": "backup-runs", "namespace": "rook-ceph"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    assert found.running.create(POD, pod)
    time.sleep(1.1)  # the clock of a cluster counts seconds
    with pytest.raises(KilledError):
        found.rotating(USER, killed_by="rook-ceph/backup-runs")[0].run()
    assert (may_write(job, former), may_write(job, key_of(found, COPY))) == (True, True)
    found.running.delete(f"{POD}/backup-runs?gracePeriodSeconds=0")
    found.rotating(USER)[0].run()
    assert (may_write(job, former), may_write(job, key_of(found, COPY))) == (False, True)


def test_somebody_at_a_terminal_sees_the_plan_does_it_and_sees_its_age(
    site: tuple[Site, Job], running_cluster: tuple[RunningCluster, Path]
) -> None:
    found, job = site
    before = {**found.values(USER)}

    def gen(*words: str) -> str:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-P", "-m", "generator", "-C", str(ROOT), "secret", *words]
        command += ["--cluster", "ml50", "--kubeconfig", str(running_cluster[1])]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    plan = gen("rotate", USER)
    assert found.values(USER) == before, "a plan changes nothing"
    assert "rook-ceph/minio-user-backup-writer, which 0 pods read" in plan
    said = gen("rotate", COPY, "--apply")
    assert f"{USER}: rotated" in said
    after = found.values(USER)
    assert after == found.values(COPY) != before
    assert not [value for value in (*before.values(), *after.values()) if value in plan + said]
    assert may_write(job, key_of(found, USER))
    assert f"gen secret rotate {USER}" in gen("list")
