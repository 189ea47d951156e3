"""Folders that etcd and disks get for themselves."""

from itertools import product
from pathlib import Path

import pytest

from generator.checks.kubernetes import etcd_folder
from generator.checks.scratch import outside_system
from generator.model.cluster import Cluster
from generator.spec.decode import decode
from generator.spec.reader import read

MINIMAL = (Path(__file__).parent.parent / "wrong/valid/minimal.yaml").read_text()
TAKEN = (
    "/etc", "/lib64", "/opt/cni", "/opt/cni/bin", "/run/x", "/tmp", "/tmp/x", "/usr/local/x", "/var", "/var/cache/x",
    "/var/lib", "/var/lib/apt", "/var/lib/cni", "/var/lib/containerd/x", "/var/lib/docker", "/var/lib/dpkg",
    "/var/lib/kubelet", "/var/lib/rpm", "/var/lib/systemd", "/var/lock", "/var/run", "/var/run/x", "/var/tmp/x",
)  # fmt: skip
ONLY_BELOW = ("/media", "/mnt", "/opt", "/srv")
FREE = ("/data", "/data/x", "/mnt/x", "/opt/x", "/srv/x", "/var/lib/x", "/var/x")


def cluster(old: str, new: str) -> Cluster:
    found = decode(read(MINIMAL.replace(old, new + old, 1).encode(), "f"))
    assert isinstance(found, Cluster)
    return found


@pytest.mark.parametrize(
    ("folder", "refused"), [*product((*TAKEN, *ONLY_BELOW), [1]), *product((*FREE, "/var/lib/etcd"), [0])]
)
def test_etcd_shares_no_folder(folder: str, refused: int) -> None:
    found = [*etcd_folder.check(cluster("    podCIDR", f"    etcd: {{dataDir: {folder}}}\n"))]
    assert len(found) == refused


@pytest.mark.parametrize(
    ("folder", "refused"), [*product((*TAKEN, *ONLY_BELOW, "/var/lib/etcd"), [1]), *product(FREE, [0])]
)
def test_scratch_wipes_no_folder_of_the_system(folder: str, refused: int) -> None:
    found = [*outside_system.check(cluster("  nodes:", f"  storage: {{scratch: {{hostDir: {folder}}}}}\n"))]
    assert len(found) == refused


@pytest.mark.parametrize(("folder", "refused"), [*product(TAKEN, [1]), *product(("/mnt", *FREE), [0])])
def test_drives_of_minio_hide_no_folder_of_the_system(folder: str, refused: int) -> None:
    objects = f"  storage: {{objects: {{pool: cpu, hostDir: {folder}}}}}\n"
    assert len([*outside_system.check(cluster("  nodes:", objects))]) == refused
