"""The script that prepares a node, in a folder that stands for the node's root, with programs that only tell."""

import os
import subprocess
from pathlib import Path

import pytest

from generator.layout.bootstrap import bootstrap
from generator.model.cluster import Cluster

# What containerd 1.7 and 2.2 make of the file (`containerd config dump`), as far as it matters here.
DUMPS = (
    """[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    sandbox_image = "SANDBOX"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
        runtime_type = "io.containerd.runc.v2"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
          SystemdCgroup = true
    [plugins."io.containerd.grpc.v1.cri".registry]
      config_path = "/etc/containerd/certs.d"
""",
    """[plugins]
    [plugins.'io.containerd.cri.v1.images'.pinned_images]
      sandbox = 'SANDBOX'
    [plugins.'io.containerd.cri.v1.images'.registry]
      config_path = '/etc/containerd/certs.d'
        [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
          [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
            BinaryName = ''
            SystemdCgroup = true
""",
)
SANDBOX = "registry.k8s.io/pause:3.10.1"
DUMP = DUMPS[1].replace("SANDBOX", SANDBOX)
OTHER = """          [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]
            SystemdCgroup = true
"""
PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


class Node:
    """The bootstrap folder, as it was copied to a node, and the node's root."""

    def __init__(self, place: Path, cluster: Cluster) -> None:
        self.place, self.root = place, place / "root"
        for path, content in bootstrap(cluster).items():
            file = place / path.removeprefix(f"clusters/{cluster.name}/bootstrap/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        for folder in ("etc", "usr/local/share/ca-certificates"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "etc/fstab").write_text("UUID=root / ext4 defaults 0 1\n/swapfile none swap sw 0 0\n")
        (place / "bin").mkdir()
        for name in ("modprobe", "sysctl", "swapoff", "systemctl", "rdma", "update-ca-certificates"):
            self.program(name, f'echo "{name} $*" >>{place}/calls')
        self.program("id", "echo 0")
        self.containerd(DUMP)

    def program(self, name: str, body: str) -> None:
        (self.place / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.place / "bin" / name).chmod(0o755)

    def containerd(self, dump: str) -> None:
        (self.place / "dump").write_text(dump)
        self.program("containerd", f"cat {self.place}/dump")

    def prepare(self, pool: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PATH": f"{self.place}/bin:{os.environ['PATH']}", "GEN_ROOT": str(self.root)}
        command = ["sh", str(self.place / "node/prepare.sh"), pool]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    @property
    def calls(self) -> list[str]:
        return (self.place / "calls").read_text().splitlines()


@pytest.fixture
def node(tmp_path: Path, ml50: Cluster) -> Node:
    return Node(tmp_path, ml50)


def test_a_pool_gets_the_files_of_all_and_its_own(node: Node) -> None:
    done = node.prepare("gpu-training")
    assert done.returncode == 0, done.stderr
    assert (node.root / "etc/containerd/config.toml").exists()
    assert (node.root / "etc/kubernetes/patches/kubeletconfiguration0+merge.yaml").exists()
    assert "modprobe ib_ipoib" in node.calls
    assert node.calls.index("systemctl daemon-reload") < node.calls.index("systemctl restart containerd")


def test_another_pool_gets_nothing_of_it(node: Node) -> None:
    assert node.prepare("system").returncode == 0
    assert not (node.root / "etc/kubernetes/patches/kubeletconfiguration0+merge.yaml").exists()
    assert "modprobe ib_ipoib" not in node.calls


def test_the_first_fstab_is_kept_by_a_second_run(node: Node) -> None:
    before = (node.root / "etc/fstab").read_text()
    for _ in range(2):
        assert node.prepare("cpu").returncode == 0
        assert (node.root / "etc/fstab.before-gen").read_text() == before
    assert (node.root / "etc/fstab").read_text().splitlines()[1] == "# gen: /swapfile none swap sw 0 0"


@pytest.mark.parametrize("dump", DUMPS)
def test_containerd_of_each_format_is_restarted(node: Node, dump: str) -> None:
    node.containerd(dump.replace("SANDBOX", SANDBOX))
    assert node.prepare("cpu").returncode == 0
    assert "systemctl restart containerd" in node.calls


@pytest.mark.parametrize(
    ("meant", "found"),
    [
        (SANDBOX, "registry.k8s.io/pause:3.8"),
        (SANDBOX, f"mirror.example.org/{SANDBOX}"),
        ("/etc/containerd/certs.d", ""),
        ("SystemdCgroup = true", "SystemdCgroup = false"),
        ("            SystemdCgroup = true\n", OTHER),
    ],
)
def test_containerd_is_not_restarted_with_settings_lost(node: Node, meant: str, found: str) -> None:
    """The second is of a site without a mirror; the last is another runtime's."""
    assert meant in DUMP
    node.containerd(DUMP.replace(meant, found))
    done = node.prepare("cpu")
    assert done.returncode == 1
    assert "It was not restarted" in done.stderr
    assert not [call for call in node.calls if "containerd" in call]


def test_the_sites_ca_is_trusted(node: Node) -> None:
    assert node.prepare("cpu").returncode == 0
    assert "update-ca-certificates " not in node.calls
    (node.place / "node/all/etc/kubernetes").mkdir(parents=True)
    (node.place / "node/all/etc/kubernetes/site-ca.crt").write_text(PEM)
    assert node.prepare("cpu").returncode == 0
    assert (node.root / "usr/local/share/ca-certificates/gen-site-ca.crt").read_text() == PEM
    assert "update-ca-certificates " in node.calls


@pytest.mark.parametrize(
    ("file", "text", "has", "service"),
    [
        ("etc/chrony.conf", "pool 2.rhel.pool.ntp.org iburst\nsourcedir /run/chrony-dhcp", "false", "chronyd"),
        ("etc/chrony/chrony.conf", "sourcedir /etc/chrony/sources.d\n", "true", "chrony"),
    ],
)
def test_the_sites_clocks_are_read_by_chrony(node: Node, file: str, text: str, has: str, service: str) -> None:
    """On a node where it does not run yet: chronyc could tell it nothing."""
    (node.root / "etc/chrony").mkdir()
    (node.root / file).write_text(text)
    node.program("systemctl", f'echo "systemctl $*" >>{node.place}/calls; [ "$1" != cat ] || {has}')
    node.program("chronyc", "echo '506 Cannot talk to daemon' >&2; exit 1")
    for _ in range(2):
        done = node.prepare("cpu")
        assert done.returncode == 0, done.stderr
        lines = (node.root / file).read_text().splitlines()
        assert lines[: len(text.splitlines())] == text.splitlines()
        assert lines.count("sourcedir /etc/chrony/sources.d") == 1
    assert [call for call in node.calls if "chrony" in call][1:3] == [
        f"systemctl enable {service}",
        f"systemctl restart {service}",
    ]


def test_without_servers_of_the_site_its_clock_is_left_alone(node: Node) -> None:
    (node.place / "node/all/etc/chrony/sources.d/site.sources").unlink()
    assert node.prepare("cpu").returncode == 0
    assert not [call for call in node.calls if "chrony" in call]


def test_only_root_may(node: Node) -> None:
    node.program("id", "echo 1000")
    assert "must run as root" in node.prepare("cpu").stderr
