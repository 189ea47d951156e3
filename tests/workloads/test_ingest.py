"""Jobs that bring data: what their manifests say, what is refused, and the script between a bucket and a folder."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from minioserver import ROOT_PASSWORD, ROOT_USER, Server, certificates
from msgspec import structs
from reference import load

from generator.components.component import Manifest
from generator.components.static import read_text
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.workloads.ingest import Ingest, ingest
from generator.workloads.pods import PROGRAMS
from tools import program

OWN = "s3://speech-recordings/2026"


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return load("gpu-serving")


def wanted(**more: Any) -> Ingest:
    asked: dict[str, Any] = {"team": "speech", "source": OWN, "target": "pvc://dataset-voices/2026"} | more
    return Ingest(name="bring", **asked)


def job(cluster: Cluster, **more: Any) -> Manifest:
    (_, found) = ingest(cluster, wanted(**more))
    return found


def pod(cluster: Cluster, **more: Any) -> Manifest:
    spec: Manifest = job(cluster, **more)["spec"]["template"]["spec"]
    return spec


def environment(of: Manifest) -> dict[str, Any]:
    return {each["name"]: each.get("value") or each["valueFrom"]["secretKeyRef"] for each in of["containers"][0]["env"]}


def refused(cluster: Cluster, **more: Any) -> str:
    with pytest.raises(UsageError) as raised:
        ingest(cluster, wanted(**more))
    return str(raised.value)


def test_it_goes_through_the_team_s_queue_onto_nodes_without_gpus(cluster: Cluster) -> None:
    assert job(cluster)["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"
    found = pod(cluster)
    assert found["nodeSelector"] == {"gen.internal/pool": "storage"}
    assert "tolerations" not in found
    assert found["containers"][0]["resources"] == {"limits": {"cpu": "4", "memory": "8Gi"}}


def test_the_keys_of_the_team_s_own_bucket_come_from_its_secret(cluster: Cluster) -> None:
    found = environment(pod(cluster))
    assert found["URL"] == "https://rook-ceph-rgw-store.rook-ceph.svc:8443"
    assert found["FROM"] == "source/speech-recordings/2026/"
    assert found["INTO"] == "/data/2026"
    assert found["SECRET_KEY"] == {"name": "ceph-bucket-speech-recordings", "key": "AWS_SECRET_ACCESS_KEY"}


def test_a_folder_of_another_volume_is_read_and_not_written(cluster: Cluster) -> None:
    found = pod(cluster, source="pvc://old/scans")
    (volume,) = (each for each in found["volumes"] if each["name"] == "source")
    assert volume["persistentVolumeClaim"] == {"claimName": "old", "readOnly": True}
    assert environment(found)["FROM"] == "/source/scans/"
    assert "SECRET_KEY" not in environment(found)


def test_scratch_ends_with_its_pod_and_has_the_size_that_is_asked_for(cluster: Cluster) -> None:
    found = pod(cluster, scratch=Quantity.parse("100Gi"))
    (volume,) = (each for each in found["volumes"] if each["name"] == "scratch")
    spec = volume["ephemeral"]["volumeClaimTemplate"]["spec"]
    assert (spec["storageClassName"], spec["resources"]["requests"]["storage"]) == ("rbd-nvme", "100Gi")
    assert "scratch" not in str(pod(cluster))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"cpus": 500}, "a pod of team speech can never have 500 CPUs on pool storage"),
        ({"memory": Quantity.parse("9Ti")}, "can never have 9216 GiB of memory on pool storage"),
        ({"pool": "a100"}, "team speech has no quota on pool a100 without GPUs; it has on storage"),
        ({"source": "s3://recordings"}, "gpu-serving has no bucket recordings"),
        ({"source": "s3://datasets"}, "--credentials SECRET"),
        ({"source": "/mnt"}, "say s3://BUCKET/PATH or pvc://CLAIM/PATH"),
        ({"target": "pvc://mine/../other"}, "say pvc://CLAIM/PATH"),
        ({"target": "pvc://My claim/x"}, "--into: no object is named `My claim`"),
        ({"ca": "The CA"}, "--ca: no object is named `The CA`"),
        ({"team": "search", "source": "pvc://own"}, "dataset voices is written by speech, and team search reads it"),
        ({"scratch": Quantity.parse("4Ti")}, "team speech may claim 3Ti"),
        ({"priority": "urgent"}, "team speech may not use the priority class urgent"),
    ],
)
def test_what_can_never_be_is_told(cluster: Cluster, asked: Any, told: str) -> None:
    assert told in refused(cluster, **asked)


def test_a_team_without_cpus_is_told_so(cluster: Cluster) -> None:
    (team,) = (one for one in cluster.teams if one.name == "speech")
    alone = structs.replace(cluster, teams=(structs.replace(team, quotas={"a100": team.quotas["a100"]}),))
    assert "has a quota on no pool of gpu-serving without GPUs" in refused(alone)


# The script, between a real bucket and a folder


class Site:
    """A bucket, a folder, and the script as the pod has it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder, self.into = server, folder, folder / "volume/2026"
        for name, text in (
            ("client.sh", read_text("workflows/client.sh")),
            ("ingest.sh", (PROGRAMS / "ingest.sh").read_text(encoding="utf-8")),
        ):
            (folder / name).write_text(text)

        (folder / "bin").mkdir()
        for tool in ("bash", "cat", "date", "mkdir", "mc"):  # of what the client image holds
            (folder / "bin" / tool).symlink_to(program(tool))

    def mc(self, *arguments: str, text: str = "") -> None:
        host = self.server.url.replace("://", f"://{ROOT_USER}:{ROOT_PASSWORD}@")
        env = {**os.environ, "MC_HOST_source": host, "MC_CONFIG_DIR": str(self.folder / "administrator")}
        subprocess.run(
            [program("mc"), "--insecure", *arguments], env=env, input=text, text=True, check=True, capture_output=True
        )

    def run(self, source: str = "source/raw/2026/", *, trusting: bool = True) -> tuple[int, str]:
        env = {
            "PATH": str(self.folder / "bin"),
            "HOME": str(self.folder),
            "MC_CONFIG_DIR": str(self.folder / "mc"),
            "URL": self.server.url,
            "ACCESS_KEY": ROOT_USER,
            "SECRET_KEY": ROOT_PASSWORD,
            "FROM": source,
            "INTO": str(self.into),
            **({"CA": str(self.server.certificates / "CAs/ca.crt")} if trusting and self.server.certificates else {}),
        }
        ran = subprocess.run(
            [str(self.folder / "bin/bash"), str(self.folder / "ingest.sh")],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return ran.returncode, ran.stdout + ran.stderr

    def files(self) -> dict[str, str]:
        return {str(one.relative_to(self.into)): one.read_text() for one in self.into.rglob("*") if one.is_file()}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    server = Server(tmp_path / "server", certificates=certificates(tmp_path / "certificates"))
    found = Site(server, tmp_path)
    try:
        for _ in range(60):
            try:
                found.mc("mb", "--ignore-existing", "source/raw")
                break
            except subprocess.CalledProcessError:
                time.sleep(0.5)
        for key in ("2026/a/1", "2026/a/2", "2026/b c", "2025/old"):
            found.mc("pipe", f"source/raw/{key}", text=f"{key} ")
        yield found
    finally:
        server.stop()


@pytest.mark.real
def test_all_of_a_path_is_brought_and_a_stopped_run_is_gone_on_with(site: Site) -> None:
    code, said = site.run()
    assert code == 0, said
    assert site.files() == {"a/1": "2026/a/1 ", "a/2": "2026/a/2 ", "b c": "2026/b c "}
    assert ROOT_PASSWORD not in said
    # As one that was killed left it, with a file of the team's beside.
    (site.into / "a/2").unlink()
    (site.into / "a/1").write_text("half")
    (site.into / "own").write_text("the team's")
    code, said = site.run()
    assert code == 0, said
    assert site.files() == {"a/1": "2026/a/1 ", "a/2": "2026/a/2 ", "b c": "2026/b c ", "own": "the team's"}


@pytest.mark.real
def test_what_could_not_be_written_fails_the_run_and_is_named(site: Site) -> None:
    (site.into / "a").mkdir(parents=True)
    (site.into / "b c").mkdir()  # a folder where a file belongs
    code, said = site.run()
    assert code == 1
    assert "missing or of another size" in said
    assert "b c" in said


@pytest.mark.real
@pytest.mark.parametrize("source", ["source/raw/2027/", "source/none/"])
def test_a_source_that_is_not_there_is_no_success(site: Site, source: str) -> None:
    code, said = site.run(source)
    assert code == 1
    assert f"cannot compare {source}" in said


@pytest.mark.real
def test_a_store_whose_certificate_nobody_vouches_for_is_not_read(site: Site) -> None:
    code, said = site.run(trusting=False)
    assert code == 1
    assert "certificate" in said
    assert not site.files()


def test_the_certificate_lies_apart_from_where_mc_writes(cluster: Cluster) -> None:
    """A mount below /tmp would make its folders root's, and mc could not start."""
    found = pod(cluster, ca="s3-ca")
    (mount,) = (each for each in found["containers"][0]["volumeMounts"] if each["name"] == "ca")
    assert not mount["mountPath"].startswith(environment(found)["MC_CONFIG_DIR"])
    assert environment(found)["CA"].startswith(mount["mountPath"])
    assert "CA" not in environment(pod(cluster))
